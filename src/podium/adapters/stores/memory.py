"""A store in memory; it also serves as the executable specification of stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from podium.core.hash_chain import FIRST_HASH, Record, RunId, links
from podium.ports.store import (
    AppendConflict,
    NewRun,
    QueuedCommand,
    RunHead,
    StaleOwner,
    StoreError,
    TriggerEvent,
)


class MemoryStore:
    def __init__(self) -> None:
        self._heads: dict[RunId, RunHead] = {}
        self._numbers: dict[RunId, int] = {}
        self._records: dict[RunId, list[Record]] = {}
        self._commands: list[QueuedCommand] = []
        self._replies: dict[tuple[RunId, str], str | None] = {}
        self._posted = 0
        self._events: dict[tuple[str, str, str], TriggerEvent] = {}
        self._marks: dict[tuple[str, str], str] = {}

    def create(
        self,
        head: RunHead,
        commands: Mapping[str, Mapping[str, Any]] | None = None,
        event: TriggerEvent | None = None,
    ) -> None:
        if head.run in self._heads:
            raise StoreError(f"run {head.run} already exists")
        if event is not None:
            self._settle(event, state="started", run=head.run)
        self._heads[head.run] = replace(head, epoch=0, last_seq=0, last_hash=FIRST_HASH)
        self._numbers[head.run] = max(self._numbers.values(), default=0) + 1
        self._records[head.run] = []
        for name, body in (commands or {}).items():
            self.post(head.run, name, body)

    def claim(self, run: RunId) -> int:
        head = self._existing(run)
        self._heads[run] = replace(head, epoch=head.epoch + 1)
        return head.epoch + 1

    def append(
        self,
        run: RunId,
        events: Sequence[tuple[str, str]],
        *,
        after: int,
        epoch: int,
        cause: str,
        status: str | None = None,
        answers: tuple[QueuedCommand, str] | None = None,
        creates: NewRun | None = None,
    ) -> tuple[Record, ...]:
        head = self._existing(run)
        if epoch != head.epoch:
            raise StaleOwner(f"run {run} now belongs to epoch {head.epoch}, not to {epoch}")
        if after != head.last_seq:
            raise AppendConflict(f"run {run} has {head.last_seq} events, not {after}")
        if creates is not None:
            self.create(creates.head, creates.commands)
        records = self._records[run]
        added = links(run, after, head.last_hash, events, cause=cause)
        records.extend(added)
        if added:
            head = replace(head, last_seq=added[-1].seq, last_hash=added[-1].hash)
        self._heads[run] = head if status is None else replace(head, status=status)
        if answers is not None:
            self.answer(*answers)
        return added

    def read(self, run: RunId, *, after: int = 0) -> tuple[Record, ...]:
        return tuple(self._records.get(run, ())[after:])

    def head(self, run: RunId) -> RunHead | None:
        return self._heads.get(run)

    def heads_from(self, number: int) -> tuple[tuple[int, RunHead], ...]:
        return tuple((own, self._heads[run]) for run, own in self._numbers.items() if own >= number)

    def heads(self) -> tuple[RunHead, ...]:
        return tuple(sorted(self._heads.values(), key=lambda head: (-head.created, head.run)))

    def set_status(self, run: RunId, status: str) -> None:
        self._heads[run] = replace(self._existing(run), status=status)

    def post(self, run: RunId, name: str, body: Mapping[str, Any]) -> None:
        self._existing(run)
        if (run, name) not in self._replies:
            self._replies[run, name] = None
            self._posted += 1
            self._commands.append(QueuedCommand(self._posted, run, name, dict(body)))

    def commands(self, run: RunId) -> tuple[QueuedCommand, ...]:
        return tuple(command for command in self._commands if command.run == run)

    def answer(self, command: QueuedCommand, reply: str) -> None:
        self._commands = [queued for queued in self._commands if queued.number != command.number]
        self._replies[command.run, command.name] = reply

    def reply(self, run: RunId, name: str) -> str | None:
        return self._replies.get((run, name))

    def stamp(self) -> int:
        return self._posted

    def forget(self, run: RunId) -> None:
        self._heads.pop(run, None)
        self._numbers.pop(run, None)
        self._records.pop(run, None)
        self._commands = [command for command in self._commands if command.run != run]
        self._replies = {key: reply for key, reply in self._replies.items() if key[0] != run}

    def record_events(self, events: Sequence[TriggerEvent], marks: Mapping[tuple[str, str], str]) -> int:
        new = {_key(event): event for event in reversed(events) if _key(event) not in self._events}
        self._events |= new
        self._marks |= marks
        return len(new)

    def trigger_events(self, *, since: int | None = None) -> tuple[TriggerEvent, ...]:
        chosen = [
            event
            for event in self._events.values()
            if (event.state == "waiting" if since is None else event.at >= since)
        ]
        return tuple(sorted(chosen, key=lambda event: (event.at, *_key(event))))

    def trigger_mark(self, file: str, trigger: str) -> str | None:
        return self._marks.get((file, trigger))

    def drop_event(self, event: TriggerEvent, reason: str) -> None:
        self._settle(event, state="dropped", reason=reason)

    def _settle(self, event: TriggerEvent, **changes: Any) -> None:
        stored = self._events.get(_key(event))
        if stored is None or stored.state != "waiting":
            raise StoreError(f"event {event.id} of trigger {event.trigger} does not wait for a run")
        self._events[_key(event)] = replace(stored, body={}, **changes)

    def damage(self) -> str | None:
        return None

    def close(self) -> None:
        """Do nothing."""

    def _existing(self, run: RunId) -> RunHead:
        head = self._heads.get(run)
        if head is None:
            raise StoreError(f"run {run} does not exist")
        return head


def _key(event: TriggerEvent) -> tuple[str, str, str]:
    return (event.file, event.trigger, event.id)
