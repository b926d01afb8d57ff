"""What the workers of a run said to each other: who asked whom, what came of it, and the notes that were left."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from podium.core import events
from podium.core.addresses import attempt
from podium.core.events import Event
from podium.core.types import Address, Millis
from podium.views.run.charges import ChargeReader


class MessageView(NamedTuple):
    """One ask, from the attempt that asked to the answer."""

    sender: Address
    attempt: int
    to: str
    question: str
    """Empty if the engine asked for a look at finished work."""
    files: tuple[str, ...]
    at: Millis
    member: Address | None = None
    """The instance that answers, or answered before; None as long as nobody was asked."""
    answer: str = ""
    outcome: str = ""
    """The outcome of the member; `refused` if nobody was asked, `known` if the answer was in the log; empty: it waits."""
    answered: Millis | None = None
    usd: int = 0


class NoteView(NamedTuple):
    by: str
    to: str
    text: str
    left: Millis
    read: tuple[str, ...] = ()
    """The attempts that got it."""


class Thread(NamedTuple):
    messages: tuple[MessageView, ...]
    notes: tuple[NoteView, ...]


def thread_of(log: Iterable[Event]) -> Thread:
    """In the order in which they were asked and left."""
    reader = _Reader()
    for event in log:
        reader.take(event)
    return Thread(tuple(reader.messages), tuple(reader.notes))


class _Reader:
    def __init__(self) -> None:
        self.messages: list[MessageView] = []
        self.notes: list[NoteView] = []
        self._open: dict[Address, list[int]] = {}
        """For each asker, the numbers of the messages of its last attempt."""
        self._of_member: dict[Address, int] = {}
        self._attempts: dict[Address, int] = {}
        self._charges = ChargeReader()

    def take(self, event: Event) -> None:
        for charge in self._charges.take(event):
            self._add_cost(charge.path, charge.used.usd)
        match event:
            case events.AttemptStarted():
                self._attempts[event.path] = event.attempt
                for number in event.notes:
                    if number < len(self.notes):
                        self._read(number, attempt(event.path, event.attempt))
            case events.AttemptEnded():
                self._attempt_ended(event)
            case events.NoteLeft():
                self.notes.append(NoteView(event.by, event.to, event.text, event.at))
            case events.StepEntered(role="member"):
                self._member_entered(event)
            case events.StepEnded() if event.path in self._of_member:
                self._change(
                    self._of_member[event.path],
                    answer=_answer(event),
                    outcome=event.outcome,
                    answered=event.at,
                )
            case events.AttemptQueued(why="answered"):
                self._answered(event)
            case _:
                pass

    def _attempt_ended(self, event: events.AttemptEnded) -> None:
        for note in event.notes:
            self.notes.append(NoteView(event.path, note.to, note.text, event.at))
        if not event.asks:
            return
        first = len(self.messages)
        self.messages += [
            MessageView(event.path, event.attempt, ask.to, ask.question, ask.files, event.at)
            for ask in event.asks
        ]
        self._open[event.path] = list(range(first, len(self.messages)))

    def _member_entered(self, event: events.StepEntered) -> None:
        if event.target < 0:
            name = event.path.rpartition("/")[2].partition("~")[0]
            number = self._attempts.get(event.parent, 0)
            self.messages.append(MessageView(event.parent, number, name, "", (), event.at))
            self._of_member[event.path] = len(self.messages) - 1
        else:
            self._of_member[event.path] = self._open[event.parent][event.target]
        self._change(self._of_member[event.path], member=event.path)

    def _answered(self, event: events.AttemptQueued) -> None:
        for number, reply in zip(self._open.pop(event.path, ()), event.replies, strict=False):
            if reply.refused:
                self._change(number, answer=reply.refused, outcome="refused", answered=event.at)
            elif reply.is_known:
                earlier = self._of_member.get(reply.path)
                answer = "" if earlier is None else self.messages[earlier].answer
                self._change(number, member=reply.path, answer=answer, outcome="known", answered=event.at)

    def _change(self, number: int, **changes: Any) -> None:
        self.messages[number] = self.messages[number]._replace(**changes)

    def _read(self, number: int, by: str) -> None:
        note = self.notes[number]
        self.notes[number] = note._replace(read=(*note.read, by))

    def _add_cost(self, path: Address, usd: int) -> None:
        number = self._of_member.get(path)
        if number is not None:
            self._change(number, usd=self.messages[number].usd + usd)


def _answer(event: events.StepEnded) -> str:
    result = event.result or {}
    if event.outcome != "passed":
        return event.message or str(result.get("message") or event.reason)
    output = result.get("output")
    if isinstance(output, dict | list):
        return json.dumps(output, ensure_ascii=False)
    return str(result.get("text") or "" if output is None else output)


def thread_data(thread: Thread) -> dict[str, Any]:
    """As JSON."""
    return {
        "messages": [message._asdict() for message in thread.messages],
        "notes": [note._asdict() for note in thread.notes],
    }


def replied(event: events.AttemptQueued) -> tuple[str, ...]:
    """Those whose replies an attempt goes on with; it may also go on because a person has decided about a call of a tool."""
    names = tuple(reply.to for reply in event.replies)
    return names or (("a person",) if event.why == "answered" else ())
