"""The steps of a run in the order they ended, from its events alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, assert_never

from podium.core import events
from podium.core.events import Event
from podium.core.types import Address, MicroUsd, Millis, Outcome, RunStatus
from podium.fast_dataclass import dataclass
from podium.views.run.charges import Charge, ChargeReader

_Ignored: TypeAlias = (
    events.RunStarted
    | events.RunPaused
    | events.RunResumed
    | events.RunRecovered
    | events.AttemptLost
    | events.CancelAsked
    | events.GuidanceGiven
    | events.NoteLeft
    | events.LimitRaised
    | events.StepExpanded
    | events.StepReopened
    | events.AttemptQueued
    | events.AttemptStarted
    | events.AttemptTaken
    | events.AttemptGuided
    | events.ToolAsked
    | events.AttemptDoubted
    | events.RetryScheduled
    | events.WaitStarted
    | events.WaitEnded
    | events.SignalReceived
    | events.TimerFired
    | events.ApprovalGiven
    | events.FactsAsked
    | events.FactsFound
    | events.JoinQueued
    | events.JoinAsked
    | events.JoinEnded
    | events.JumpOrdered
    | events.JumpAsked
    | events.CancelOrdered
)
"""Events that say nothing about the end of a step."""


@dataclass(frozen=True, slots=True)
class TracedStep:
    path: Address
    role: str
    visit: int
    outcome: Outcome
    reason: str
    attempts: int
    started: Millis
    ended: Millis
    usd: MicroUsd
    degraded: bool
    message: str


@dataclass(frozen=True, slots=True)
class Trace:
    """The steps of a run in the order they ended; `status` is None until the run has ended."""

    steps: tuple[TracedStep, ...]
    status: RunStatus | None
    exit: int | None
    reason: str
    message: str
    usd: MicroUsd
    tokens: int
    calls: int
    unknown_calls: int
    started: Millis
    ended: Millis
    continues: bool = False
    """Whether a new run continues it."""
    waited: Millis = Millis(0)
    """How long at least one question waited for a person."""


def trace(log: Iterable[Event]) -> Trace:
    entered: dict[Address, events.StepEntered] = {}
    attempts: dict[Address, int] = {}
    costs: dict[Address, int] = {}
    steps: list[TracedStep] = []
    charges, reader = list[Charge](), ChargeReader()
    first = last = None
    end: events.RunEnded | None = None
    open_questions: dict[Address, Millis] = {}
    answered: list[tuple[Millis, Millis]] = []
    for event in log:
        first = event.at if first is None else first
        last = event.at
        charges += (new := reader.take(event))
        for charge in new:
            costs[charge.path] = costs.get(charge.path, 0) + charge.used.usd
        match event:
            case events.StepEntered():
                entered[event.path] = event
            case events.AttemptEnded():
                attempts[event.path] = event.attempt
            case events.ApprovalAsked():
                open_questions[event.path] = event.at
            case events.StepEnded(path=path):
                if path in open_questions:
                    answered.append((open_questions.pop(path), event.at))
                if path in entered:
                    steps.append(_step(event, entered[path], attempts.get(path, 0), costs.get(path, 0)))
            case events.RunEnded():
                end = event
            case _ if isinstance(event, _Ignored):
                pass
            case _:
                assert_never(event)
    return Trace(
        steps=tuple(steps),
        status=None if end is None else end.status,
        exit=None if end is None else end.exit,
        reason="" if end is None else end.reason,
        message="" if end is None else end.message,
        usd=MicroUsd(sum(charge.used.usd for charge in charges)),
        tokens=sum(charge.used.tokens for charge in charges),
        calls=sum(charge.used.calls for charge in charges),
        unknown_calls=sum(charge.unknown_calls for charge in charges),
        started=first if first is not None else Millis(0),
        ended=last if last is not None else Millis(0),
        continues=end is not None and bool(end.continued_by),
        waited=_covered([*answered, *((since, last or since) for since in open_questions.values())]),
    )


def _covered(spans: list[tuple[Millis, Millis]]) -> Millis:
    """How much time these spans cover together."""
    covered, reached = 0, 0
    for start, end in sorted(spans):
        covered += max(0, end - max(start, reached))
        reached = max(reached, end)
    return Millis(covered)


def _step(event: events.StepEnded, entry: events.StepEntered, attempts: int, usd: int) -> TracedStep:
    return TracedStep(
        path=event.path,
        role=entry.role,
        visit=entry.visit,
        outcome=event.outcome,
        reason=event.reason,
        attempts=attempts,
        started=entry.at,
        ended=event.at,
        usd=MicroUsd(usd),
        degraded=event.degraded,
        message=event.message,
    )
