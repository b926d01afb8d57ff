"""What keeps the log of runs: stores satisfy this protocol, a contract suite proves it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from podium.core.hash_chain import Record, RunId
from podium.errors import PodiumError


@dataclass(frozen=True, slots=True)
class RunHead:
    """What is known of a run without reading its events."""

    run: RunId
    workflow: str
    fingerprint: str
    created: int
    epoch: int
    last_seq: int
    last_hash: str
    status: str = "running"
    source: str = ""
    """Where its definition came from, for whoever carries it on; the store does not look inside."""


@dataclass(frozen=True, slots=True)
class QueuedCommand:
    """A message from another process to the owner of a run."""

    number: int
    run: RunId
    name: str
    body: Mapping[str, Any]


class StoreError(PodiumError):
    """The store could not do what was asked; the message says why."""


class StaleOwner(StoreError):
    """Somebody else owns the run by now: nothing was written."""


class AppendConflict(StoreError):
    """The events do not follow what is stored: nothing was written."""


class Store(Protocol):
    """The log of all runs of a project.

    An append is one transaction: all of its events are there afterwards, or none. It names the position it follows
    and the epoch of its owner, so that two owners can never interleave.
    """

    def create(self, head: RunHead, letters: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """A new run without events, in one transaction with its first letters by name.

        StoreError if there is one of that name.
        """

    def claim(self, run: RunId) -> int:
        """Become the owner: a new epoch, which fences all earlier ones."""

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
    ) -> tuple[Record, ...]:
        """Add events, each a pair of type and JSON text, behind position `after`.

        In the same transaction: what the run's status is from now on, and the letter these events answer, with the
        reply to whoever sent it; so a letter takes effect once, whenever its reader dies.
        """

    def read(self, run: RunId, *, after: int = 0) -> tuple[Record, ...]: ...

    def head(self, run: RunId) -> RunHead | None: ...

    def heads(self) -> tuple[RunHead, ...]:
        """All runs, the newest first."""

    def set_status(self, run: RunId, status: str) -> None: ...

    def post(self, run: RunId, name: str, body: Mapping[str, Any]) -> None:
        """Leave a letter for the owner; the same name twice is one letter."""

    def letters(self, run: RunId) -> tuple[QueuedCommand, ...]:
        """What has been posted and not been answered, in order."""

    def answer(self, letter: QueuedCommand, reply: str) -> None:
        """Put a letter away that led to no event."""

    def reply(self, run: RunId, name: str) -> str | None:
        """The answer to a letter, once there is one."""

    def stamp(self) -> int:
        """Another number when a letter may have come since; cheap enough to be asked all the time."""

    def forget(self, run: RunId) -> None:
        """Delete a run with its events and letters; twice is once."""

    def damage(self) -> str | None:
        """What is wrong with the store itself, or None; the chain of a run's events is looked at by whoever reads it."""

    def close(self) -> None: ...
