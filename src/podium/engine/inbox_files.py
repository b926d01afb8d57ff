"""Open questions as files: each is in `.podium/inbox` until it is answered, there or anywhere else.

A person, an editor or a script fills in `answer:` or `value:` and saves. The reason why a file cannot be read, or why its
answer was refused, is written to a file next to it; when it has changed it is read again. Exporters may take answers from
files of their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from podium.core.effects import AskPerson
from podium.core.messages import Approve
from podium.core.state import Leaf, State
from podium.core.types import Address
from podium.errors import PathViolation
from podium.fast_dataclass import dataclass
from podium.files import atomic
from podium.files.inside import open_inside
from podium.ports.exporter import RunExporter
from podium.process.login import login_name
from podium.views.plain import encode_utf8, visible
from podium.views.run.questions import Render, question_view
from podium.views.run.view import Pending
from podium.workflow.source import yaml

FOLDER: Final = "inbox"
MAX_BYTES: Final = 1 << 20
FIELDS: Final = ("run", "step", "answer", "value", "feedback", "by")
_ANSWERED: Final = re.compile(r"^(answer|value):[ \t]*(\n[ \t-]+)?[^\s#]", re.MULTILINE)


class UnreadableAnswer(NamedTuple):
    """A file that cannot be taken for an answer."""

    path: Address
    reason: str


@dataclass(slots=True)
class _QuestionFile:
    path: Path
    question: Pending
    stamp: tuple[int, int]
    """Size and time of change when it was last read."""


class InboxFiles:
    """The open questions of one run as files; belongs to the run's owner."""

    def __init__(
        self, state_dir: Path, run: str, render: Render, exporters: Sequence[RunExporter] = ()
    ) -> None:
        self._folder = state_dir / FOLDER
        self._run = run
        self._render = render
        self._exporters = exporters
        self._open: dict[Address, _QuestionFile] = {}
        self._exported: list[Approve] = []
        """Answers that exporters gave while their closed questions were cleared."""

    def sync(self, state: State) -> None:
        """Keep one file for every open question and remove the others."""
        effects = {
            effect.request.path: effect
            for effect in state.pending.values()
            if isinstance(effect, AskPerson) and state.ended is None
        }
        closed = self._open.keys() - effects.keys()
        for path in closed:
            file = self._open.pop(path).path
            file.unlink(missing_ok=True)
            _refusal_file(file).unlink(missing_ok=True)
        for path in effects.keys() - self._open.keys():
            self._put(state, effects[path])
        if closed:
            self._exported += self._from_exporters()

    def collect(self) -> Iterator[Approve | UnreadableAnswer]:
        """Answers in files that have changed since the last call."""
        for path, file in self._open.items():
            stamp = _stamp(file.path)
            if stamp != file.stamp:
                file.stamp = stamp
                _refusal_file(file.path).unlink(missing_ok=True)
                try:
                    answer = _answer(file, path)
                except _Unreadable as error:
                    yield UnreadableAnswer(path, str(error))
                    continue
                if answer is not None:
                    yield answer
        answers, self._exported = self._exported, []
        yield from answers
        yield from self._from_exporters()

    def refuse(self, path: Address, reason: str) -> None:
        """Write down why an answer was refused: its author may look at nothing but this folder."""
        if path in self._open:
            _write(_refusal_file(self._open[path].path), f"{reason.strip()}\n")

    def _from_exporters(self) -> Iterator[Approve]:
        questions = tuple(file.question for file in self._open.values())
        for exporter in self._exporters:
            yield from exporter.answers(questions)

    def _put(self, state: State, effect: AskPerson) -> None:
        path = effect.request.path
        leaf = state.instances[path]
        assert isinstance(leaf, Leaf)
        question = question_view(state, leaf, effect, self._render)
        file = _QuestionFile(self._folder / f"{self._run}+{path.replace('/', '+')}.yaml", question, (-1, -1))
        self._open[path] = file
        if file.path.exists():
            return  # An earlier owner wrote it, and it may have been answered since.
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(file.path, _text(self._run, question, leaf.place.step.output.choices))
        file.stamp = _stamp(file.path)


