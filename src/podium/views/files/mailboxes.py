"""The messages of a team as files: what each member got, and what came of it. A view of the log, made again at any time.

qa/inbox/000003-from-engineer.md     it has not answered yet
qa/done/000003-from-engineer.md      it has answered; `failed` if there is no answer
engineer/inbox/000003-reply-of-qa.md the reply; in `done` when the asker has gone on with it
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from podium.core.addresses import attempt, without_visits
from podium.core.events import AttemptStarted, Event
from podium.core.types import Address
from podium.views.plain import harmless
from podium.views.run.thread import MessageView, thread_of

OURS: Final = re.compile(r"\d{6}-(from|reply-of)-[\w.+-]+\.md")
"""The names of files of this view; others in the same folders belong to people."""
FOLDERS: Final = ("inbox", "done", "failed")
_UNSAFE: Final = re.compile(r"[^\w.+-]")


def mailbox_files(log: Iterable[Event], leaders: Mapping[Address, str]) -> dict[str, str]:
    """Every file by its path. `leaders`: what the worker of each step with a team is called, by the step's address."""
    events = list(log)
    started = {(event.path, event.attempt) for event in events if isinstance(event, AttemptStarted)}
    files: dict[str, str] = {}
    for number, message in enumerate(thread_of(events).messages, start=1):
        files.update(_files_of(number, message, leaders, started))
    return files


def _files_of(
    number: int,
    message: MessageView,
    leaders: Mapping[Address, str],
    started: set[tuple[Address, int]],
) -> Iterator[tuple[str, str]]:
    step = _leader(message.sender)
    sender = _name(message.sender, leaders)
    folder = step.replace("/", "+")
    if message.outcome != "refused":
        where = (
            "inbox"
            if message.answered is None
            else "done"
            if message.outcome in ("passed", "known")
            else "failed"
        )
        place = f"{folder}/{_safe(message.to)}/{where}/{number:06d}-from-{_safe(sender)}.md"
        yield place, _text(number, message, sender, message.question or "Please look at the finished work.")
    if message.answered is not None:
        where = "done" if (message.sender, message.attempt + 1) in started else "inbox"
        place = f"{folder}/{_safe(sender)}/{where}/{number:06d}-reply-of-{_safe(message.to)}.md"
        yield place, _text(number, message, sender, message.answer)


def _text(number: int, message: MessageView, sender: str, body: str) -> str:
    head = {
        "id": f"{attempt(message.sender, message.attempt)}.{number}",
        "from": sender,
        "to": message.to,
        "time": str(message.asked),
        "outcome": message.outcome or "waiting",
        "files": ", ".join(message.files),
    }
    lines = [f"{key}: {harmless(value)}" for key, value in head.items() if value]
    return "\n".join(("---", *lines, "---", "", body.strip(), ""))


def _leader(path: Address) -> Address:
    """The step whose team a worker belongs to, without visits."""
    return without_visits(Address(path.partition("#")[0]))


def _name(path: Address, leaders: Mapping[Address, str]) -> str:
    step = _leader(path)
    if "#" not in path:
        return leaders.get(step, step.rpartition("/")[2])
    return path.rpartition("/")[2].partition("~")[0]


def _safe(name: str) -> str:
    return _UNSAFE.sub("_", name)[:60] or "_"
