"""The cost of each call of a run, event by event. Every view of costs reads it, so that all views agree (R208).

Rule: a call whose end was never reported was made, and its cost is unknown, which is not zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from podium.core import events
from podium.core.events import Event
from podium.core.payloads import Amounts, unknown_calls
from podium.core.types import Address, MicroUsd, Millis

if TYPE_CHECKING:
    from podium.views.run.view import StepView

CHARGING: Final = frozenset(
    ("AttemptStarted", "AttemptEnded", "AttemptDoubted", "AttemptLost", "RunRecovered", "RunEnded")
)
"""The types of the events that a reader of charges needs."""
NO_NAME: Final = "-"
"""The agent of a call that was lost, since only its end would have named it."""
NO_RESULT: Final[Mapping[str, Any]] = {}


def worker_of(result: Mapping[str, Any] | None) -> str:
    """The agent that gave this result, with its model; empty for other steps."""
    fields = result or NO_RESULT
    return " ".join(str(fields[key]) for key in ("agent", "model") if fields.get(key))


def new_worker(step: StepView | None, event: events.AttemptEnded) -> dict[str, Any]:
    """The change of a step's view if another agent or model made this attempt than the one before."""
    worker = worker_of(event.result)
    if step is None or not worker or worker in [name for _, name in step.workers[-1:]]:
        return {}
    return {"workers": (*step.workers, (event.attempt, worker))}


class Charge(NamedTuple):
    """The cost of one attempt; `used.usd` excludes the unknown calls, `used.calls` includes them."""

    at: Millis
    path: Address
    attempt: int
    used: Amounts
    unknown_calls: int = 0
    result: Mapping[str, Any] = NO_RESULT
    """The result of the attempt, with its agent; empty if the call was lost."""

    @property
    def simulated(self) -> bool:
        """Whether a script or a recording answered, so that nothing was really spent."""
        return bool(self.result.get("simulated"))


class ChargeReader:
    """Feed it the events of one run in order."""

    def __init__(self) -> None:
        self._in_flight: dict[Address, events.AttemptStarted] = {}

    def copy(self) -> ChargeReader:
        """One that has been fed the same events."""
        twin = ChargeReader()
        twin._in_flight = dict(self._in_flight)
        return twin

    def take(self, event: Event) -> tuple[Charge, ...]:
        """The charges that an event adds; reused results and commands cost nothing."""
        match event:
            case events.StepEntered() | events.StepEnded():
                pass  # First, because most events are these.
            case events.AttemptStarted():
                self._in_flight[event.path] = event
            case events.AttemptEnded():
                self._in_flight.pop(event.path, None)
                return _charges_of(event)
            case events.AttemptDoubted():
                return self._lost((event.path,), event.at, ends=True)
            case events.AttemptLost():
                return self._lost((event.path,), event.at, ends=False)
            case events.RunRecovered():
                # The attempts are made again, so they stay in flight.
                return self._lost(event.lost, event.at, ends=False)
            case events.RunEnded():
                # Only a run that was abandoned ends with attempts in flight.
                return self._lost(tuple(self._in_flight), event.at, ends=True)
            case _:
                pass
        return ()

    def leave(self, at: Millis) -> tuple[Charge, ...]:
        """The charges of the calls in flight, if no process drives the run any more."""
        return self._lost(tuple(self._in_flight), at, ends=True)

    def is_in_flight(self) -> bool:
        return bool(self._in_flight)

    def _lost(self, paths: tuple[Address, ...], at: Millis, *, ends: bool) -> tuple[Charge, ...]:
        started = [self._in_flight[path] for path in paths if path in self._in_flight]
        for path in paths if ends else ():
            self._in_flight.pop(path, None)
        return tuple(
            Charge(at, one.path, one.attempt, Amounts(calls=one.reserve.calls), one.reserve.calls)
            for one in started
            if one.reserve.calls
        )


def _charges_of(event: events.AttemptEnded) -> tuple[Charge, ...]:
    used, unknown = event.used, unknown_calls(event.used, cost_known=event.cost_known)
    if event.reused or not (used.usd or used.tokens or used.calls or unknown):
        return ()
    return (Charge(event.at, event.path, event.attempt, used, unknown, event.result or NO_RESULT),)


def charged(step: StepView, charge: Charge) -> StepView:
    """The view of a step with what a call of it, or of a step inside it, cost."""
    used = charge.used
    return step._replace(
        usd=MicroUsd(step.usd + used.usd),
        tokens=step.tokens + used.tokens,
        calls=step.calls + used.calls,
        unknown_calls=step.unknown_calls + charge.unknown_calls,
    )
