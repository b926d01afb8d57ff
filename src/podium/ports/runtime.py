"""The protocol of what keeps runs and drives them: the only way from the use cases to a running engine.

Rule 1: a run has at most one owner, the process that drives it. All others send commands, and get a reply.
Rule 2: what is read of a run is what was stored, with its hash chain checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from podium.core.events import Event
from podium.core.hash_chain import Record, RunId
from podium.core.messages import Cancel, Command, Refusal, Start
from podium.core.model import Workflow
from podium.core.state import State
from podium.core.types import Millis, Path
from podium.errors import ConfigurationError, PodiumError
from podium.ports.store import RunHead


@dataclass(frozen=True, slots=True)
class ManualWorkDone:
    """A person has done the work of a step by hand, or reports that it cannot be done."""

    path: Path
    by: str
    text: str = ""
    answer: Any = None
    failed: bool = False


RunCommand: TypeAlias = Command | ManualWorkDone


@dataclass(frozen=True, slots=True)
class Accepted:
    """The run has followed the command."""


@dataclass(frozen=True, slots=True)
class NoOwner:
    """No process drives the run. The command stays queued: the next owner follows it, unless it is withdrawn."""


Reply: TypeAlias = Accepted | Refusal | NoOwner

Park: TypeAlias = bool | Literal["clock"]
"""Whether to release a run that waits for a person or a signal; "clock": also one that waits for a time."""


class AlreadyOwned(PodiumError):
    """Another process owns the run."""


class DefinitionChanged(ConfigurationError):
    """The workflow is not the one that the run was started with."""


def check_unchanged(head: RunHead, workflow: Workflow) -> None:
    """Raises DefinitionChanged if the workflow is not the one that the run was started with."""
    run = head.run
    if head.fingerprint != workflow.fingerprint:
        raise DefinitionChanged(
            f"the definition of run {run} has changed since it was started",
            hint=f"continue with the new one: podium resume {run} --accept-changes   or undo the change, or end the "
            f"run as it is: podium cancel {run} --force",
        )


def no_such_run(name: str) -> ConfigurationError:
    return ConfigurationError(f"there is no run {name}", hint="`podium runs` lists them")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """A run to be created."""

    run: RunId
    workflow: Workflow
    created: Millis
    source: str
    """Where its definition comes from, for every process that drives it; the runtime does not look inside."""
    start: Start


class DrivenRun(Protocol):
    """A run as the process that drives it sees it after a turn."""

    @property
    def run(self) -> RunId: ...
    @property
    def state(self) -> State: ...
    @property
    def events(self) -> Sequence[Event]: ...
    @property
    def replies(self) -> Mapping[str, Reply]:
        """To the commands that this owner has read, by their keys."""

    @property
    def refused(self) -> Sequence[str]:
        """Why answers in files were refused; their authors get no reply."""


OnTurn: TypeAlias = Callable[[DrivenRun], None]


@dataclass(frozen=True, slots=True)
class Unread:
    """What an owner of the run would read first."""

    commands: int
    answers: frozenset[tuple[str, int, int]]
    """Files with an answer of a person: name, size and time of change."""


@dataclass(frozen=True, slots=True)
class LogCheck:
    """Whether the log of a run is complete and unaltered."""

    run: RunId
    events: int
    last_hash: str
    fault: str | None
    compared: bool
    """Whether the last hash was also found outside the store, to compare with."""


class Runtime(Protocol):
    def start(self, spec: RunSpec) -> RunId:
        """Create a run. Nothing of it has happened yet; any process may drive it, also if this one dies now."""

    def post(self, run: RunId, command: RunCommand, *, key: str) -> None:
        """Queue a command without waiting for its reply; the same key twice is one command."""

    async def send(self, run: RunId, command: RunCommand, *, key: str) -> Reply:
        """Queue a command and wait for the reply of the run's owner; the same key again only waits.

        A pause or guidance for a run without an owner is recorded at once, since nothing else has to happen.
        """

    def withdraw(self, run: RunId, key: str) -> bool:
        """Take a queued command back; False if an owner has read it or may still do so."""

    async def drive(self, run: RunId, *commands: Command, park: Park, on_turn: OnTurn | None = None) -> State:
        """Own a run until it ends, or until it can be released; `commands` are followed first.

        Raises AlreadyOwned, and DefinitionChanged.
        """

    def head(self, run: RunId) -> RunHead | None: ...

    def heads(self) -> tuple[RunHead, ...]:
        """All runs, the newest first."""

    def events(self, run: RunId, *, after: int = 0) -> tuple[Record, ...]:
        """What has happened in a run after event number `after`; raises StoreError if the chain is broken."""

    async def wait(self, run: RunId, *, after: int) -> None:
        """Return when there is an event after number `after`, or when the run is gone."""

    def is_owned(self, run: RunId) -> bool:
        """Whether a living process drives the run."""

    def unread(self, run: RunId) -> Unread: ...

    def reserve(self, run: RunId) -> AbstractContextManager[None]:
        """Keep other processes from driving the run meanwhile; raises AlreadyOwned."""

    def abandon(self, run: RunId, command: Cancel) -> None:
        """End a run that cannot be driven, since its definition has changed or is gone."""

    def rebuild(self, run: RunId) -> None:
        """Write the files of the run's folder again from its log."""

    def verify(self, run: RunId) -> LogCheck: ...

    def forget(self, run: RunId) -> None:
        """Delete the log of a run; its folder is the caller's."""

    def close(self) -> None: ...
