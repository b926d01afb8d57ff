"""A bound of the worst case for large limits, which takes the same time whatever the number of transitions.

Give every transition a price. A path that uses at most t of them costs no more than t times the price plus its surplus,
which is its cost minus the price of the transitions it really uses. The highest surplus of all paths needs no table:
parts add up, and a loop adds nothing unless a round costs more than its transitions. So each price gives a bound, and
the lowest of these bounds is at most a little above the exact worst case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from podium.core.model import Block, Call, Step, Workflow
from podium.core.policy import Limits
from podium.core.queries.graph import targets_of
from podium.fast_dataclass import replace
from podium.simulate.forecast.case_analysis import (
    AttemptCost,
    ForecastScope,
    MakeCost,
    Rounds,
    call_limit,
    cost_of_call,
    scope_of_run,
    weights_of_tries,
)
from podium.simulate.forecast.cost_tables import Table
from podium.simulate.forecast.paths import charged_after, exits_of_block, split_into_parts
from podium.simulate.forecast.priced_sequence import IMPOSSIBLE, INFINITE, StepGroup, Surplus
from podium.simulate.forecast.worst_case import TABLES, Node, closing_node
from podium.simulate.loop_lists import all_steps

EXACT_TRANSITIONS: Final = 250
"""Up to this limit, tables of the exact worst case are computed."""
SCALE: Final = 2**20
"""Costs are multiplied by this, so that prices between two whole costs can be tried."""
HIGHEST_PRICE: Final = 10**30
"""With charges, a part that people may repeat gains at any price; without them, none does at this one."""


class Terms(NamedTuple):
    price: int
    """The price of a transition; even, so that half of it is exact."""
    charges: tuple[int, ...]
    """What a visit beyond the free ones may be charged, in halves of a transition; the lowest result applies."""


SurplusAt: TypeAlias = Callable[[Terms], Surplus]

NO_CHARGE: Final = 0
ALL_CHARGES: Final = (NO_CHARGE, 1, 2)


def _no_cost(_terms: Terms) -> Surplus:
    return Surplus(0, 0)


class PricedBound(NamedTuple):
    most: int
    without_limit: int | None
    """What a run uses at most without a limit on transitions; None if nothing else bounds it."""


def priced_bound(
    workflow: Workflow, inputs: Mapping[str, Any], attempt_cost: AttemptCost, transitions: int
) -> PricedBound:
    """An upper bound of what a run with so many transitions uses. Raises Unbounded."""
    place = scope_of_run(workflow, inputs, attempt_cost, 0)
    surplus_at = cost_of_call(_PRICES, place, Step(workflow.name, Call(workflow)))

    def bound_at(half: int, charges: tuple[int, ...]) -> int:
        return 2 * half * transitions + surplus_at(Terms(2 * half, charges)).either

    # With one kind of charge, the bound first falls and then rises with the price.
    charges = ALL_CHARGES if _leads_back(workflow) else (NO_CHARGE,)
    halves = [_lowest_point(partial(bound_at, charges=(charge,))) for charge in charges]
    unlimited = bound_at(0, (NO_CHARGE,))
    lowest = min(unlimited, *(bound_at(half, ALL_CHARGES) for half in halves))
    return PricedBound(lowest // SCALE, None if _is_infinite(unlimited) else unlimited // SCALE)


def _leads_back(workflow: Workflow) -> bool:
    """Whether a step may be visited more than once, so that charges matter."""
    steps = list(all_steps(workflow))
    advised = any(isinstance(step.verb, Call) and step.verb.workflow.advisor for step in steps)
    return bool(
        workflow.advisor
        or advised
        or any(target.kind == "step" for step in steps for _, target in targets_of(step))
    )


def _lowest_point(bound_at: Callable[[int], int]) -> int:
    return _first_number(lambda number: not _falls(bound_at, number))


def _falls(bound_at: Callable[[int], int], number: int) -> bool:
    value = bound_at(number)
    return _is_infinite(value) or bound_at(number + 1) < value


def _is_infinite(value: int) -> bool:
    """Sums with infinite parts are not exactly infinite."""
    return value > INFINITE // 2


def _first_number(holds_at: Callable[[int], bool]) -> int:
    """The lowest number from which on this holds, or a very high one if there is none."""
    low, high = 0, SCALE
    while not holds_at(high):
        if high > HIGHEST_PRICE:
            return high
        low, high = high, 16 * high
    while low < high:
        middle = (low + high) // 2
        if holds_at(middle):
            high = middle
        else:
            low = middle + 1
    return low


class _Prices:
    """The cost model of prices: the cost of a part is its surplus at any price. What costs nothing is `_no_cost`."""

    def never_entered(self, _place: ForecastScope, _step: Step) -> SurplusAt:
        return _constant(Surplus(0, IMPOSSIBLE))

    def limited(self, place: ForecastScope, step: Step, limits: Limits, make: MakeCost) -> SurplusAt:
        """A limit on transitions inside is small enough for exact tables, or it is ignored, which is still a bound."""
        if limits.transitions is not None and limits.transitions <= EXACT_TRANSITIONS:
            inside = replace(place, size=1 + limits.transitions)
            return _of_tables(TABLES.limited(inside, step, limits, make))
        surplus_at, max_calls = make(self, place, step), call_limit(place, limits)
        if max_calls is None:
            return surplus_at
        most = max_calls * SCALE

        def at(terms: Terms) -> Surplus:
            good, bad = surplus_at(terms)
            return Surplus(min(good, most), min(bad, most))

        return at

    def leaf(
        self, place: ForecastScope, step: Step, gate: SurplusAt | None, tries: Callable[[], int]
    ) -> SurplusAt:
        retry, gate_at = step.retry, gate or _no_cost
        if gate_at is _no_cost and not retry.upgrade and not place.attempt_cost(step, place.at):
            return _no_cost
        number = tries()
        weights, attempts = (
            weights_of_tries(place, step, number),
            SCALE * (1 + retry.transient + retry.repair),
        )
        all_tries = weights.all_tries * attempts + SCALE * weights.fallback
        may_ask = place.workflow.breaker.retries is not None

        def at(terms: Terms) -> Surplus:
            judged = gate_at(terms).either
            once = weights.granted * attempts + judged
            total = all_tries + number * judged
            if retry.on_exhausted == "human":
                total += _repeated(once, terms.price)
            elif may_ask:
                total += max(0, once - terms.price)
            return Surplus(total, total)

        return at

    def together(self, _place: ForecastScope, _step: Step, parts: tuple[SurplusAt, ...]) -> SurplusAt:
        costly = [part for part in parts if part is not _no_cost]

        def at(terms: Terms) -> Surplus:
            total = sum(part(terms).either for part in costly)
            return Surplus(total, total)

        return at if costly else _no_cost

    def team(
        self, _place: ForecastScope, _step: Step, leaf: SurplusAt, message: SurplusAt, most: int
    ) -> SurplusAt:
        def at(terms: Terms) -> Surplus:
            total = leaf(terms).either + most * message(terms).either
            return Surplus(total, total)

        return at

    def items(self, _place: ForecastScope, _step: Step, body: SurplusAt, width: int) -> SurplusAt:
        def at(terms: Terms) -> Surplus:
            total = width * body(terms).either
            return Surplus(total, total)

        return _no_cost if body is _no_cost else at

    def rounds(self, _place: ForecastScope, _step: Step, body: SurplusAt, rounds: Rounds) -> SurplusAt:
        further = max(0, rounds.most - 1)

        def at(terms: Terms) -> Surplus:
            inside = body(terms)
            earlier = max(0, further * (inside.good - terms.price))
            if rounds.asks:
                earlier += _repeated(inside.good, 2 * terms.price)
            good = max(inside.good + earlier, 0 if rounds.may_do_nothing else IMPOSSIBLE)
            return Surplus(good, max(good, inside.either + earlier))

        return _no_cost if body is _no_cost else at

    def sequence(
        self, place: ForecastScope, _step: Step, block: Block, parts: tuple[SurplusAt, ...]
    ) -> SurplusAt:
        exits = exits_of_block(block, has_advisor=place.has_advisor, shielded=place.shielded)
        breaker, entry = place.workflow.breaker, place.entry_price
        groups = [
            (steps, {i: free for i in steps if (free := charged_after(block.steps[i], breaker)) is not None})
            for steps in reversed(split_into_parts(exits))
        ]

        def at(terms: Terms) -> Surplus:
            own = [part(terms) for part in parts]
            values: dict[tuple[int, int], int] = {}
            for steps, free in groups:
                group = StepGroup(steps, exits, own, entry, terms.price, values)
                values.update(group.lowest(free, terms.charges))
            entered = entry * terms.price
            return Surplus(values[0, 0] - entered, max(0, values[0, 1] - entered))

        return at

    def entered(
        self, place: ForecastScope, _step: Step, parts: tuple[SurplusAt, ...], *, repeats: bool
    ) -> SurplusAt:
        costly = [part for part in parts if part is not _no_cost]

        def at(terms: Terms) -> Surplus:
            values = [part(terms).either for part in costly]
            total = sum(max(0, value - place.entry_price * terms.price) for value in values)
            if repeats:
                total += _repeated(max(values), terms.price)
            return Surplus(total, total)

        return at if costly else _no_cost

    def workflow(
        self, place: ForecastScope, _step: Step, body: SurplusAt, advice: SurplusAt | None
    ) -> SurplusAt:
        last = closing_node(place)
        closing = 0 if last is None else SCALE * last.either[-1]
        asking = 0 if advice is None else _advice_price(advice)

        def at(terms: Terms) -> Surplus:
            if terms.price < asking:
                return Surplus(INFINITE, INFINITE)
            good, bad = body(terms._replace(price=terms.price - asking))
            return Surplus(good + closing, bad + closing)

        return at

    def retried(
        self,
        _place: ForecastScope,
        _step: Step,
        body: SurplusAt,
        gate: SurplusAt | None,
        tries: int,
        *,
        asks: bool,
    ) -> SurplusAt:
        gate_at = gate or _no_cost
        if gate_at is _no_cost and (body is _no_cost or (tries == 1 and not asks)):
            return body

        def at(terms: Terms) -> Surplus:
            inside, judged = body(terms), gate_at(terms).either
            once = inside.either + judged
            before = judged + (tries - 1) * once + (_repeated(once, terms.price) if asks else 0)
            return Surplus(inside.good + before, inside.either + before)

        return at


_PRICES: Final = _Prices()


def _of_tables(exact: Node) -> SurplusAt:
    def at(terms: Terms) -> Surplus:
        return Surplus(_highest(exact.good, terms.price), _highest(exact.bad, terms.price))

    return at


def _highest(table: Table, price: int) -> int:
    return max(
        (SCALE * value - price * t if value >= 0 else IMPOSSIBLE for t, value in enumerate(table)),
        default=IMPOSSIBLE,
    )


def _constant(surplus: Surplus) -> SurplusAt:
    return lambda _terms: surplus


def _repeated(once: int, price: int) -> int:
    """A part that is repeated as long as that adds to the surplus."""
    return INFINITE if once > price else 0


def _advice_price(advice_at: SurplusAt) -> int:
    """The lowest even price at which another question to the advisor adds nothing."""
    return 2 * _first_number(lambda half: advice_at(Terms(2 * half, ALL_CHARGES)).either <= 2 * half)
