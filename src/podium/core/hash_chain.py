"""The hash chain of a run: each event is bound to all before it, so that a lost or altered one shows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final, NamedTuple, NewType

RunId = NewType("RunId", str)

FIRST_HASH: Final = "0" * 64
"""What the first event of a run is chained to."""


class Record(NamedTuple):
    """One stored event in its envelope. `hash` covers everything else, and so, by `prev`, all before it."""

    run: RunId
    seq: int
    cause: str
    type: str
    body: str
    """The event as JSON text, exactly as it was hashed."""
    prev: str
    hash: str


def link(run: RunId, prev: Record | None, *, cause: str, type: str, body: str) -> Record:  # noqa: A002 (the field's name)
    """The next record behind `prev`."""
    seq = 1 if prev is None else prev.seq + 1
    before = FIRST_HASH if prev is None else prev.hash
    return Record(run, seq, cause, type, body, before, hash_of(run, seq, cause, type, body, before))


def links(
    run: RunId, seq: int, prev: str, events: Iterable[tuple[str, str]], *, cause: str
) -> tuple[Record, ...]:
    """The records of these events, each a type and a body, behind event `seq` with the hash `prev`."""
    made: list[Record] = []
    for kind, body in events:
        seq += 1
        own = hash_of(run, seq, cause, kind, body, prev)
        made.append(Record(run, seq, cause, kind, body, prev, own))
        prev = own
    return tuple(made)


def hash_of(run: RunId, seq: int, cause: str, type: str, body: str, prev: str) -> str:  # noqa: A002
    # Each part with its length, so that no two different records have the same text.
    number = str(seq)
    text = (
        f"{len(prev)}:{prev}{len(run)}:{run}{len(number)}:{number}"
        f"{len(cause)}:{cause}{len(type)}:{type}{len(body)}:{body}"
    )
    return hashlib.sha256(text.encode()).hexdigest()


def first_fault(records: Iterable[Record], *, after: Record | None = None) -> str | None:
    """What is wrong with a chain, or with its part after a record; None if nothing is."""
    prev = after
    for record in records:
        expected = link(record.run, prev, cause=record.cause, type=record.type, body=record.body)
        if record.seq != expected.seq:
            return f"event {expected.seq} is missing"
        if record.prev != expected.prev:
            return f"event {record.seq} does not follow the one before it"
        if record.hash != expected.hash:
            return f"event {record.seq} has been altered"
        prev = record
    return None
