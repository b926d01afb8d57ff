"""What a living process must do, after the events that asked for it are safely stored.

An effect is a part of the state: asked for, no outcome yet. Its key says what it is about, so that only the answer
to exactly this question ends it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from podium.core.events import (
    ApprovalAsked,
    AttemptStarted,
    CancelOrdered,
    Event,
    FactsAsked,
    JoinAsked,
    RetryScheduled,
    StepExpanded,
    TimerFired,
    WaitStarted,
)
from podium.core.fast_dataclass import dataclass
from podium.core.types import Millis, Path

EffectKind: TypeAlias = Literal["attempt", "timer", "person", "wait", "fact", "join"]
EffectKey: TypeAlias = tuple[EffectKind, Path]


@dataclass(frozen=True, slots=True)
class RunAttempt:
    """Ends with AttemptEnded or AttemptDoubted."""

    asked: AttemptStarted
    by_hand: bool = False
    """A person does the work: no process is needed meanwhile, so the run may be parked."""


@dataclass(frozen=True, slots=True)
class CancelAttempt:
    """Replaces the RunAttempt; ends with the AttemptEnded by which the worker confirms its death."""

    asked: AttemptStarted
    by_hand: bool = False


@dataclass(frozen=True, slots=True)
class StartTimer:
    path: Path
    due: Millis


@dataclass(frozen=True, slots=True)
class AskPerson:
    asked: ApprovalAsked


@dataclass(frozen=True, slots=True)
class Watch:
    """Look out for what a `wait` step waits for; ends with WaitEnded, SignalReceived or its timer."""

    asked: WaitStarted


@dataclass(frozen=True, slots=True)
class FindFact:
    asked: FactsAsked


@dataclass(frozen=True, slots=True)
class JoinTrees:
    asked: JoinAsked


Effect: TypeAlias = RunAttempt | CancelAttempt | StartTimer | AskPerson | Watch | FindFact | JoinTrees

IN_FLIGHT: Final = (RunAttempt, CancelAttempt)
"""The effects of an attempt that has not ended."""


_KIND_OF: Final[Mapping[type[Event], EffectKind]] = {
    AttemptStarted: "attempt",
    CancelOrdered: "attempt",
    RetryScheduled: "timer",
    StepExpanded: "timer",
    WaitStarted: "wait",
    ApprovalAsked: "person",
    # A reminder or an escalation: the question is still open and is put again. Any other timer has ended its effect.
    TimerFired: "person",
    FactsAsked: "fact",
    JoinAsked: "join",
}


def key_of(event: Event) -> EffectKey | None:
    """Under which key an event may have put an effect; None for events that are no intents."""
    kind = _KIND_OF.get(type(event))
    return None if kind is None else (kind, event.path)  # type: ignore[union-attr]  # intents all have a path
