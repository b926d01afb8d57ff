"""The events of a run: the facts that are stored and from which everything else is computed.

Every decision is one event, so that a crash cannot leave half a decision in the log. An event has the time of its turn; the
store adds the rest in an envelope.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from podium.core.payloads import (
    Amounts,
    Ask,
    ChosenRoute,
    MemoryChange,
    Note,
    RefusedMember,
    Reply,
    Result,
    ToolCall,
    Verdict,
)
from podium.core.run_events import (
    ApprovalAsked,
    ApprovalGiven,
    AttemptLost,
    CancelAsked,
    GuidanceGiven,
    LimitRaised,
    NoteLeft,
    RunEnded,
    RunEvent,
    RunPaused,
    RunRecovered,
    RunResumed,
    RunStarted,
)
from podium.core.types import Address, AnswerKind, Millis, Outcome, Reason, Role, Tree
from podium.fast_dataclass import dataclass

__all__ = [
    "ApprovalAsked", "ApprovalGiven", "AttemptDoubted", "AttemptEnded", "AttemptGuided", "AttemptLost", "AttemptQueued",
    "AttemptStarted", "AttemptTaken", "CancelAsked", "CancelOrdered", "Event", "FactsAsked", "FactsFound", "GuidanceGiven",
    "InstanceEvent", "JoinAsked", "JoinEnded", "JoinQueued", "JumpAsked", "JumpOrdered", "LimitRaised", "NoteLeft",
    "RetryScheduled", "RunEnded", "RunEvent", "RunPaused", "RunRecovered", "RunResumed", "RunStarted", "SignalReceived",
    "StepEnded", "StepEntered", "StepExpanded", "StepReopened", "TimerFired", "ToolAsked", "WaitEnded", "WaitStarted"
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class StepEntered:
    """A scope entered a child. `stale` siblings are invalid from now on; with `keeps_head` their work stays."""

    at: Millis
    path: Address
    parent: Address
    role: Role
    index: int
    visit: int
    base: Tree | None = None
    start: Tree | None = None
    feedback: tuple[Address, ...] = ()
    stale: tuple[int, ...] = ()
    not_ready: bool = False
    """True if the child cannot be dispatched yet, because a fact or a joined base is missing."""
    adopt: Address | None = None
    proceed: int = -1  # The child that follows an adopted result, whatever its route.
    """The earlier visit whose result this visit takes instead of working."""
    about: str = ""
    """For a question or advice: the rule or situation that it is about; for `finally`: how the body ended; else its `log`."""
    target: int = -1
    """For advice: the child that was about to be entered. For a member: the number of the ask, or -1 for `when_done`."""
    claim: tuple[str, ...] = ()
    """Globs of the files that no parallel sibling may change until the work of this child is merged."""
    after: tuple[int, ...] = ()
    """Graph: siblings that changed files of its claim; it builds on their work as if it needed them."""
    keeps_head: bool = False


@dataclass(frozen=True, slots=True)
class StepExpanded:
    at: Millis
    path: Address
    total: int
    items: tuple[Any, ...] = ()
    keys: tuple[str, ...] = ()
    needs: tuple[tuple[int, ...], ...] = ()
    due: Millis | None = None


@dataclass(frozen=True, slots=True)
class AttemptStarted:
    at: Millis
    path: Address
    attempt: int
    reserve: Amounts
    base: Tree | None = None
    start: Tree | None = None
    agent: int = 0
    """0 is the step's own agent, n its n-th fallback."""
    degrade: int = 0
    upgrade: int = 0
    """0 is the agent and model of the step, n those of the n-th entry of `retry.upgrade`."""
    timeout: Millis | None = None
    guidance: tuple[str, ...] = ()
    claim: tuple[str, ...] | None = ()
    """Written by earlier versions only, which claimed files for an attempt; now StepEntered has the claim."""
    reused: bool = False
    """True if no work is done: the attempt reuses the result of an earlier run, and nothing is reserved for it."""
    notes: tuple[int, ...] = ()
    """The notes that the attempt is the first of its step to get, as numbers in the order in which they were left."""


@dataclass(frozen=True, slots=True)
class AttemptEnded:
    at: Millis
    path: Address
    attempt: int
    kind: AnswerKind
    reason: Reason = ""
    result: Result | None = None
    tree: Tree | None = None
    change: Mapping[str, Any] | None = None
    verdict: Verdict | None = None
    used: Amounts = Amounts()
    cost_known: bool = True
    window: int | None = None
    retry_at: Millis | None = None
    digest: str = ""
    similarity_percent: int | None = None
    """How similar this answer is to the step's previous one, in percent."""
    key: str = ""
    """A hash of the whole request: a later run may reuse this answer for an equal request."""
    reused: str = ""
    """The earlier run that this answer was reused from, at no cost; empty if this run produced it."""
    protected: tuple[str, ...] = ()
    """Changed files that are accepted only if a person allows it; nothing else is wrong with them."""
    memory: MemoryChange | None = None
    """What the attempt did to the memory of its step; it counts if the step passes with this attempt."""
    asks: tuple[Ask, ...] = ()
    """Only for an attempt that `asked`: whom and what, in order."""
    notes: tuple[Note, ...] = ()
    so_far: str = ""
    """What an attempt that `asked` wants to be told when it goes on."""
    calls: tuple[ToolCall, ...] = ()
    """Only for an attempt that `asked`: calls of tools about which nobody had decided in time."""


