"""The protocol of stores, which keep the logs of runs; a contract suite checks them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from podium.core.hash_chain import Record, RunId
from podium.errors import PodiumError
from podium.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class RunHead:
    """A run without its events."""

    run: RunId
    workflow: str
    fingerprint: str
    created: int
    epoch: int
    last_seq: int
    last_hash: str
    status: str = "running"
    source: str = ""
    """Where its definition came from, for the process that resumes it; the store does not read it."""


@dataclass(frozen=True, slots=True)
class QueuedCommand:
    """A message from another process to the owner of a run."""

    number: int
    run: RunId
    name: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TriggerEvent:
    """Something that happened outside, for which a trigger of a workflow file starts at most one run."""

    file: str
    trigger: str
    id: str
    """Unique among the events of the trigger."""
    at: int
    body: Mapping[str, Any]
    """What the run may read of it; empty once the event is settled."""
    state: Literal["waiting", "started", "dropped"] = "waiting"
    run: RunId | None = None
    reason: str = ""
    """Dropped: why no run was started for it."""


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run to be created without events, with its first queued commands by name."""

    head: RunHead
    commands: Mapping[str, Mapping[str, Any]]


class StoreError(PodiumError):
    """The store failed."""

    code = "store"


class StaleOwner(StoreError):
    """Another process owns the run now; nothing was written."""


class AppendConflict(StoreError):
    """The events do not follow the stored ones; nothing was written."""


class Store(Protocol):
    """The log of all runs of a project.

    An append is one transaction: it stores all its events or none. It names the position it follows and the epoch of
    its owner, so the events of two owners can never interleave.
    """

    def create(
        self,
        head: RunHead,
        commands: Mapping[str, Mapping[str, Any]] | None = None,
        event: TriggerEvent | None = None,
    ) -> None:
        """Create a run without events, in one transaction with its first queued commands by name.

        The transaction also marks the event that the run is started for. Raises StoreError if the run exists, or if the
        event does not wait for a run.
        """

    def claim(self, run: RunId) -> int:
        """Become the owner: start a new epoch, which locks out all earlier owners."""

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
        """Add events, each a pair of type and JSON text, after position `after`.

        The same transaction stores the run's new status, the queued command that these events answer with the reply to
        its sender, so that a command takes effect exactly once, even after a crash, and the run that continues this one.
        """

    def read(self, run: RunId, *, after: int = 0) -> tuple[Record, ...]: ...

    def head(self, run: RunId) -> RunHead | None: ...

    def heads(self) -> tuple[RunHead, ...]:
        """All runs, newest first."""

    def heads_from(self, number: int) -> tuple[tuple[int, RunHead], ...]:
        """The runs with this number or a higher one, the oldest first. Runs are numbered as they are created; the number
        of the newest is used again if that run is deleted."""

    def set_status(self, run: RunId, status: str) -> None: ...

    def post(self, run: RunId, name: str, body: Mapping[str, Any]) -> None:
        """Queue a command for the owner; posting the same name again does nothing."""

    def commands(self, run: RunId) -> tuple[QueuedCommand, ...]:
        """The queued commands that have not been answered, in order."""

    def answer(self, command: QueuedCommand, reply: str) -> None:
        """Answer a queued command that led to no event."""

    def reply(self, run: RunId, name: str) -> str | None:
        """The reply to a queued command; None until there is one."""

    def stamp(self) -> int:
        """A number that changes when a command may have been queued; cheap enough to poll."""

    def forget(self, run: RunId) -> None:
        """Delete a run with its events and queued commands; idempotent."""

    def record_events(self, events: Sequence[TriggerEvent], marks: Mapping[tuple[str, str], str]) -> int:
        """Store the events whose ids are new, and how far triggers have looked, by file and trigger; in one transaction.

        Returns how many were new.
        """

    def trigger_events(self, *, since: int | None = None) -> tuple[TriggerEvent, ...]:
        """The events that wait for a run, oldest first; with `since`, all from that time on."""

    def trigger_mark(self, file: str, trigger: str) -> str | None:
        """How far a trigger has looked; None if it never has."""

    def drop_event(self, event: TriggerEvent, reason: str) -> None:
        """Settle a waiting event without a run."""

    def damage(self) -> str | None:
        """Describe damage of the store itself; None if there is none. Readers of a log check its chain themselves."""

    def close(self) -> None: ...
