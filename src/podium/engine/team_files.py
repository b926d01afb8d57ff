"""Keeps the mailboxes of a run's teams as files, and takes up what people drop there: each file becomes a note, once.

A dropped file is first moved to `taken`, then posted under a name made of its content, so that neither two watchers nor a
crash in between post it twice.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from podium.core.addresses import without_numbers
from podium.core.events import AttemptEnded, AttemptQueued, AttemptStarted, Event, StepEnded, StepEntered
from podium.core.messages import Tell
from podium.core.model import Agent, Workflow
from podium.core.queries.steps import all_steps
from podium.core.types import Address
from podium.errors import PathViolation
from podium.files import atomic
from podium.files.inside import inside
from podium.process.login import login_name
from podium.views.files.mailboxes import FOLDERS, OURS, mailbox_files
from podium.views.plain import encode_utf8

FOLDER: Final = "team"
TAKEN_UP: Final = "taken"
MOST_BYTES: Final = 16 * 1024


class DroppedNote(NamedTuple):
    key: str
    """The name of the letter: the same file is posted once."""
    note: Tell


class TeamFiles:
    """The mailboxes of one run; belongs to the run's owner. A run without a team has none."""

    def __init__(self, run_dir: Path, run: str, workflow: Workflow, project: Path | None = None) -> None:
        self._run = run
        self._own = run_dir / FOLDER
        self._members = dict(_members(workflow))
        self._leaders = {path: names[0] for path, names in self._members.items()}
        named = workflow.config.record.get("inboxes")
        self._shared = None if project is None or not isinstance(named, str) else _shared(project, named)
        self._count = 0
        self._is_checked = False

    def sync(self, events: Sequence[Event]) -> None:
        """Bring the files up to date with the events so far."""
        if not self._members:
            return
        new, self._count = events[self._count :], len(events)
        if self._is_checked and not any(map(_concerns_teams, new)):
            return
        self._is_checked = True
        files = mailbox_files(events, self._leaders)
        for folder in self._inboxes(self._own):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write_all(self._own, files)
        if self._shared is not None:
            # Without the step: the layout has one folder for each name, as agents/qa/inbox.
            short = {f"{path.partition('/')[2]}": text for path, text in files.items()}
            for folder in self._inboxes(self._shared, whole=False):
                if not _leads_out(folder, self._shared):
                    folder.mkdir(parents=True, exist_ok=True)
            _write_all(self._shared, short)

    def collect(self) -> Iterator[DroppedNote]:
        """Notes in files that people have dropped into an inbox."""
        for step, names in self._members.items():
            for name in names:
                to = step if name == names[0] else Address(f"{step}/{name}")
                for place in self._places(step, name):
                    yield from _dropped(place, to)

    def _places(self, step: Address, name: str) -> Iterator[Path]:
        yield self._own / step.replace("/", "+") / name
        if self._shared is not None:
            place = self._shared / name
            if not any(_leads_out(each, self._shared) for each in (place / "inbox", place / TAKEN_UP)):
                yield place

    def _inboxes(self, top: Path, *, whole: bool = True) -> Iterator[Path]:
        for step, names in self._members.items():
            for name in names:
                yield (top / step.replace("/", "+") if whole else top) / name / "inbox"


def _members(workflow: Workflow) -> Iterator[tuple[Address, tuple[str, ...]]]:
    """Each step with a team: the name of its own worker, then those of the members."""
    for path, step, _ in all_steps(workflow):
        if isinstance(step.verb, Agent) and step.verb.team and "#" not in path:
            role = step.verb.role
            own = role if isinstance(role, str) else step.name
            yield without_numbers(path), (own, *(member.name for member in step.verb.team))


def _shared(project: Path, named: str) -> Path | None:
    """The folder of the project for the mailboxes, after all links."""
    try:
        return inside(project, named)
    except PathViolation:
        return None


def _concerns_teams(event: Event) -> bool:
    match event:
        case AttemptEnded():
            return bool(event.asks)
        case StepEntered():
            return event.role == "member"
        case AttemptQueued():
            return event.why == "answered"
        case AttemptStarted():
            return event.attempt > 1
        case StepEnded():
            return "#" in event.path
        case _:
            return False


def _write_all(top: Path, files: dict[str, str]) -> None:
    """Write what differs and remove our own files that are no longer there; files of people stay."""
    for path, text in files.items():
        place, data = top / path, encode_utf8(text)
        if _leads_out(place.parent, top.resolve()):
            continue
        if _content(place, len(data)) != data:
            place.parent.mkdir(parents=True, exist_ok=True)
            atomic.write(place, data)
    for folder in FOLDERS:
        for place in top.glob(f"**/{folder}/*.md"):
            if OURS.fullmatch(place.name) and place.relative_to(top).as_posix() not in files:
                place.unlink(missing_ok=True)


def _content(path: Path, most: int = MOST_BYTES) -> bytes | None:
    """The beginning of a file, with one byte more than it may have."""
    try:
        with path.open("rb") as file:
            return file.read(most + 1)
    except OSError:
        return None


def _leads_out(folder: Path, top: Path) -> bool:
    """Whether a link, which a step in the project may have made, leads to another place."""
    return not folder.resolve().is_relative_to(top)


def _dropped(place: Path, to: Address) -> Iterator[DroppedNote]:
    """Take up new files, and those that an earlier owner had taken up before it died: posting again changes nothing."""
    inbox, folder = place / "inbox", place / TAKEN_UP
    try:
        new = sorted(entry.name for entry in os.scandir(inbox) if _is_dropped(entry))
    except OSError:
        return
    for name in new:
        folder.mkdir(mode=0o700, exist_ok=True)
        data = _content(inbox / name) or b""
        digest = hashlib.sha256(data, usedforsecurity=False).hexdigest()[:32]
        (inbox / name).replace(folder / f"{digest}.md")
    for path in sorted(folder.glob("*.md")) if folder.is_dir() else ():
        content = _content(path)
        if content is None or len(content) > MOST_BYTES or not content.strip():
            path.rename(path.with_suffix(".refused"))
            continue
        text = content.decode("utf-8", "replace").strip()
        yield DroppedNote(f"file-{path.stem}", Tell(login_name(), to, text))
        path.rename(path.with_suffix(".posted"))


def _is_dropped(entry: os.DirEntry[str]) -> bool:
    is_text = entry.name.endswith(".md") and not entry.name.startswith(".") and not OURS.fullmatch(entry.name)
    return is_text and entry.is_file(follow_symlinks=False)
