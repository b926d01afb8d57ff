"""Sends each call about a run to the runtime that drives it: this machine, or the one whose address the run remembers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from podium.core.hash_chain import Record, RunId
from podium.core.messages import Cancel, Command, Tell
from podium.ports.runtime import (
    DrivenRun,
    LogCheck,
    OnTurn,
    Park,
    Reply,
    RunCommand,
    RunSpec,
    Runtime,
    Unread,
)
from podium.ports.store import RunHead, TriggerEvent

if TYPE_CHECKING:
    from podium.core.state import State
    from podium.ports.agent import OnProgress
    from podium.runtime.prepared_run import PreparedRun

ENDED = ("passed", "failed", "rejected", "limited", "timed_out", "cancelled")


class RunMirror(DrivenRun, Protocol):
    @property
    def last_hash(self) -> str:
        """The hash of the last event."""

    def add(self, cause: str, encoded: Sequence[tuple[str, str]]) -> None:
        """Store the events of a turn, each as its type and text."""

    async def write(self) -> None:
        """Bring the run folder up to date."""

    def dropped(self) -> Iterable[tuple[str, Tell]]:
        """Notes that people have dropped into mailboxes of a team, each with the key of its command."""


class Mirrors(Protocol):
    """The copies of this project."""

    def create(self, spec: RunSpec) -> None:
        """Make room for the copy of a new run."""

    def source_of(self, run: RunId) -> str:
        """What a run was started with."""

    def forget(self, run: RunId) -> None: ...

    def open(self, run: RunId, prepared: PreparedRun) -> AbstractAsyncContextManager[RunMirror]:
        """The copy, while no other process follows the run; raises AlreadyOwned if one does."""


class MirroredRuntime(Runtime, Protocol):
    """A runtime whose store also holds copies of runs that are driven elsewhere."""

    def mirrors(self) -> Mirrors: ...


class RemoteRuntime(Protocol):
    """Drives runs elsewhere, and keeps a copy of each in the local store."""

    def start(self, spec: RunSpec) -> RunId: ...

    def update(self, run: RunId) -> None:
        """Bring the copy of a run up to date, unless another process does."""

    def post(self, run: RunId, command: RunCommand, *, key: str) -> Reply:
        """Send a command and wait for its reply."""

    async def send(self, run: RunId, command: RunCommand, *, key: str) -> Reply: ...

    async def drive(
        self, run: RunId, *commands: Command, park: Park, on_turn: OnTurn | None = None
    ) -> State: ...

    def abandon(self, run: RunId, command: Cancel) -> None: ...

    def take_up(self, waiting_for: str | None, has_commit: Callable[[str], bool]) -> tuple[list[RunId], int]:
        """Copy the runs of this project that have not ended, also those that other clients have started; with the
        name of a person, those that wait for them. Returns their ids, and how many belong to other projects."""

    def close(self) -> None: ...


def address_of(source: str) -> str:
    """The address of the runtime that drives a run, from what it was started with; empty for this machine."""
    return str(json.loads(source).get("on", "")) if '"on": "' in source else ""


class RoutedRuntime:
    """A `Runtime`. The stored copy answers what only looks; it is brought up to date first."""

    def __init__(self, local: Runtime, connect: Callable[[str], RemoteRuntime]) -> None:
        self.local = local
        self._connect = connect
        self._remotes: dict[str, RemoteRuntime] = {}
        self._replies: dict[tuple[RunId, str], Reply] = {}
        """To commands that this process has posted."""

    def _at(self, address: str) -> RemoteRuntime:
        if address not in self._remotes:
            self._remotes[address] = self._connect(address)
        return self._remotes[address]

    def _remote(self, run: RunId) -> RemoteRuntime | None:
        head = self.local.head(run)
        address = "" if head is None else address_of(head.source)
        return self._at(address) if address else None

    def _update(self, run: RunId) -> None:
        head = self.local.head(run)
        if head is not None and head.status not in ENDED and (address := address_of(head.source)):
            self._at(address).update(run)

    def take_up(
        self, address: str, waiting_for: str | None, has_commit: Callable[[str], bool]
    ) -> tuple[list[RunId], int]:
        return self._at(address).take_up(waiting_for, has_commit)

    def start(self, spec: RunSpec) -> RunId:
        address = address_of(spec.source)
        return self._at(address).start(spec) if address else self.local.start(spec)

    def post(self, run: RunId, command: RunCommand, *, key: str) -> None:
        remote = self._remote(run)
        if remote is None:
            self.local.post(run, command, key=key)
        else:
            self._replies[run, key] = remote.post(run, command, key=key)

    async def send(self, run: RunId, command: RunCommand, *, key: str) -> Reply:
        return await (self._remote(run) or self.local).send(run, command, key=key)

    def reply(self, run: RunId, key: str) -> Reply | None:
        return self._replies.get((run, key)) or self.local.reply(run, key)

    def stamp(self) -> int:
        return self.local.stamp()

    def withdraw(self, run: RunId, key: str) -> bool:
        return self._remote(run) is None and self.local.withdraw(run, key)

    async def drive(
        self,
        run: RunId,
        *commands: Command,
        park: Park,
        on_turn: OnTurn | None = None,
        on_progress: OnProgress | None = None,
    ) -> State:
        remote = self._remote(run)
        if remote is not None:
            return await remote.drive(run, *commands, park=park, on_turn=on_turn)
        return await self.local.drive(run, *commands, park=park, on_turn=on_turn, on_progress=on_progress)

    def head(self, run: RunId) -> RunHead | None:
        return self.local.head(run)

    def heads_from(self, number: int) -> tuple[tuple[int, RunHead], ...]:
        return self.local.heads_from(number)

    def checked_events(self, run: RunId) -> tuple[Record, ...]:
        self._update(run)
        return self.local.checked_events(run)

    def heads(self) -> tuple[RunHead, ...]:
        return self.local.heads()

    def events(self, run: RunId, *, after: int = 0) -> tuple[Record, ...]:
        self._update(run)
        return self.local.events(run, after=after)

    async def wait(self, run: RunId, *, after: int) -> None:
        remote = self._remote(run)
        if remote is None:
            await self.local.wait(run, after=after)
            return
        from anyio import sleep, to_thread

        while (head := self.local.head(run)) is not None and head.last_seq <= after:
            await to_thread.run_sync(self._update, run)
            await sleep(0.5)

    def is_owned(self, run: RunId) -> bool:
        if self._remote(run) is None:
            return self.local.is_owned(run)
        head = self.local.head(run)
        return head is not None and head.status not in ENDED

    def unread(self, run: RunId) -> Unread:
        return self.local.unread(run) if self._remote(run) is None else Unread(0, frozenset())

    def reserve(self, run: RunId) -> AbstractContextManager[None]:
        return self.local.reserve(run)

    def abandon(self, run: RunId, command: Cancel) -> None:
        (self._remote(run) or self.local).abandon(run, command)

    def rebuild(self, run: RunId) -> None:
        self._update(run)
        self.local.rebuild(run)

    def verify(self, run: RunId) -> LogCheck:
        self._update(run)
        return self.local.verify(run)

    def record_events(self, events: Sequence[TriggerEvent], marks: Mapping[tuple[str, str], str]) -> int:
        return self.local.record_events(events, marks)

    def trigger_events(self, *, since: int | None = None) -> tuple[TriggerEvent, ...]:
        return self.local.trigger_events(since=since)

    def trigger_mark(self, file: str, trigger: str) -> str | None:
        return self.local.trigger_mark(file, trigger)

    def drop_event(self, event: TriggerEvent, reason: str) -> None:
        self.local.drop_event(event, reason)

    def lost_runs(self) -> tuple[str, ...]:
        return self.local.lost_runs()

    def forget(self, run: RunId) -> None:
        self.local.forget(run)

    def close(self) -> None:
        for remote in self._remotes.values():
            remote.close()
        self.local.close()
