"""Accounts for money, tokens, calls and time: reserves before a dispatch and settles after it, in a chain of ledgers.

The run, each step with `limits`, and `finally` have a ledger. A step's spending counts in its own ledger and in every
enclosing one, so a sub-workflow has its own limits and shares those of its caller. `finally` has its own time and
transitions, because it must be able to run when those of the run are used up.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from podium.core.events import AttemptEnded, AttemptStarted
from podium.core.model import Block, Call, ForEach, Repeat
from podium.core.payloads import Amounts, CarriedSpend, unknown_calls
from podium.core.policy import NO_RESERVE, Limits
from podium.core.state import Ledger, Placement, State
from podium.core.step_settings import ChildRun
from podium.core.types import Address, MicroUsd, Millis, Role, Unit
from podium.fast_dataclass import replacer

NOTHING: Final = Amounts()
_counted: Final = replacer(Ledger, "transitions")


def new_ledger(path: Address, parent: Address | None, limits: Limits, past: CarriedSpend | None) -> Ledger:
    """A new ledger that starts with what an earlier run used at the same address."""
    if past is None:
        return Ledger(path, parent, limits)
    return Ledger(path, parent, limits, past.spent, unknown=Amounts(past.unknown), worked=past.time)


def chain(state: State, path: Address) -> list[Ledger]:
    """The ledger at `path` and all enclosing ones, innermost first."""
    ledger = state.ledgers[path]
    ledgers = [ledger]
    while ledger.parent is not None:
        ledger = state.ledgers[ledger.parent]
        ledgers.append(ledger)
    return ledgers


def timed_ledgers(ledgers: list[Ledger]) -> list[Ledger]:
    """The part of a chain in which time and transitions count: all of it, or up to the ledger of `finally`."""
    if len(ledgers) > 1:
        for length, ledger in enumerate(ledgers, start=1):
            if ledger.is_finally:
                return ledgers[:length]
    return ledgers


def shortfall(state: State, path: Address, reserve: Amounts) -> tuple[Ledger, Unit] | None:
    """The innermost ledger that cannot cover this reservation, and the unit it lacks."""
    ledgers = chain(state, path)
    timed = len(timed_ledgers(ledgers))
    is_finally = False
    for level, ledger in enumerate(ledgers):
        limits = ledger.limits if is_finally else without_reserve(ledger.limits)
        unit = _short_unit(ledger, limits, reserve, state.at if level < timed else None)
        if unit is not None:
            return ledger, unit
        is_finally = ledger.is_finally
    return None


def without_reserve(limits: Limits) -> Limits:
    """The limits that hold outside `finally`."""
    reserve = limits.finally_
    if reserve is NO_RESERVE or reserve == NO_RESERVE:
        return limits
    return replace(
        limits,
        usd=None if limits.usd is None else MicroUsd(limits.usd - reserve.usd),
        tokens=None if limits.tokens is None else limits.tokens - reserve.tokens,
        calls=None if limits.calls is None else limits.calls - reserve.calls,
    )


def _short_unit(ledger: Ledger, limits: Limits, reserve: Amounts, at: Millis | None) -> Unit | None:
    used = NOTHING if limits.usd is limits.tokens is limits.calls is None else total(ledger)
    if limits.usd is not None and reserve.usd and used.usd + reserve.usd > limits.usd:
        return "usd"
    if limits.tokens is not None and reserve.tokens and used.tokens + reserve.tokens > limits.tokens:
        return "tokens"
    if limits.calls is not None and reserve.calls and used.calls + reserve.calls > limits.calls:
        return "calls"
    if at is None:
        return None
    if limits.window is not None and reserve.calls and ledger.window >= limits.window:
        return "window"
    if limits.time is not None and working_time(ledger, at) >= limits.time:
        return "time"
    return None


def total(ledger: Ledger) -> Amounts:
    """What counts against the limits: spent, reserved and unknown amounts together."""
    spent, reserved, unknown = ledger.spent, ledger.reserved, ledger.unknown
    return Amounts(
        MicroUsd(spent.usd + reserved.usd + unknown.usd),
        spent.tokens + reserved.tokens + unknown.tokens,
        spent.calls + reserved.calls + unknown.calls,
    )


def what_is_left(state: State, path: Address, own: ChildRun) -> Amounts:
    """What every ledger of the chain has left, within these limits; at least 1 of what is limited, so that nothing left is too little."""
    rest = {"usd": own.usd, "tokens": own.tokens, "calls": own.calls}
    is_finally = False
    for ledger in chain(state, path):
        limits, used = ledger.limits if is_finally else without_reserve(ledger.limits), total(ledger)
        for unit, most in rest.items():
            limit = getattr(limits, unit)
            if limit is not None:
                left = max(1, limit - getattr(used, unit))
                rest[unit] = left if most is None else min(most, left)
        is_finally = ledger.is_finally
    return Amounts(MicroUsd(rest["usd"] or 0), rest["tokens"] or 0, rest["calls"] or 0)


def working_time(ledger: Ledger, at: Millis) -> Millis:
    """The time with at least one attempt in flight; waiting for people, quotas or signals does not count."""
    return Millis(ledger.worked + (at - ledger.since if ledger.busy else 0))


def time_left(state: State, path: Address) -> Millis | None:
    """How long an attempt may run before it reaches a limit on working time."""
    least: Millis | None = None
    for ledger in timed_ledgers(chain(state, path)):
        if ledger.limits.time is not None:
            remaining = Millis(ledger.limits.time - working_time(ledger, state.at))
            least = remaining if least is None else min(least, remaining)
    return least


def out_of_time(state: State, path: Address) -> Ledger | None:
    """The outermost ledger without any working time left; no scope inside it may route what that ends."""
    exhausted = None
    for ledger in timed_ledgers(chain(state, path)):
        if ledger.limits.time is not None and working_time(ledger, state.at) >= ledger.limits.time:
            exhausted = ledger
    return exhausted


def exhausted_transitions(state: State, path: Address) -> Ledger | None:
    """The innermost ledger without any transitions left."""
    for ledger in timed_ledgers(chain(state, path)):
        if ledger.limits.transitions is not None and ledger.transitions >= ledger.limits.transitions:
            return ledger
    return None


def counts_as_transition(role: Role, parent: Placement, *, index: int, visit: int) -> bool:
    """Whether an entry counts as a transition.

    Only moves that could repeat without end count: moves in a block, further rounds, and questions that allow one
    more. The number of members and iterations is bounded anyway, and gates are bounded by their step.
    """
    if role != "step":
        return role in ("question", "advice")
    match parent.step.verb:
        case Block() | Call():
            return visit > 1 or not parent.in_for_each
        case Repeat():
            return index > 0
        case ForEach():
            return visit > 1
        case _:
            return False


def count_transition(draft: State, path: Address) -> None:
    for ledger in timed_ledgers(chain(draft, path)):
        draft.ledgers.put(ledger.path, _counted(ledger, transitions=ledger.transitions + 1))


def count_messages(draft: State, path: Address, count: int) -> None:
    for ledger in chain(draft, path):
        draft.ledgers.put(ledger.path, ledger._replace(messages=ledger.messages + count))


def exhausted_messages(state: State, path: Address, more: int = 0) -> Ledger | None:
    """The innermost ledger with more messages than it allows, if `more` are added."""
    for ledger in chain(state, path):
        limit = ledger.limits.messages
        if limit is not None and ledger.messages + more > limit:
            return ledger
    return None


def reserve_amounts(draft: State, place: Placement, event: AttemptStarted, *, timed: bool) -> None:
    """Reserve the amounts of an attempt. `timed` is False for a person's work, which is not working time."""
    ledgers = chain(draft, place.ledger)
    working = len(timed_ledgers(ledgers)) if timed else 0
    for level, ledger in enumerate(ledgers):
        draft.ledgers.put(
            ledger.path,
            ledger._replace(
                reserved=_plus(ledger.reserved, event.reserve),
                since=ledger.since if ledger.busy else event.at,
                busy=ledger.busy + (level < working),
            ),
        )


