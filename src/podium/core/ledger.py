"""Money, tokens, calls and time: reserve before a dispatch, settle after it, over the whole chain of ledgers.

A ledger belongs to the run, to a step with `limits`, or to `finally`. A step's spending counts in its own ledger
and in every one around it, so a sub-workflow owns limits and shares those of its caller. Time and transitions of
clean-up are its own: it has to be possible when those of the run are used up.
"""

from __future__ import annotations

from typing import Final

from podium.core.events import AttemptEnded, AttemptStarted, Role
from podium.core.model import Block, Call, ForEach, Repeat
from podium.core.payloads import Amounts, CarriedSpend
from podium.core.policy import Limits
from podium.core.state import Ledger, Placement, State
from podium.core.types import MicroUsd, Millis, Path, Unit

NOTHING: Final = Amounts()


def opened(path: Path, parent: Path | None, limits: Limits, past: CarriedSpend | None) -> Ledger:
    """A ledger as it begins: with what an earlier run has used in this place."""
    if past is None:
        return Ledger(path, parent, limits)
    return Ledger(path, parent, limits, past.spent, unknown=Amounts(past.unknown), worked=past.time)


def chain(state: State, path: Path) -> list[Ledger]:
    """The ledger at `path` and those around it, innermost first."""
    book = state.ledgers[path]
    found = [book]
    while book.parent is not None:
        book = state.ledgers[book.parent]
        found.append(book)
    return found


def moving(books: list[Ledger]) -> list[Ledger]:
    """Those of a chain in which time and transitions count: all, or up to that of `finally`."""
    if len(books) > 1:
        for place, book in enumerate(books, start=1):
            if book.cleans:
                return books[:place]
    return books


def poor_in(state: State, path: Path, reserve: Amounts) -> tuple[Ledger, Unit] | None:
    """The innermost ledger that cannot bear this reservation, and in which unit."""
    books = chain(state, path)
    timed = len(moving(books))
    for place, ledger in enumerate(books):
        unit = _short(ledger, reserve, state.at if place < timed else None)
        if unit is not None:
            return ledger, unit
    return None


def _short(ledger: Ledger, reserve: Amounts, at: Millis | None) -> Unit | None:
    limits = ledger.limits
    taken = NOTHING if limits.usd is limits.tokens is limits.calls is None else total(ledger)
    if limits.usd is not None and reserve.usd and taken.usd + reserve.usd > limits.usd:
        return "usd"
    if limits.tokens is not None and reserve.tokens and taken.tokens + reserve.tokens > limits.tokens:
        return "tokens"
    if limits.calls is not None and reserve.calls and taken.calls + reserve.calls > limits.calls:
        return "calls"
    if at is None:
        return None
    if limits.window is not None and reserve.calls and ledger.window >= limits.window:
        return "window"
    if limits.time is not None and working_time(ledger, at) >= limits.time:
        return "time"
    return None


def total(ledger: Ledger) -> Amounts:
    """What counts against the limits: spent, held and unknown together."""
    spent, held, unknown = ledger.spent, ledger.held, ledger.unknown
    return Amounts(
        MicroUsd(spent.usd + held.usd + unknown.usd),
        spent.tokens + held.tokens + unknown.tokens,
        spent.calls + held.calls + unknown.calls,
    )


def working_time(ledger: Ledger, at: Millis) -> Millis:
    """Wall time with at least one attempt in flight; waiting for people, quota or signals does not count."""
    return Millis(ledger.worked + (at - ledger.since if ledger.busy else 0))


def time_left(state: State, path: Path) -> Millis | None:
    """How long an attempt may take before a limit on working time is reached."""
    least: Millis | None = None
    for ledger in moving(chain(state, path)):
        if ledger.limits.time is not None:
            left = Millis(ledger.limits.time - working_time(ledger, state.at))
            least = left if least is None else min(least, left)
    return least


def exhausted_transitions(state: State, path: Path) -> Ledger | None:
    """The innermost ledger that has no transitions left."""
    for ledger in moving(chain(state, path)):
        if ledger.limits.transitions is not None and ledger.transitions >= ledger.limits.transitions:
            return ledger
    return None


def is_counted(role: Role, parent: Placement, *, index: int, visit: int) -> bool:
    """Whether an entry is a transition.

    Members and iterations are bounded by their width, gates by their step; what could go on for ever are moves of
    control in a block, further rounds, and the questions that allow one more.
    """
    if role != "step":
        return role in ("question", "advice")
    match parent.step.verb:
        case Block() | Call():
            return visit > 1 or not parent.fanned
        case Repeat():
            return index > 0
        case ForEach():
            return visit > 1
        case _:
            return False


def count_transition(draft: State, path: Path) -> None:
    for ledger in moving(chain(draft, path)):
        draft.ledgers.put(ledger.path, ledger._replace(transitions=ledger.transitions + 1))


def hold(draft: State, place: Placement, event: AttemptStarted, *, timed: bool) -> None:
    """`timed` is False for a person's work, which costs no working time."""
    books = chain(draft, place.ledger)
    working = len(moving(books)) if timed else 0
    for level, ledger in enumerate(books):
        draft.ledgers.put(
            ledger.path,
            ledger._replace(
                held=_plus(ledger.held, event.reserve),
                since=ledger.since if ledger.busy else event.at,
                busy=ledger.busy + (level < working),
            ),
        )


def settle(draft: State, place: Placement, reserve: Amounts, event: AttemptEnded, *, timed: bool) -> None:
    """Give the reservation back and book what was used, or keep it as unknown where no price was told."""
    used = event.used
    kept = not event.cost_known and _keeps_unknown(draft)
    unknown = Amounts(MicroUsd(max(0, reserve.usd - used.usd))) if kept else NOTHING
    books = chain(draft, place.ledger)
    working = len(moving(books)) if timed else 0
    for level, ledger in enumerate(books):
        less = level < working
        busy = ledger.busy - less
        draft.ledgers.put(
            ledger.path,
            ledger._replace(
                held=_minus(ledger.held, reserve),
                spent=_plus(ledger.spent, used),
                unknown=_plus(ledger.unknown, unknown),
                window=max(ledger.window, event.window or 0),
                busy=busy,
                worked=Millis(ledger.worked + (event.at - ledger.since if less and not busy else 0)),
            ),
        )


def lose(draft: State, place: Placement, reserve: Amounts) -> None:
    """Book a call that nobody will hear of any more with all that was reserved for it."""
    usd = reserve.usd if _keeps_unknown(draft) else MicroUsd(0)
    for book in chain(draft, place.ledger):
        unknown = _plus(book.unknown, Amounts(usd, reserve.tokens, reserve.calls))
        draft.ledgers.put(book.path, book._replace(unknown=unknown))


def _keeps_unknown(state: State) -> bool:
    """With `count_tokens` only tokens and calls bind what has no price; else its reservation stays booked."""
    run = state.root.verb
    assert isinstance(run, Call)
    return run.workflow.unknown_cost != "count_tokens"


def forget_downtime(draft: State, at: Millis) -> None:
    """After a crash: the time since the last event was nobody's work."""
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