def files_of(state_dir: Path, run: str) -> list[Path]:
    """The question files of a run, for a process that does not own it."""
    return sorted((state_dir / FOLDER).glob(f"{run}+*.yaml"))


@lru_cache(maxsize=1024)
def is_answered(stamp: tuple[str, int, int]) -> bool:
    """Whether something is written after `answer:` or `value:`; the run decides if it is valid.

    By name, size and time of change, so that an unchanged file is not read again.
    """
    try:
        text = _read(Path(stamp[0]))
    except _Unreadable:
        return False
    return _ANSWERED.search(text) is not None


def clear(state_dir: Path, run: str) -> None:
    """Remove the question files of a run that ends without an owner."""
    for file in (state_dir / FOLDER).glob(f"{run}+*"):
        file.unlink(missing_ok=True)


def _text(run: str, question: Pending, choices: tuple[str, ...]) -> str:
    actions = question.actions
    comment = "\n".join(f"# {line}" for line in question.question.splitlines())
    how = f"Write one of {', '.join(actions)} after `answer:` and save."
    if "answer" in actions:
        value = f"one of {', '.join(choices)}" if choices else "the answer"
        how = f"Write {value} after `value:` and save, or abort after `answer:`."
    return (
        f"{comment}\n#\n# {how}\n"
        f"# What it is about: podium inbox, podium diff {run}\n\n"
        f"run: {json.dumps(run)}\nstep: {json.dumps(question.path)}\nanswer:\n"
        + ("value:\n" if "answer" in actions else "")
        + "feedback:\nby:\n"
    )


def _refusal_file(file: Path) -> Path:
    return file.with_suffix(".refused")


def _write(file: Path, text: str) -> None:
    """Write a text for people, who may print it on a terminal; agents may have written parts of it."""
    atomic.write(file, encode_utf8(visible(text)), fsync=False)


def _stamp(file: Path) -> tuple[int, int]:
    try:
        stat = file.lstat()
    except OSError:
        return (-1, -1)
    return stat.st_size, stat.st_mtime_ns


def _answer(file: _QuestionFile, path: Address) -> Approve | None:
    fields, actions = _fields(file.path), file.question.actions
    action, value = fields.get("answer"), fields.get("value")
    if "answer" in actions and action not in actions:
        # A value after `answer:`, or nothing there, can only mean that the value is the answer.
        value = action if value is None else value
        action = None if value is None else "answer"
    if action is None:
        return None
    return Approve(
        path,
        str(action),  # If it is not an action, the run refuses it and lists the actions.
        _text_field(fields, "by") or login_name(),
        _text_field(fields, "feedback"),
        value,
        file.question.tree,
        how="file",
    )


class _Unreadable(Exception):
    """The file cannot be taken for an answer; says why, and what to do."""


def _fields(file: Path) -> dict[str, Any]:
    if _stamp(file) == (-1, -1):
        return {}  # Removed: the question stays open.
    document = yaml.load(_read(file), name=file.name)
    for problem in document.problems:
        raise _Unreadable(problem.render())
    fields = document.value
    if not isinstance(fields, dict):
        raise _Unreadable("this is not a map: leave the names such as `answer:` and write after them")
    for name in fields:
        if name not in FIELDS:
            raise _Unreadable(f'"{name}" is not a field of an answer; there are {", ".join(FIELDS)}')
    return fields


def _text_field(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str | None):
        raise _Unreadable(f"{name} is not text: write it in quotes")
    return value or ""


def _read(file: Path) -> str:
    try:
        if file.is_symlink():
            raise _Unreadable("this is a link: write the answer into the file itself")
        with open_inside(file.parent, file.name, "rb") as handle:
            content = handle.read(MAX_BYTES + 1)
    except (OSError, PathViolation) as error:
        raise _Unreadable(f"the file cannot be read: {error}") from error
    if len(content) > MAX_BYTES:
        raise _Unreadable(f"the file has more than {MAX_BYTES} bytes")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _Unreadable("the file is not UTF-8: save it in that encoding") from error
