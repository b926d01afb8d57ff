"""Questions as files: each lies in `.podium/inbox` until it is answered, there or anywhere else.

A person, an editor or a script fills in `answer:` or `value:` and saves. A file that cannot be read yet is looked at
again when it has changed; half a file is no answer. Why an answer was not taken stands in a file beside it.
"""

from __future__ import annotations

import getpass
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from podium.core.effects import AskPerson
from podium.core.messages import Approve
from podium.core.queries.graph import actions_of
from podium.core.state import Leaf, State
from podium.core.types import Path as StepPath
from podium.core.types import Tree
from podium.engine.gates_folder import AnswerFiles, drops_for
from podium.files import atomic
from podium.views.gates_layout import Layout
from podium.views.plain import spelled
from podium.views.run.questions import Render
from podium.workflow.source import yaml

FOLDER: Final = "inbox"
LARGEST: Final = 1 << 20


@dataclass(slots=True)
class _Letterbox:
    file: Path
    actions: tuple[str, ...]
    tree: Tree | None
    seen: tuple[int, int]
    """Size and time of change of what was looked at last."""
    drops: AnswerFiles | None = None
    """Where other files can answer as well."""


class InboxFiles:
    """The files of one run; belongs to its owner."""

    def __init__(self, state_dir: Path, run_dir: Path, render: Render, layout: Layout | None = None) -> None:
        self._folder = state_dir / FOLDER
        self._run_dir = run_dir
        self._run = run_dir.name
        self._render = render
        self._layout = layout
        self._open: dict[StepPath, _Letterbox] = {}

    def sync(self, state: State) -> None:
        """A file for every open question, and none for those that are no longer open."""
        wanted = {
            effect.asked.path: effect
            for effect in state.pending.values()
            if isinstance(effect, AskPerson) and state.ended is None
        }
        for path in self._open.keys() - wanted.keys():
            box = self._open.pop(path)
            box.file.unlink(missing_ok=True)
            _reason(box).unlink(missing_ok=True)
            if box.drops is not None:
                box.drops.clear()
        for path in wanted.keys() - self._open.keys():
            self._put(state, wanted[path])

    def collect(self) -> Iterator[Approve]:
        for path, box in self._open.items():
            stamp = _stamp(box.file)
            if stamp != box.seen:
                box.seen = stamp
                _reason(box).unlink(missing_ok=True)
                answer = _answer(box.file, path, box)
                if answer is not None:
                    yield answer
            dropped = None if box.drops is None else box.drops.collect()
            if dropped is not None:
                by = dropped.by or getpass.getuser()
                yield Approve(path, dropped.action, by, dropped.text, None, box.tree)

    def refuse(self, path: StepPath, reason: str) -> None:
        """Whoever wrote the answer may look at nothing but this folder."""
        if path in self._open:
            _write(_reason(self._open[path]), f"{reason}\n")

    def _put(self, state: State, effect: AskPerson) -> None:
        path = effect.asked.path
        leaf = state.instances[path]
        assert isinstance(leaf, Leaf)
        actions = actions_of(leaf.place.step)
        question = self._render(state, leaf)
        file = self._folder / f"{self._run}+{path.replace('/', '+')}.yaml"
        drops = drops_for(self._run_dir, self._layout, path, actions=actions, since=effect.asked.at)
        box = _Letterbox(file, actions, effect.asked.tree, (-1, -1), drops)
        self._open[path] = box
        if file.exists():
            return  # Asked by an owner before us, and perhaps answered since.
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(file, _text(self._run, path, question, actions, leaf.place.step.output.choices))
        box.seen = _stamp(file)


def clear(state_dir: Path, run: str) -> None:
    """For a run that ends without an owner: nothing of it is asked any more."""
    for file in (state_dir / FOLDER).glob(f"{run}+*"):
        file.unlink(missing_ok=True)


def _text(run: str, path: str, question: str, actions: tuple[str, ...], choices: tuple[str, ...]) -> str:
    asked = "\n".join(f"# {line}" for line in question.splitlines())
    how = f"Write one of {', '.join(actions)} behind `answer:` and save."
    if "answer" in actions:
        wanted = f"one of {', '.join(choices)}" if choices else "the answer"
        how = f"Write {wanted} behind `value:` and save, or abort behind `answer:`."
    return (
        f"{asked}\n#\n# {how}\n"
        f"# What it is about: podium inbox, podium diff {run}\n\n"
        f"run: {json.dumps(run)}\nstep: {json.dumps(path)}\nanswer:\n"
        + ("value:\n" if "answer" in actions else "")
        + "feedback:\nby:\n"
    )


def _reason(box: _Letterbox) -> Path:
    return box.file.with_suffix(".refused")


def _write(file: Path, text: str) -> None:
    atomic.write(file, spelled(text), fsync=False)


def _stamp(file: Path) -> tuple[int, int]:
    try:
        found = file.lstat()
    except OSError:
        return (-1, -1)
    return found.st_size, found.st_mtime_ns


def _answer(file: Path, path: StepPath, box: _Letterbox) -> Approve | None:
    fields = _fields(file)
    action, value = fields.get("answer"), fields.get("value")
    if "answer" in box.actions and action not in box.actions:
        # Who writes the value itself behind `answer:`, or nothing, can only mean that.
        value = action if value is None else value
        action = None if value is None else "answer"
    if action is None:
        return None
    words = fields.get("feedback")
    by = fields.get("by")
    return Approve(
        path,
        str(action),  # If it is no action, the run says which there are.
        by if isinstance(by, str) and by else getpass.getuser(),
        words if isinstance(words, str) else "",
        value,
        box.tree,
    )


def _fields(file: Path) -> dict[str, Any]:
    try:
        if file.is_symlink() or file.stat().st_size > LARGEST:
            return {}
        document = yaml.load(file.read_text("utf-8"), name=file.name)
    except (OSError, UnicodeDecodeError):
        return {}
    return document.value if isinstance(document.value, dict) and not document.problems else {}
