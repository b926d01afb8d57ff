"""The events of a run as a whole, and of the people who steer it and answer its questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from podium.core.payloads import SCHEMA_VERSION, RunFacts
from podium.core.types import Address, Level, Millis, Outcome, Reason, RunStatus, Tree, Unit
from podium.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class RunStarted:
    at: Millis
    run: RunFacts
    fingerprint: str
    inputs: Mapping[str, Any]
    env: Mapping[str, str]
    tree: Tree | None = None
    no_human: bool = False
    version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True)
class CancelAsked:
    at: Millis
    by: str
    reason: str = ""
    force: bool = False


@dataclass(frozen=True, slots=True)
class RunPaused:
    at: Millis
    by: str


@dataclass(frozen=True, slots=True)
class RunResumed:
    at: Millis
    by: str


@dataclass(frozen=True, slots=True)
class GuidanceGiven:
    at: Millis
    by: str
    text: str


@dataclass(frozen=True, slots=True)
class NoteLeft:
    """A person left a note for a step or for a member of a team."""

    at: Millis
    by: str
    to: Address
    text: str


@dataclass(frozen=True, slots=True)
class LimitRaised:
    at: Millis
    ledger: Address
    unit: Unit
    to: int
    by: str


@dataclass(frozen=True, slots=True)
class RunRecovered:
    """A new owner took over the run.

    The time since the last event is not working time. Calls in `lost` were interrupted: they count and are made again.
    """

    at: Millis
    epoch: int
    lost: tuple[Address, ...] = ()


@dataclass(frozen=True, slots=True)
class AttemptLost:
    """The process that performed the attempt is gone. The attempt counts in full and is performed again."""

    at: Millis
    path: Address
    attempt: int


@dataclass(frozen=True, slots=True)
class RunEnded:
    at: Millis
    status: RunStatus
    outcome: Outcome
    reason: Reason
    exit: int
    outputs: Mapping[str, Any]
    message: str = ""
    continued_by: str = ""
    """The run that the same transaction has created to continue the series."""


@dataclass(frozen=True, slots=True)
class ApprovalAsked:
    at: Millis
    path: Address
    level: Level
    by: tuple[str, ...]
    approvals: int
    tree: Tree | None = None
    expires: Millis | None = None
    silence: Outcome = "timeout"
    remind: Millis | None = None
    escalate: Millis | None = None
    key: str = ""
    """A hash of the question's text."""
    rule: str = ""
    """The rule of a policy that asks, in words."""
    presence: bool = False
    """Whether an answer needs the proof that a person is present."""


@dataclass(frozen=True, slots=True)
class ApprovalGiven:
    at: Millis
    path: Address
    action: str
    by: str
    text: str = ""
    answer: Any = None
    tree: Tree | None = None
    reused: str = ""
    """The earlier run in which the person answered; empty if it was this one."""
    how: str = ""
    """How the answer came, such as terminal, command, file or web; empty if unknown."""
    opened: tuple[str, ...] = ()
    """What of the evidence this person is known to have opened, such as `diff`."""
    proof: Mapping[str, str] | None = None
    """The proof of presence that was verified; it can be verified again."""


RunEvent: TypeAlias = (
    RunStarted
    | CancelAsked
    | RunPaused
    | RunResumed
    | GuidanceGiven
    | NoteLeft
    | LimitRaised
    | RunRecovered
    | RunEnded
)
