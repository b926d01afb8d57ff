"""The folder `.workflow/` of a run whose file is in the gates format: writes the view, and finds what people put there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from podium.core.types import Millis
from podium.files import atomic
from podium.redaction.mask import Mask
from podium.views.gates_layout import FOLDER, OWN, SIGNALS, Layout, answers_for, file_name, files_of, gate_of
from podium.views.plain import spelled
from podium.views.run.view import RunView

LARGEST: Final = 1 << 20
COARSE: Final = 100
"""Milliseconds by which the time of a file may lie behind the clock that a question was asked by."""


class GatesFolder:
    """The view of one run; written by the process that owns it."""

    def __init__(self, run_dir: Path, layout: Layout, mask: Mask) -> None:
        self._folder = run_dir / FOLDER
        self._layout = layout
        self._mask = mask
        self._written: dict[str, str] = {}

    def write(self, view: RunView) -> None:
        """Files that changed are replaced, files that are no longer true are taken away."""
        wanted = {name: self._mask.text(text) for name, text in files_of(view, self._layout).items()}
        for name, text in wanted.items():
            if self._written.get(name) != text:
                path = self._folder / name
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                atomic.write(path, spelled(text))
                self._written[name] = text
        for path in (path for pattern in OWN for path in self._folder.glob(pattern)):
            name = path.relative_to(self._folder).as_posix()
            if name not in wanted:
                path.unlink(missing_ok=True)
                self._written.pop(name, None)


class Dropped(NamedTuple):
    action: str
    by: str
    text: str


class AnswerFiles:
    """Files that answer the question of one gate: `signals/<gate>-pass` and `-fail`, with any ending or none."""

    def __init__(self, folder: Path, names: Mapping[str, str], since: Millis) -> None:
        self._folder = folder
        self._names = names
        """The action by the name of the file without its ending."""
        self._since = since
        self._seen: dict[str, tuple[int, int]] = {}

    def files(self) -> Iterator[Path]:
        """Those that people put there after the question was asked; an older one answered another."""
        for path in sorted(self._folder.glob("*")) if self._folder.is_dir() else ():
            if path.stem in self._names and path.suffix != ".tmp" and not path.is_symlink():
                stat = path.lstat()
                if stat.st_mtime_ns // 1_000_000 >= self._since - COARSE and stat.st_size <= LARGEST:
                    yield path

    def collect(self) -> Dropped | None:
        """What is new, if it can be read already. Who says both yes and no has said no."""
        found: dict[str, Dropped] = {}
        for path in self.files():
            stat = path.lstat()
            stamp = (stat.st_size, stat.st_mtime_ns)
            answer = None if self._seen.get(path.name) == stamp else _read(path, self._names[path.stem])
            self._seen[path.name] = stamp
            if answer is not None:
                found[path.stem] = answer
        return next((found[name] for name in reversed(tuple(self._names)) if name in found), None)

    def clear(self) -> None:
        for path in tuple(self.files()):
            path.unlink(missing_ok=True)


def drops_for(
    run_dir: Path, layout: Layout | None, path: str, *, actions: tuple[str, ...], since: Millis
) -> AnswerFiles | None:
    """Where files can answer a question; None if it is not that of a gate."""
    gate = None if layout is None else gate_of(path, layout)
    means = answers_for(actions)
    if gate is None or not means:
        return None
    names = {f"{file_name(gate)}-{word}": action for word, action in means.items()}
    return AnswerFiles(run_dir / FOLDER / SIGNALS, names, since)


def dropped_in(run_dir: Path) -> list[Path]:
    """Whatever may answer a gate of a run, for who only wants to know whether somebody has spoken."""
    found = sorted((run_dir / FOLDER / SIGNALS).glob("*"))
    return [path for path in found if path.stem.endswith(("-pass", "-fail"))]


def _read(path: Path, action: str) -> Dropped | None:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    if path.suffix != ".json":
        return Dropped(action, "", text.strip())
    said = _object(text)
    return None if said is None else Dropped(action, _text(said, "by"), _text(said, "feedback"))


def _object(text: str) -> Mapping[str, Any] | None:
    """None for half a file, which is looked at again when it has changed."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _text(said: Mapping[str, Any], key: str) -> str:
    found = said.get(key)
    return found if isinstance(found, str) else ""