def settle(draft: State, place: Placement, reserve: Amounts, event: AttemptEnded, *, timed: bool) -> None:
    """Release the reservation and book what was used; without a reported price, keep the reservation as unknown."""
    used = event.used
    keeps_reservation = not event.cost_known and _books_unknown_cost(draft)
    unknown = Amounts(MicroUsd(max(0, reserve.usd - used.usd))) if keeps_reservation else NOTHING
    ledgers = chain(draft, place.ledger)
    working = len(timed_ledgers(ledgers)) if timed else 0
    for level, ledger in enumerate(ledgers):
        was_timed = level < working
        busy = ledger.busy - was_timed
        draft.ledgers.put(
            ledger.path,
            ledger._replace(
                reserved=_minus(ledger.reserved, reserve),
                spent=_plus(ledger.spent, used),
                unknown=_plus(ledger.unknown, unknown),
                unknown_calls=ledger.unknown_calls + unknown_calls(event.used, cost_known=event.cost_known),
                window=max(ledger.window, event.window or 0),
                busy=busy,
                worked=Millis(ledger.worked + (event.at - ledger.since if was_timed and not busy else 0)),
            ),
        )


def book_lost_call(draft: State, place: Placement, reserve: Amounts) -> None:
    """Book an interrupted call with everything that was reserved for it."""
    usd = reserve.usd if _books_unknown_cost(draft) else MicroUsd(0)
    for ledger in chain(draft, place.ledger):
        unknown = _plus(ledger.unknown, Amounts(usd, reserve.tokens, reserve.calls))
        lost_calls = ledger.unknown_calls + reserve.calls
        draft.ledgers.put(ledger.path, ledger._replace(unknown=unknown, unknown_calls=lost_calls))


def cancelled_attempt(started: AttemptStarted, at: Millis) -> AttemptEnded:
    """The end of an attempt that was stopped: the call of an agent was made, but what it used will never be known."""
    calls = started.reserve.calls
    used = Amounts(calls=calls)
    return AttemptEnded(at, started.path, started.attempt, "cancelled", used=used, cost_known=not calls)


def _books_unknown_cost(state: State) -> bool:
    """Whether the reservation of a call without a price stays booked; with `count_tokens` it does not."""
    run = state.root.verb
    assert isinstance(run, Call)
    return run.workflow.unknown_cost != "count_tokens"


def exclude_downtime(draft: State, at: Millis) -> None:
    """Exclude the time between the last event before a crash and the recovery from the working time."""
    for path, ledger in tuple(draft.ledgers.items()):
        if ledger.busy:
            worked = Millis(ledger.worked + max(0, draft.at - ledger.since))
            draft.ledgers.put(path, ledger._replace(worked=worked, since=at))


def _plus(a: Amounts, b: Amounts) -> Amounts:
    if not (b.usd or b.tokens or b.calls):
        return a
    return Amounts(MicroUsd(a.usd + b.usd), a.tokens + b.tokens, a.calls + b.calls)


def _minus(a: Amounts, b: Amounts) -> Amounts:
    if not (b.usd or b.tokens or b.calls):
        return a
    return Amounts(MicroUsd(a.usd - b.usd), a.tokens - b.tokens, a.calls - b.calls)