@dataclass(frozen=True, slots=True)
class AttemptTaken:
    at: Millis
    path: Address
    attempt: int
    by: str
    agent: str = ""


@dataclass(frozen=True, slots=True)
class AttemptGuided:
    """Guidance was given to an agent while it works, or could not be."""

    at: Millis
    path: Address
    attempt: int
    text: str
    by: str = ""
    refused: str = ""
    """Why the agent did not get it; empty if it did."""
    stays_open: bool = False
    """True if the next attempt gets the text too, because another agent that is working has not got it."""


@dataclass(frozen=True, slots=True)
class ToolAsked:
    """An agent that works holds a call of a tool until a person has decided about it."""

    at: Millis
    path: Address
    attempt: int
    call: ToolCall


@dataclass(frozen=True, slots=True)
class AttemptDoubted:
    at: Millis
    path: Address
    attempt: int


@dataclass(frozen=True, slots=True)
class AttemptQueued:
    at: Millis
    path: Address
    why: Literal["ready", "counted", "repair", "fallback", "granted", "consent", "judged", "lost", "answered"]
    feedback: tuple[Address, ...] = ()
    replies: tuple[Reply, ...] = ()
    """What came of each ask of the last attempt, in order."""


@dataclass(frozen=True, slots=True)
class RetryScheduled:
    at: Millis
    path: Address
    due: Millis
    why: Literal["counted", "transient", "quota"]
    feedback: tuple[Address, ...] = ()


@dataclass(frozen=True, slots=True)
class WaitStarted:
    at: Millis
    path: Address
    due: Millis | None
    """When the wait is over: a timer then succeeds, any other wait times out."""


@dataclass(frozen=True, slots=True)
class WaitEnded:
    at: Millis
    path: Address
    kind: Literal["ok", "failed", "error"]
    result: Result | None = None
    reason: Reason = ""


@dataclass(frozen=True, slots=True)
class SignalReceived:
    at: Millis
    path: Address
    name: str
    data: Any
    by: str = ""


@dataclass(frozen=True, slots=True)
class TimerFired:
    at: Millis
    path: Address
    due: Millis


@dataclass(frozen=True, slots=True)
class FactsAsked:
    at: Millis
    path: Address
    function: str
    argument: str
    tree: Tree | None


@dataclass(frozen=True, slots=True)
class FactsFound:
    at: Millis
    path: Address
    function: str
    argument: str
    tree: Tree | None
    value: Any


@dataclass(frozen=True, slots=True)
class JoinQueued:
    """A member has passed on its own and waits to be merged onto its scope's head."""

    at: Millis
    path: Address


@dataclass(frozen=True, slots=True)
class JoinAsked:
    at: Millis
    path: Address
    onto: Tree
    fork: Tree | None
    members: tuple[tuple[Address, Tree], ...]
    gated: bool
    """True if the members' command gates must pass again on the joined tree."""


@dataclass(frozen=True, slots=True)
class JoinEnded:
    at: Millis
    path: Address
    tree: Tree | None
    refused: tuple[RefusedMember, ...] = ()


@dataclass(frozen=True, slots=True)
class JumpOrdered:
    """A graph returns to an ancestor: everything that depends on it is stopped, then it is entered again."""

    at: Millis
    path: Address
    target: int
    feedback: tuple[Address, ...]


@dataclass(frozen=True, slots=True)
class StepReopened:
    """A scope gets another attempt: all its children are entered again, if `due` is set not before that time."""

    at: Millis
    path: Address
    attempt: int
    feedback: tuple[Address, ...]
    granted: bool = False
    due: Millis | None = None


@dataclass(frozen=True, slots=True)
class CancelOrdered:
    at: Millis
    path: Address
    why: str


@dataclass(frozen=True, slots=True)
class StepEnded:
    at: Millis
    path: Address
    outcome: Outcome
    reason: Reason = ""
    exit: int = 0
    result: Result | None = None
    tree: Tree | None = None
    sets: tuple[tuple[str, Any], ...] = ()
    degraded: bool = False
    breaks_loop: bool = False
    """True if the enclosing loop ends with this step."""
    limit_hit: Address | None = None
    """The ledger whose limit ended the step, or the run if a decision halted it; no `on` inside that scope applies."""
    message: str = ""
    score: float | None = None
    route: ChosenRoute | None = None
    memory: MemoryChange | None = None


@dataclass(frozen=True, slots=True)
class JumpAsked:
    at: Millis
    path: Address
    target: int
    by: str
    why: str = ""


InstanceEvent: TypeAlias = (
    StepEntered | StepExpanded | AttemptStarted | AttemptTaken | AttemptGuided | AttemptEnded
    | ToolAsked | AttemptDoubted | AttemptLost | AttemptQueued | RetryScheduled | WaitStarted | WaitEnded
    | SignalReceived | TimerFired | ApprovalAsked | ApprovalGiven | FactsAsked | FactsFound | JoinQueued
    | JoinAsked | JoinEnded | JumpOrdered | JumpAsked | StepReopened | CancelOrdered | StepEnded
)  # fmt: skip
Event: TypeAlias = InstanceEvent | RunEvent
