"""What the workers of a run said to each other, as lines of a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from podium.views.format import dollars, duration
from podium.views.plain import harmless
from podium.views.run.thread import MessageView, NoteView, Thread


def thread_lines(thread: Thread) -> Iterator[str]:
    for number, message in enumerate(thread.messages, start=1):
        yield from _message(number, message)
        yield ""
    for note in thread.notes:
        yield from _note(note)
        yield ""
    if not thread.messages and not thread.notes:
        yield "no questions and no notes yet"


def _message(number: int, message: MessageView) -> Iterator[str]:
    about = "shows its finished work to" if not message.question else "asks"
    yield f"{number}. {message.sender}, attempt {message.attempt}, {about} {harmless(message.to)}"
    yield from _indented(message.question)
    if message.files:
        yield f"   files: {', '.join(map(harmless, message.files))}"
    if message.answered is None:
        yield f"   {message.to} has not answered yet"
        return
    took = duration(message.answered - message.at)
    cost = f", {dollars(message.usd)}" if message.usd else ""
    match message.outcome:
        case "refused":
            yield "   not delivered:"
        case "known":
            yield f"   answered before, by {message.member}:"
        case "passed":
            yield f"   {message.to} answered in {took}{cost}:"
        case outcome:
            yield f"   no answer after {took}{cost}: {outcome}"
    yield from _indented(message.answer)


def _note(note: NoteView) -> Iterator[str]:
    read = f"read by {', '.join(note.read)}" if note.read else "not read yet"
    yield f"note by {harmless(note.by)} for {harmless(note.to) or 'all later workers'}, {read}"
    yield from _indented(note.text)


def _indented(text: str) -> Iterator[str]:
    for line in text.strip().splitlines():
        yield f"     {harmless(line)}"
