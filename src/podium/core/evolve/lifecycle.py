"""The table of the events that an instance allows in each phase; the diagram in the docs is drawn from it.

Rule 1: an event that the table does not allow raises; it is never skipped.
Rule 2: where two phases are listed, the first is the usual one and the second applies when a further answer is needed
(after a reminder, or after the first of two approvals).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, get_args

from podium.core.events import (
    ApprovalAsked,
    ApprovalGiven,
    AttemptDoubted,
    AttemptEnded,
    AttemptGuided,
    AttemptLost,
    AttemptQueued,
    AttemptStarted,
    AttemptTaken,
    CancelOrdered,
    FactsAsked,
    FactsFound,
    InstanceEvent,
    JoinAsked,
    JoinEnded,
    JoinQueued,
    JumpAsked,
    JumpOrdered,
    RetryScheduled,
    SignalReceived,
    StepEnded,
    StepExpanded,
    StepReopened,
    TimerFired,
    ToolAsked,
    WaitEnded,
    WaitStarted,
)
from podium.core.state import Instance, Leaf, Phase

Kind: TypeAlias = Literal["leaf", "scope"]
Row: TypeAlias = Mapping[type[InstanceEvent], tuple[Phase, ...]]


class IllegalEvent(Exception):
    """The event is not possible in this state: the log is damaged or the code is wrong."""


def _row(rows: dict[type[InstanceEvent], tuple[Phase, ...]], phase: Phase) -> Row:
    """The rows of a phase, with the one row that every phase before the end has."""
    return {**rows, CancelOrdered: (phase,)}


TABLE: Final[Mapping[tuple[Kind, Phase], Row]] = {
    ("leaf", "ready"): _row(
        {
            AttemptStarted: ("working",),
            WaitStarted: ("waiting",),
            ApprovalAsked: ("waiting",),
            AttemptQueued: ("ready",),
            FactsAsked: ("ready",),
            FactsFound: ("ready",),
            JoinAsked: ("ready",),
            JoinEnded: ("ready",),
            StepEnded: ("ended",),
        },
        "ready",
    ),
    ("leaf", "working"): _row(
        {
            AttemptTaken: ("working",),
            AttemptGuided: ("working",),
            ToolAsked: ("working",),
            AttemptEnded: ("answered",),
            AttemptDoubted: ("answered",),
            AttemptLost: ("working",),
        },
        "working",
    ),
    ("leaf", "answered"): _row(
        {
            AttemptQueued: ("ready",),
            RetryScheduled: ("paused",),
            JoinQueued: ("answered",),
            StepEnded: ("ended",),
        },
        "answered",
    ),
    ("leaf", "paused"): _row({TimerFired: ("ready",), StepEnded: ("ended",)}, "paused"),
    ("leaf", "waiting"): _row(
        {
            TimerFired: ("answered", "waiting"),
            ApprovalGiven: ("answered", "waiting"),
            WaitEnded: ("answered",),
            SignalReceived: ("answered",),
            StepEnded: ("ended",),
        },
        "waiting",
    ),
    ("scope", "ready"): _row(
        {
            StepExpanded: ("open",),
            FactsAsked: ("ready",),
            FactsFound: ("ready",),
            JoinAsked: ("ready",),
            JoinEnded: ("ready",),
            StepEnded: ("ended",),
        },
        "ready",
    ),
    ("scope", "open"): _row(
        {
            FactsAsked: ("open",),
            FactsFound: ("open",),
            JoinQueued: ("open",),
            JoinAsked: ("open",),
            JoinEnded: ("open",),
            JumpOrdered: ("open",),
            JumpAsked: ("open",),
            StepReopened: ("open",),
            TimerFired: ("open",),
            StepEnded: ("ended",),
        },
        "open",
    ),
}


def _rows(kind: Kind) -> Mapping[Phase, Row]:
    return {phase: TABLE.get((kind, phase), {}) for phase in get_args(Phase)}


_LEAF: Final = _rows("leaf")
_SCOPE: Final = _rows("scope")


def phases_after(instance: Instance, event: InstanceEvent) -> tuple[Phase, ...]:
    """The phases that this event may lead to; raises IllegalEvent if it is not allowed."""
    rows = _LEAF if isinstance(instance, Leaf) else _SCOPE
    phases = rows[instance.phase].get(type(event))
    if phases is None:
        raise IllegalEvent(
            f"{type(event).__name__} cannot happen to {event.path!r}, which is {instance.phase}"
        )
    return phases
