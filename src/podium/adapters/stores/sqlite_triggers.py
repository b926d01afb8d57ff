"""The events of triggers in the SQLite file; every function that writes is called in a write transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import apsw

from podium.adapters.stores.sqlite_schema import sum_of
from podium.ports.store import StoreError, TriggerEvent

WAITING: Final = "select * from trigger_event where state = 'waiting' order by at, file, trigger, id"
SINCE: Final = "select * from trigger_event where at >= ? order by at, file, trigger, id"
MARK: Final = "select mark from trigger_mark where file = ? and trigger = ?"
_ONE: Final = "select * from trigger_event where file = ? and trigger = ? and id = ?"
_SETTLE: Final = (
    "update trigger_event set body = ?, state = ?, run = ?, reason = ?, sum = ? "
    "where file = ? and trigger = ? and id = ?"
)


def insert_events(
    db: apsw.Connection, events: Sequence[TriggerEvent], marks: Mapping[tuple[str, str], str]
) -> int:
    before = db.total_changes()
    for event in events:
        row = _row(event)
        db.execute(
            "insert or ignore into trigger_event values (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, sum_of(row))
        )
    added = db.total_changes() - before
    for (file, trigger), mark in marks.items():
        values = (file, trigger, mark)
        db.execute("insert or replace into trigger_mark values (?, ?, ?, ?)", (*values, sum_of(values)))
    return added


def settle_event(db: apsw.Connection, event: TriggerEvent, *, run: str | None, reason: str = "") -> None:
    """`run` was started for it, or none will be, for the reason."""
    key = (event.file, event.trigger, event.id)
    for row in db.execute(_ONE, key).fetchall():
        if row[5] == "waiting":
            new = (*row[:4], "{}", "dropped" if run is None else "started", run, reason)
            db.execute(_SETTLE, (*new[4:], sum_of(new), *key))
            return
    raise StoreError(f"event {event.id} of trigger {event.trigger} does not wait for a run")


def _row(event: TriggerEvent) -> tuple[Any, ...]:
    body = json.dumps(event.body, ensure_ascii=False)
    return (
        event.file,
        event.trigger,
        event.id,
        event.at,
        body,
        event.state,
        event.run,
        event.reason,
    )


def event_of(row: tuple[Any, ...]) -> TriggerEvent:
    file, trigger, name, at, body, state, run, reason, _ = row
    try:
        return TriggerEvent(file, trigger, name, at, json.loads(body), state, run, reason)
    except ValueError as error:
        raise StoreError(
            f"event {name} of trigger {trigger} is damaged: {error}", hint="check it: podium verify"
        ) from error
