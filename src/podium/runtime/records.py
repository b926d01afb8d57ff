"""Stored records as events: the one place where a log is read, and its hash chain is always checked first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from podium.core.codec import CodecError, decode
from podium.core.events import Event, StepEnded
from podium.core.hash_chain import Record, RunId, first_fault
from podium.core.json_text import read_json
from podium.ports.store import RunHead, Store, StoreError

if TYPE_CHECKING:
    from podium.core.state import State


def read_records(store: Store, run: RunId, *, after: int = 0) -> tuple[Record, ...]:
    """The records of a run after event number `after`; raises StoreError if one is missing, altered or added."""
    if not after:
        return _checked(run, store.read(run))
    # With the record at `after`, which the next one must follow.
    stored = store.read(run, after=after - 1)
    if stored and stored[0].seq != after:
        raise untrusted(run, f"event {after} is missing")
    return _checked(run, stored[1:], after=stored[0]) if stored else ()


def _checked(run: RunId, records: tuple[Record, ...], *, after: Record | None = None) -> tuple[Record, ...]:
    fault = first_fault(records, after=after)
    if fault is not None:
        raise untrusted(run, fault)
    return records


def untrusted(run: RunId, fault: str) -> StoreError:
    return StoreError(f"the log of run {run} cannot be trusted: {fault}", hint=f"see: podium verify {run}")


def event_of(record: Record) -> Event:
    """Raises StoreError for a record that this version cannot read."""
    try:
        return decode(read_json(record.body))
    except (CodecError, ValueError) as error:
        raise StoreError(
            f"event {record.seq} of run {record.run} cannot be read by this version: {error}",
            hint=f"see: podium verify {record.run}",
        ) from error


def events_of(records: Sequence[Record]) -> list[Event]:
    try:
        return [decode(read_json(record.body)) for record in records]
    except (CodecError, ValueError):
        return [event_of(record) for record in records]  # It raises what names the event.


def fault_of(records: Sequence[Record]) -> str | None:
    """What is wrong with these records by themselves: their chain, or what they say."""
    return first_fault(records) or next(filter(None, map(_unreadable, records)), None)


def _unreadable(record: Record) -> str | None:
    try:
        kind = type(event_of(record)).__name__
    except StoreError as error:
        return error.message
    return None if kind == record.type else f"event {record.seq} is stored as {record.type} and is {kind}"


def is_replay(head: RunHead) -> bool:
    """Whether recordings answered for all agents of a run, so that nothing was really spent."""
    return read_json(head.source or "{}").get("replay") is not None


def published_by(state: State, events: Sequence[Event], event: StepEnded) -> Iterator[StepEnded]:
    """The ends of steps whose files are published now that this step has ended.

    A visit that adopts the result of an earlier one publishes the files of that one again.
    """
    instance = state.instances.get(event.path)
    adopted = None if instance is None else instance.place.adopt
    if adopted is None:
        if _has_result(event):
            yield event
        return
    for earlier in events:
        if isinstance(earlier, StepEnded) and f"{earlier.path}/".startswith(f"{adopted}/"):
            yield from published_by(state, events, earlier)


def _has_result(event: StepEnded) -> bool:
    """A judge has a result whatever its verdict; any other step that failed publishes nothing."""
    result = event.result or {}
    return bool(result) and (event.outcome == "passed" or "verdict" in result)
