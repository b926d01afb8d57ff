"""Every attempt of a run, from its events: who worked when, at what cost, on which trees, and how it ended."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias, assert_never

from podium.core import events
from podium.core.events import Event
from podium.core.types import Address, MicroUsd, Millis, Tree
from podium.views.run.charges import Charge, ChargeReader, worker_of

_Ignored: TypeAlias = (
    events.RunStarted
    | events.RunPaused
    | events.RunResumed
    | events.CancelAsked
    | events.GuidanceGiven
    | events.NoteLeft
    | events.LimitRaised
    | events.StepEntered
    | events.StepExpanded
    | events.StepReopened
    | events.StepEnded
    | events.AttemptQueued
    | events.AttemptTaken
    | events.AttemptGuided
    | events.ToolAsked
    | events.RetryScheduled
    | events.WaitStarted
    | events.WaitEnded
    | events.SignalReceived
    | events.TimerFired
    | events.ApprovalAsked
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
"""Events that say nothing about an attempt."""

LOST = "lost"
"""How an attempt ended whose end was never reported."""


class AttemptView(NamedTuple):
    """`kind` is empty while the attempt works, `lost` if a crash or the end of the run interrupted it."""

    path: Address
    number: int
    started: Millis
    ended: Millis | None = None
    kind: str = ""
    reason: str = ""
    worker: str = ""
    """The agent and its model; empty for a command."""
    usd: MicroUsd = MicroUsd(0)
    tokens: int = 0
    calls: int = 0
    unknown_calls: int = 0
    """Calls whose cost is unknown, which is not zero."""
    base: Tree | None = None
    tree: Tree | None = None
    message: str = ""
    reused: str = ""

    @property
    def passed(self) -> bool:
        return self.kind == "ok"


def outcome_of(attempt: AttemptView) -> str:
    """How an attempt ended, in the words of outcomes."""
    return "passed" if attempt.passed else attempt.kind or "working"


def attempts_of(log: Iterable[Event], *, left: bool = False) -> tuple[AttemptView, ...]:
    """In the order in which they started. `left`: no process drives the run, so what was working is lost."""
    attempts: dict[tuple[Address, int], AttemptView] = {}
    working: dict[Address, tuple[Address, int]] = {}
    reader, at = ChargeReader(), Millis(0)
    for event in log:
        at = event.at
        charges = reader.take(event)
        match event:
            case events.AttemptStarted():
                key = (event.path, event.attempt)
                attempts[key] = AttemptView(
                    event.path, event.attempt, event.at, base=event.start or event.base
                )
                working[event.path] = key
            case events.AttemptEnded():
                key = (event.path, event.attempt)
                working.pop(event.path, None)
                if key in attempts:
                    attempts[key] = _ended(attempts[key], event)
            case events.AttemptDoubted() | events.AttemptLost():
                _lose(attempts, working, (event.path,), event.at)
            case events.RunRecovered():
                _lose(attempts, working, event.lost, event.at)
            case events.RunEnded():
                _lose(attempts, working, tuple(working), event.at)
            case _ if isinstance(event, _Ignored):
                pass
            case _:
                assert_never(event)
        _charge(attempts, charges)
    if left:
        _charge(attempts, reader.leave(at))
        _lose(attempts, working, tuple(working), at)
    return tuple(attempts.values())


def _charge(attempts: dict[tuple[Address, int], AttemptView], charges: Iterable[Charge]) -> None:
    for charge in charges:
        key = (charge.path, charge.attempt)
        attempt, used = attempts[key], charge.used
        attempts[key] = attempt._replace(
            usd=MicroUsd(attempt.usd + used.usd),
            tokens=attempt.tokens + used.tokens,
            calls=attempt.calls + used.calls,
            unknown_calls=attempt.unknown_calls + charge.unknown_calls,
        )


def _ended(attempt: AttemptView, event: events.AttemptEnded) -> AttemptView:
    message = (event.result or {}).get("message")
    return attempt._replace(
        ended=event.at,
        kind=event.kind,
        reason=event.reason,
        worker=worker_of(event.result),
        tree=event.tree,
        message=message if isinstance(message, str) else "",
        reused=event.reused,
    )


def _lose(
    attempts: dict[tuple[Address, int], AttemptView],
    working: dict[Address, tuple[Address, int]],
    paths: Iterable[Address],
    at: Millis,
) -> None:
    for path in paths:
        key = working.pop(path, None)
        if key is not None:
            attempts[key] = attempts[key]._replace(ended=at, kind=LOST)
