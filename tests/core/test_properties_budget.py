"""No limit is overspent, over random workflows, costs, parallelism and crashes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from podium.app.run.preflight import agent_steps
from podium.core.addresses import without_numbers
from podium.core.events import AttemptDoubted, AttemptEnded, AttemptStarted, Event, RunRecovered
from podium.core.payloads import Amounts, TypicalUse
from podium.core.state import State
from podium.core.types import Address, MicroUsd
from podium.simulate.world import DelayedReport
from tests.core.bias import Bias
from tests.core.driver import Run, drive, drive_to_end, resume
from tests.core.oracles_limits import books
from tests.core.run_log import RunLog
from tests.core.strategies import Case, cases
from tests.core.worlds import Wild

TIGHT = replace(Bias(), tight=0.8, inner_limits=0.4, wide_top=0.6)
UNITS = ("usd", "tokens", "calls")


class Greedy(Wild):
    """A world in which calls use up to `greed` times their reservation."""

    def __init__(self, case: Case, greed: float) -> None:
        super().__init__(case.seed, case.odds)
        self._greed = greed

    def attempt(self, asked: AttemptStarted, state: State) -> DelayedReport:
        later = super().attempt(asked, state)
        assert isinstance(later.message, AttemptEnded)
        share = self._greed * self._draw(f"{asked.path}#{asked.attempt}", "greed")
        reserve = asked.reserve
        used = Amounts(MicroUsd(int(reserve.usd * share)), int(reserve.tokens * share), reserve.calls)
        return replace(later, message=replace(later.message, used=used))


class Habitual(Greedy):
    """A world in which calls of a step's own agent never use more than its typical use."""

    def __init__(self, case: Case, usual: tuple[TypicalUse, ...]) -> None:
        super().__init__(case, 1.0)
        self._usual = {one.step: one for one in usual}

    def attempt(self, asked: AttemptStarted, state: State) -> DelayedReport:
        later = super().attempt(asked, state)
        past = self._usual.get(without_numbers(asked.path))
        if past is None or asked.agent or not asked.reserve.calls:
            return later
        assert isinstance(later.message, AttemptEnded)
        share = self._draw(f"{asked.path}#{asked.attempt}", "habit")
        usd, tokens = MicroUsd(int((past.usd or 0) * share)), int((past.tokens or 0) * share)
        return replace(later, message=replace(later.message, used=Amounts(usd, tokens, 1)))


def habits(case: Case, scale: float) -> tuple[TypicalUse, ...]:
    """A history in which calls used `scale` times their declared estimate."""
    return tuple(
        TypicalUse(at, MicroUsd(int(verb.estimate.usd * scale) + 1), int(verb.estimate.tokens * scale) + 1)
        for at, verb, _ in agent_steps(case.workflow)
    )


def overspent(run_log: RunLog) -> int:
    """The total by which limits were exceeded; each by no more than calls in flight used beyond their reservation.

    An interrupted call may have used everything that was reserved for it.
    """
    spent: dict[tuple[Address, str], int] = defaultdict(int)
    beyond: dict[tuple[Address, str], int] = defaultdict(int)
    reserves: dict[Address, Amounts] = {}
    total = 0
    for event in run_log.log:
        for path, used in _used(event, reserves):
            for key, limit in _limits(run_log, path):
                reserved, one = getattr(reserves[path], key[1]), getattr(used, key[1])
                spent[key] += one
                beyond[key] += max(0, one - reserved)
                if limit is not None and spent[key] > limit:
                    assert spent[key] - limit <= beyond[key], f"{key[1]} of {key[0]!r} at {path}"
                    total += spent[key] - limit
        if isinstance(event, AttemptStarted):
            reserves[event.path] = event.reserve
            for key, _ in _limits(run_log, event.path):
                beyond[key] = 0 if getattr(event.reserve, key[1]) else beyond[key]
    return total


def _used(event: Event, reserves: dict[Address, Amounts]) -> list[tuple[Address, Amounts]]:
    match event:
        case AttemptEnded():
            return [(event.path, event.used)]
        case AttemptDoubted():
            return [(event.path, reserves[event.path])]
        case RunRecovered():
            return [(path, reserves[path]) for path in event.lost]
        case _:
            return []


def _limits(run_log: RunLog, path: Address) -> list[tuple[tuple[Address, str], int | None]]:
    return [
        ((book.path, unit), getattr(book.limits, unit)) for book in books(run_log, path) for unit in UNITS
    ]


def _crashed(case: Case, run: Run, world: Wild, cut: float) -> Run:
    log = run.log[: max(1, int(len(run.log) * cut))]
    return drive_to_end(resume(case.workflow, log, world), world)


@given(
    cases(TIGHT),
    st.sampled_from((0.5, 1.0, 1.5, 4.0)),
    st.lists(st.floats(0.05, 1), max_size=2),
)
def test_no_limit_is_exceeded_by_more_than_calls_used_beyond_their_reservation(
    case: Case, greed: float, cuts: list[float]
) -> None:
    """X2 R130: and not at all if agents stay within their reservation."""
    world = Greedy(case, greed)
    run = drive(case.workflow, world)
    for cut in cuts:
        run = _crashed(case, run, world, cut)

    excess = overspent(RunLog(case.workflow, run.log))

    assert run.state.ended is not None
    assert greed > 1 or excess == 0


@given(cases(TIGHT), st.sampled_from((0.0, 0.5, 3.0, 20.0)), st.lists(st.floats(0.05, 1), max_size=2))
def test_nothing_is_overspent_if_calls_stay_within_their_typical_use(
    case: Case, scale: float, cuts: list[float]
) -> None:
    """X2: the reservation comes from the history, whatever the file declares."""
    usual = habits(case, scale)
    world = Habitual(case, usual)
    run = drive(case.workflow, world, usual=usual)
    for cut in cuts:
        run = _crashed(case, run, world, cut)

    assert run.state.ended is not None
    assert overspent(RunLog(case.workflow, run.log)) == 0
