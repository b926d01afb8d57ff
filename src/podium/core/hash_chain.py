"""The hash chain of a run: each record's hash covers all records before it, so a lost or changed one is detected."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256 as _sha256
from typing import Final, NamedTuple, NewType

RunId = NewType("RunId", str)

FIRST_HASH: Final = "0" * 64
"""The `prev` of a run's first event."""


class Record(NamedTuple):
    """One stored event with its envelope. `hash` covers all other fields and, through `prev`, all records before it."""

    run: RunId
    seq: int
    cause: str
    type: str
    body: str
    """The JSON text of the event, exactly as hashed."""
    prev: str
    hash: str


def links(
    run: RunId, seq: int, prev: str, events: Iterable[tuple[str, str]], *, cause: str
) -> tuple[Record, ...]:
    """Make the records of these (type, body) pairs, to follow event `seq` with the hash `prev`."""
    records: list[Record] = []
    for kind, body in events:
        seq += 1
        own = hash_of(run, seq, cause, kind, body, prev)
        records.append(Record(run, seq, cause, kind, body, prev, own))
        prev = own
    return tuple(records)


def hash_of(run: RunId, seq: int, cause: str, type: str, body: str, prev: str) -> str:  # noqa: A002
    # Each part is preceded by its length, so that different records never give the same text.
    number = str(seq)
    text = (
        f"{len(prev)}:{prev}{len(run)}:{run}{len(number)}:{number}"
        f"{len(cause)}:{cause}{len(type)}:{type}{len(body)}:{body}"
    )
    return _sha256(text.encode()).hexdigest()


def first_fault(records: Iterable[Record], *, after: Record | None = None) -> str | None:
    """Describe the first fault of a chain, or of its part after a record; None if it has none."""
    seq, last_hash = (0, FIRST_HASH) if after is None else (after.seq, after.hash)
    for run, number, cause, kind, body, prev, own in records:
        seq += 1
        if number != seq:
            return f"event {seq} is missing"
        if prev != last_hash:
            return f"event {seq} does not follow event {seq - 1}"
        last_hash = hash_of(run, seq, cause, kind, body, prev)
        if own != last_hash:
            return f"event {seq} has been altered"
    return None
