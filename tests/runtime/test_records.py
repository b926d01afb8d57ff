"""A log is read only if the hash chain of what is read is whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from podium.adapters.stores.memory import MemoryStore
from podium.core.events import RunPaused
from podium.core.hash_chain import FIRST_HASH, Record, RunId
from podium.core.types import Millis
from podium.engine.log import to_text
from podium.ports.store import RunHead, StoreError
from podium.runtime.records import event_of, events_of, fault_of, read_records

RUN = RunId("r1")
EVENTS = tuple(RunPaused(Millis(number), "ann") for number in range(1, 7))


class Damaged(MemoryStore):
    """A store whose records somebody has changed."""

    def __init__(self) -> None:
        super().__init__()
        self.tamper: Callable[[list[Record]], Sequence[Record]] = lambda records: records

    def read(self, run: RunId, *, after: int = 0) -> tuple[Record, ...]:
        records = self.tamper(list(super().read(run)))
        return tuple(record for record in records if record.seq > after)


@pytest.fixture
def store() -> Damaged:
    made = Damaged()
    made.create(RunHead(RUN, "flow", "f", 1, 0, 0, FIRST_HASH))
    epoch = made.claim(RUN)
    texts = [("RunPaused", to_text(event)) for event in EVENTS]
    made.append(RUN, texts, after=0, epoch=epoch, cause="test")
    return made


def altered(records: list[Record]) -> list[Record]:
    return [record._replace(body=record.body + " ") if record.seq == 4 else record for record in records]


def lost(records: list[Record]) -> list[Record]:
    return [record for record in records if record.seq != 4]


@pytest.mark.parametrize("after", range(len(EVENTS) + 2))
def test_a_part_of_a_log_is_its_records_after_a_number(store: Damaged, after: int) -> None:
    assert read_records(store, RUN, after=after) == store.read(RUN, after=after)


def test_events_are_read_as_they_were_stored(store: Damaged) -> None:
    assert events_of(read_records(store, RUN)) == list(EVENTS)


@pytest.mark.parametrize(
    ("body", "reads"),
    [
        (' {"type": "RunPaused", "at": 1, "by": "ann"}\n', True),
        ('{"type": "RunPaused", "at": 1, "by": "ann"}, {}', False),
        ('{"type": "RunPaused", "at": 1, "by": "ann"', False),
        ("", False),
        ("7", False),
    ],
)
def test_a_body_is_one_json_object_and_nothing_else(body: str, reads: bool) -> None:
    record = Record(RUN, 1, "test", "RunPaused", body, FIRST_HASH, "")
    if reads:
        assert event_of(record) == EVENTS[0]
        return
    with pytest.raises(StoreError, match="event 1 of run r1 cannot be read by this version"):
        event_of(record)


@pytest.mark.parametrize("after", [0, 1, 2, 3])
@pytest.mark.parametrize(
    ("damage", "fault"), [(altered, "event 4 has been altered"), (lost, "event 4 is missing")]
)
def test_reading_up_to_a_damaged_event_is_refused(
    store: Damaged, after: int, damage: Callable[[list[Record]], list[Record]], fault: str
) -> None:
    store.tamper = damage

    with pytest.raises(StoreError, match=f"the log of run r1 cannot be trusted: {fault}") as refused:
        read_records(store, RUN, after=after)

    assert refused.value.hint == "see: podium verify r1"


def test_reading_on_from_a_lost_event_is_refused(store: Damaged) -> None:
    store.tamper = lost

    with pytest.raises(StoreError, match="event 4 is missing"):
        read_records(store, RUN, after=4)


def test_what_this_version_cannot_read_is_named(store: Damaged) -> None:
    epoch = store.claim(RUN)
    store.append(RUN, [("Invented", '{"type":"Invented"}')], after=6, epoch=epoch, cause="test")

    with pytest.raises(StoreError, match="event 7 of run r1 cannot be read by this version"):
        events_of(read_records(store, RUN))

    assert "event 7 of run r1 cannot be read" in str(fault_of(read_records(store, RUN)))


def test_a_record_under_another_type_is_a_fault(store: Damaged) -> None:
    epoch = store.claim(RUN)
    store.append(RUN, [("RunResumed", to_text(EVENTS[0]))], after=6, epoch=epoch, cause="test")

    assert fault_of(store.read(RUN)) == "event 7 is stored as RunResumed and is RunPaused"
