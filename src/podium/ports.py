"""What the engine needs of the world, as narrow protocols; adapters satisfy them, contract suites prove it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from podium.core.chain import Record, RunId


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


@dataclass(frozen=True, slots=True)
class Letter:
    """A message from another process to the owner of a run."""

    number: int
    run: RunId
    name: str
    body: Mapping[str, Any]


class StoreError(Exception):
    """The store could not do what was asked; the message says why."""


class Fenced(StoreError):
    """Somebody else owns the run by now: nothing was written."""


class Misplaced(StoreError):
    """The events do not follow what is stored: nothing was written."""


class Store(Protocol):
    """The log of all runs of a project.

    An append is one transaction: all of its events are there afterwards, or none. It names the position it follows
    and the epoch of its owner, so that two owners can never interleave.
    """

    def create(self, head: RunHead) -> None:
        """A new run without events. StoreError if there is one of that name."""

    def claim(self, run: RunId) -> int:
        """Become the owner: a new epoch, which fences all earlier ones."""

    def append(
        self, run: RunId, events: Sequence[tuple[str, str]], *, after: int, epoch: int, cause: str
    ) -> tuple[Record, ...]:
        """Add events, each a pair of type and JSON text, behind position `after`."""

    def read(self, run: RunId, *, after: int = 0) -> tuple[Record, ...]: ...

    def head(self, run: RunId) -> RunHead | None: ...

    def heads(self) -> tuple[RunHead, ...]:
        """All runs, the newest first."""

    def set_status(self, run: RunId, status: str) -> None: ...

    def post(self, run: RunId, name: str, body: Mapping[str, Any]) -> None:
        """Leave a letter for the owner; the same name twice is one letter."""

    def letters(self, run: RunId) -> tuple[Letter, ...]:
        """What has been posted and not been answered, in order."""

    def discard(self, letter: Letter) -> None: ...

    def close(self) -> None: ...
