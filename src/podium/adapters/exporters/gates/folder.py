"""Keeps the `.workflow/` folder of one run: writes its files, and reads the answers that people put there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from podium.adapters.exporters.gates.labels import GateLabels, file_name, gate_of
from podium.adapters.exporters.gates.layout import ACTIONS, FOLDER, OWN_FILES, SIGNALS, actions_for, files_of
from podium.adapters.exporters.gates.shared_folder import SharedFolder
from podium.core.events import Event
from podium.core.messages import Approve
from podium.core.types import Address, Millis
from podium.errors import PathViolation
from podium.files import atomic, bounded_json
from podium.files.inside import read_file
from podium.process.login import login_name
from podium.redaction.mask import Mask
from podium.views.plain import encode_utf8, visible
from podium.views.run.view import Pending, RunView

MAX_BYTES: Final = 1 << 20
CLOCK_STEP: Final = 100
"""Milliseconds by which the time of a file may be earlier than the clock that stamped the question."""


class GatesFolder:
    """A `RunExporter`; belongs to the process that owns the run.

    The folder of the run is private and complete. The one of the project shows the newest run of each workflow to everybody.
    """

    def __init__(
        self, run_dir: Path, labels: GateLabels, mask: Mask, shared: SharedFolder | None = None
    ) -> None:
        self._folder = run_dir / FOLDER
        self._labels = labels
        self._mask = mask
        self._shared = shared
        self._written: dict[str, str] = {}
        self._open: dict[tuple[Address, Millis], tuple[_AnswerFiles, ...]] = {}

    def write(self, view: RunView, events: Sequence[Event]) -> None:
        """Replace files that changed and remove those that no longer apply."""
        # People print these files on a terminal, and agents have written parts of them.
        texts = {name: visible(self._mask.text(text)) for name, text in files_of(view, self._labels).items()}
        for name, text in texts.items():
            if self._written.get(name) != text:
                path = self._folder / name
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                atomic.write(path, encode_utf8(text))
                self._written[name] = text
        for path in (path for pattern in OWN_FILES for path in self._folder.glob(pattern)):
            name = path.relative_to(self._folder).as_posix()
            if name not in texts and not path.is_dir():
                path.unlink(missing_ok=True)
                self._written.pop(name, None)
        if self._shared is not None:
            self._shared.write(
                {name: text for name, text in texts.items() if name not in self._labels.by_people}
            )

    def answers(self, pending: Sequence[Pending]) -> Iterator[Approve]:
        questions = {(question.path, question.since): question for question in pending}
        for key in self._open.keys() - questions.keys():
            for files in self._open.pop(key):
                files.clear()
        for key, question in questions.items():
            if key not in self._open:
                self._open[key] = tuple(self._files_for(question))
            answers = (files.collect() for files in self._open[key])
            answer = next((answer for answer in answers if answer is not None), None)
            if answer is not None:
                by = answer.by or login_name()
                yield Approve(question.path, answer.action, by, answer.text, None, question.tree, how="file")

    def answer_files(self) -> tuple[Path, ...]:
        endings = tuple(f"-{word}" for word in ACTIONS)
        files = sorted(path for folder in self._signals() for path in folder.glob("*"))
        return tuple(path for path in files if path.stem.endswith(endings))

    def _signals(self) -> Iterator[Path]:
        yield self._folder / SIGNALS
        if self._shared is not None and self._shared.is_ours():
            yield self._shared.folder / SIGNALS

    def _files_for(self, question: Pending) -> Iterator[_AnswerFiles]:
        """Nothing if the question does not belong to a gate."""
        gate = gate_of(question.path, self._labels)
        meanings = actions_for(question.actions)
        if gate is None or not meanings:
            return
        names = {f"{file_name(gate)}-{word}": action for word, action in meanings.items()}
        for folder in self._signals():
            yield _AnswerFiles(folder, names, question.since)


class _Answer(NamedTuple):
    action: str
    by: str
    text: str


class _AnswerFiles:
    """The files that answer the question of one gate: `<gate>-pass` and `<gate>-fail`, with any suffix or none."""

    def __init__(self, folder: Path, actions: Mapping[str, str], since: Millis) -> None:
        self._folder = folder
        self._actions = actions
        """By the name of the file without its suffix."""
        self._since = since
        self._stamps: dict[str, tuple[int, int]] = {}
        """Size and time of change of each file when it was last read."""

    def collect(self) -> _Answer | None:
        """The answer in a file that is new or changed; with both `pass` and `fail`, `fail` counts."""
        answers: dict[str, _Answer] = {}
        for path in self._files():
            stat = path.lstat()
            stamp = (stat.st_size, stat.st_mtime_ns)
            answer = None if self._stamps.get(path.name) == stamp else _read(path, self._actions[path.stem])
            self._stamps[path.name] = stamp
            if answer is not None:
                answers[path.stem] = answer
        return next((answers[name] for name in reversed(tuple(self._actions)) if name in answers), None)

    def clear(self) -> None:
        for path in tuple(self._files()):
            path.unlink(missing_ok=True)

    def _files(self) -> Iterator[Path]:
        """The files written after the question was asked; an older file answered an earlier question."""
        for path in sorted(self._folder.glob("*")) if self._folder.is_dir() else ():
            if path.stem in self._actions and path.suffix != ".tmp" and not path.is_symlink():
                stat = path.lstat()
                # The time of the last change cannot be set, so an agent cannot prepare an answer to a later question.
                written = min(stat.st_mtime_ns, stat.st_ctime_ns) // 1_000_000
                if written >= self._since - CLOCK_STEP and stat.st_size <= MAX_BYTES:
                    yield path


def _read(path: Path, action: str) -> _Answer | None:
    try:
        text = read_file(path, MAX_BYTES).decode("utf-8")
    except (OSError, PathViolation, UnicodeDecodeError):
        return None
    if path.suffix != ".json":
        return _Answer(action, "", text.strip())
    fields = _object(text)
    return None if fields is None else _Answer(action, _text(fields, "by"), _text(fields, "feedback"))


def _object(text: str) -> Mapping[str, Any] | None:
    """None for a file that is not complete yet; it is read again when it has changed."""
    try:
        value = bounded_json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _text(fields: Mapping[str, Any], key: str) -> str:
    value = fields.get(key)
    return value if isinstance(value, str) else ""
