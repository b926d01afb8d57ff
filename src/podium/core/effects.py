"""The work that the engine must do after it has stored the events that requested it.

An effect is part of the state while it has no outcome. Its key identifies the request, so that only the matching
report ends it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, assert_never

from podium.core.events import (
    ApprovalAsked,
    AttemptLost,
    AttemptStarted,
    CancelOrdered,
    Event,
    FactsAsked,
    JoinAsked,
    RetryScheduled,
    StepExpanded,
    StepReopened,
    TimerFired,
    WaitStarted,
)
from podium.core.types import Address, Millis
from podium.fast_dataclass import dataclass

EffectKind: TypeAlias = Literal["attempt", "timer", "retry", "person", "wait", "fact", "join"]
EffectKey: TypeAlias = tuple[EffectKind, Address]


@dataclass(frozen=True, slots=True)
class RunAttempt:
    """Ends with AttemptEnded or AttemptDoubted."""

    started: AttemptStarted
    by_hand: bool = False
    """A person does the work; no process is needed until they finish, so the run may be parked."""


@dataclass(frozen=True, slots=True)
class CancelAttempt:
    """Replaces the RunAttempt. Ends with the AttemptEnded that confirms that the worker is gone."""

    started: AttemptStarted
    by_hand: bool = False


@dataclass(frozen=True, slots=True)
class StartTimer:
    """The pause of a leaf, the deadline of a block ("timer"), or the pause before another attempt of a block ("retry")."""

    path: Address
    due: Millis
    kind: Literal["timer", "retry"] = "timer"


@dataclass(frozen=True, slots=True)
class AskPerson:
    request: ApprovalAsked


@dataclass(frozen=True, slots=True)
class Watch:
    """Watch for what a `wait` step waits for. Ends with WaitEnded, SignalReceived or the step's timer."""

    wait: WaitStarted


@dataclass(frozen=True, slots=True)
class FindFact:
    query: FactsAsked


@dataclass(frozen=True, slots=True)
class JoinTrees:
    join: JoinAsked


Effect: TypeAlias = RunAttempt | CancelAttempt | StartTimer | AskPerson | Watch | FindFact | JoinTrees

IN_FLIGHT: Final = (RunAttempt, CancelAttempt)
"""The effects of an attempt that has not ended."""


def effect_key(effect: Effect) -> EffectKey:
    match effect:
        case RunAttempt(started=started) | CancelAttempt(started=started):
            return "attempt", started.path
        case Watch(wait=wait):
            return "wait", wait.path
        case FindFact(query=query):
            return "fact", query.path
        case JoinTrees(join=join):
            return "join", join.path
        case AskPerson(request=request):
            return "person", request.path
        case StartTimer():
            return effect.kind, effect.path
        case _:
            assert_never(effect)


_KIND_OF: Final[Mapping[type[Event], EffectKind]] = {
    AttemptStarted: "attempt",
    AttemptLost: "attempt",
    CancelOrdered: "attempt",
    RetryScheduled: "timer",
    StepExpanded: "timer",
    StepReopened: "retry",
    WaitStarted: "wait",
    ApprovalAsked: "person",
    # A reminder or an escalation asks the open question again. Any other timer has already ended its effect.
    TimerFired: "person",
    FactsAsked: "fact",
    JoinAsked: "join",
}


def key_of(event: Event) -> EffectKey | None:
    """The key of the effect that an event may have requested; None if this kind of event requests none."""
    kind = _KIND_OF.get(type(event))
    return None if kind is None else (kind, event.path)  # type: ignore[union-attr]  # all of these have a path
