"""The protocol of runtimes, which store runs and drive them: the only way from the use cases to an engine.

Rule 1: a run has at most one owner, the process that drives it. Other processes send commands and get replies.
Rule 2: events are read from the store, and their hash chain is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from podium.core.events import Event
from podium.core.hash_chain import Record, RunId
from podium.core.messages import Cancel, Command, Refusal, Start
from podium.core.types import Address, Millis
from podium.errors import ConfigurationError, PodiumError
from podium.fast_dataclass import dataclass
from podium.ports.store import RunHead, TriggerEvent

if TYPE_CHECKING:
    from podium.core.model import Workflow
    from podium.core.state import State
    from podium.ports.agent import OnProgress
    from podium.views.run.builder import RunViewBuilder


@dataclass(frozen=True, slots=True)
class ManualWorkDone:
    """A person has done the work of a step by hand, or reports that it cannot be done."""

    path: Address
    by: str
    text: str = ""
    answer: Any = None
    failed: bool = False


RunCommand: TypeAlias = Command | ManualWorkDone


@dataclass(frozen=True, slots=True)
class Accepted:
    """The run has carried out the command."""


@dataclass(frozen=True, slots=True)
class NoOwner:
    """No process drives the run. The command stays queued for the next owner, unless it is withdrawn."""


Reply: TypeAlias = Accepted | Refusal | NoOwner

Park: TypeAlias = bool | Literal["clock"]
"""Whether to release a run that waits for a person or a signal; "clock": also one that waits for a timer."""


class AlreadyOwned(PodiumError):
    """Another process owns the run."""

    code = "run_owned"


class DefinitionChanged(ConfigurationError):
    """The workflow is not the one that the run was started with."""

    code = "definition_changed"


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
    return ConfigurationError(f'run "{name}" not found', hint="`podium runs` lists them", code="unknown_run")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """A run to be created."""

    run: RunId
    workflow: Workflow
    created: Millis
    source: str
    """Where its definition comes from, for the process that drives it; the runtime does not read it."""
    start: Start
    event: TriggerEvent | None = None
    """What a trigger starts it for; the same transaction settles it."""
    key: str = "start"
    """Of the command that starts it, which names the channel."""


class DrivenRun(Protocol):
    """A run as the process that drives it sees it after a turn."""

    @property
    def run(self) -> RunId: ...
    @property
    def state(self) -> State: ...
    @property
    def events(self) -> Sequence[Event]: ...
    @property
    def earlier_events(self) -> int:
        """How many of the events are from before this process became the owner."""

    def earlier_view(self) -> RunViewBuilder:
        """A builder that has been fed these earlier events; it belongs to the caller."""

    @property
    def replies(self) -> Mapping[str, Reply]:
        """The replies to commands that this owner has read, by their keys."""

    @property
    def refused(self) -> Sequence[str]:
        """Why answers in files were refused, because a file gets no reply."""


OnTurn: TypeAlias = Callable[[DrivenRun], None]


@dataclass(frozen=True, slots=True)
class Unread:
    """Commands and answers that no owner has read yet."""

    commands: int
    answers: frozenset[tuple[str, int, int]]
    """Answer files that people wrote: name, size and modification time."""


@dataclass(frozen=True, slots=True)
class LogCheck:
    """Whether the log of a run is complete and unaltered."""

    run: RunId
    events: int
    last_hash: str
    fault: str | None
    compared: bool
    """Whether the last hash was also compared with a copy outside the store."""
    follows: tuple[str, ...] = ()
    """The earlier runs of its series whose logs were checked too, the newest first."""
    deleted: str = ""
    """The run of its series at which this stopped, because it was deleted."""


class Runtime(Protocol):
    def start(self, spec: RunSpec) -> RunId:
        """Create a run without starting it; any process may drive it, even if this one dies now."""

    def post(self, run: RunId, command: RunCommand, *, key: str) -> None:
        """Queue a command without waiting for its reply; the same key twice is one command."""

    async def send(self, run: RunId, command: RunCommand, *, key: str) -> Reply:
        """Queue a command and wait for the reply of the run's owner; if the key was already used, only wait.

        A pause or guidance for a run without an owner is recorded at once, because nothing else has to happen.
        """

    def reply(self, run: RunId, key: str) -> Reply | None:
        """The reply to a queued command; None until there is one."""

    def withdraw(self, run: RunId, key: str) -> bool:
        """Withdraw a queued command; False if an owner has read it or may still do so."""

    async def drive(
        self,
        run: RunId,
        *commands: Command,
        park: Park,
        on_turn: OnTurn | None = None,
        on_progress: OnProgress | None = None,
    ) -> State:
        """Own a run until it ends or can be released; `commands` are carried out first.

        `on_progress` is called with what the active attempts do. Raises AlreadyOwned, and DefinitionChanged.
        """

    def head(self, run: RunId) -> RunHead | None: ...

    def heads_from(self, number: int) -> tuple[tuple[int, RunHead], ...]:
        """The runs with this number or a higher one, the oldest first."""

    def checked_events(self, run: RunId) -> tuple[Record, ...]:
        """All events; raises StoreError also if some are missing that a file outside the log knows of."""

    def heads(self) -> tuple[RunHead, ...]:
        """All runs, newest first."""

    def events(self, run: RunId, *, after: int = 0) -> tuple[Record, ...]:
        """The events of a run after number `after`; raises StoreError if the chain is broken."""

    def stamp(self) -> int:
        """A number that changes when another process may have changed a run; cheap enough to poll."""

    async def wait(self, run: RunId, *, after: int) -> None:
        """Return when there is an event after number `after`, or when the run was deleted."""

    def is_owned(self, run: RunId) -> bool:
        """Whether a living process drives the run."""

    def unread(self, run: RunId) -> Unread: ...

    def reserve(self, run: RunId) -> AbstractContextManager[None]:
        """Prevent other processes from driving the run inside the context; raises AlreadyOwned."""

    def abandon(self, run: RunId, command: Cancel) -> None:
        """End a run that cannot be driven because its definition has changed or is missing."""

    def rebuild(self, run: RunId) -> None:
        """Rewrite the files in the run's folder from its log."""

    def verify(self, run: RunId) -> LogCheck: ...

    def record_events(self, events: Sequence[TriggerEvent], marks: Mapping[tuple[str, str], str]) -> int:
        """Store the events of triggers whose ids are new, with how far triggers have looked; returns how many were new."""

    def trigger_events(self, *, since: int | None = None) -> tuple[TriggerEvent, ...]:
        """The events that wait for a run, oldest first; with `since`, all from that time on."""

    def trigger_mark(self, file: str, trigger: str) -> str | None:
        """How far a trigger has looked; None if it never has."""

    def drop_event(self, event: TriggerEvent, reason: str) -> None:
        """Settle a waiting event without a run."""

    def lost_runs(self) -> tuple[str, ...]:
        """The names of run folders whose run is not in the log."""

    def forget(self, run: RunId) -> None:
        """Delete the log of a run; the caller deletes its folder."""

    def close(self) -> None: ...
