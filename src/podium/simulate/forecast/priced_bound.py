"""A bound of the worst case for large limits, which takes the same time whatever the number of transitions.

Give every transition a price. A path that uses at most t of them costs no more than t times the price plus its surplus,
which is its cost minus the price of the transitions it really uses. The highest surplus of all paths needs no table:
parts add up, and a loop adds nothing unless a round costs more than its transitions. So each price gives a bound, and
the lowest of these bounds is at most a little above the exact worst case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias, assert_never

from podium.core.addresses import ADVICE, child, gates
from podium.core.model import (
    Agent,
    Block,
    Call,
    Check,
    ForEach,
    Gates,
    Human,
    Members,
    Repeat,
    Review,
    Set,
    Step,
    Wait,
    Workflow,
)
from podium.core.policy import NO_LIMITS, Limits
from podium.core.queries.graph import WORK
from podium.core.queries.routes import targets_of
from podium.simulate.forecast.cost_tables import Table
from podium.simulate.forecast.paths import charged_after, exits_of_block, split_into_parts
from podium.simulate.forecast.priced_sequence import IMPOSSIBLE, INFINITE, StepGroup, Surplus
from podium.simulate.forecast.static_values import holds, values_in_call
from podium.simulate.forecast.worst_case import (
    AttemptCost,
    ForecastScope,
    Node,
    call_node,
    calls,
    closing_node,
    item_limit,
    scope_of_run,
    times,
)
from podium.simulate.forecast.worst_case import node as exact_node
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
    surplus_at = _call(scope_of_run(workflow, inputs, attempt_cost, 0), Step(workflow.name, Call(workflow)))

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


def _node(scope: ForecastScope, step: Step) -> SurplusAt:
    if step.when is not None and holds(step.when, scope.values) is False:
        return _constant(Surplus(0, IMPOSSIBLE))
    return _with_limits(scope, step.limits, step, _unlimited_node, exact_node)


def _with_limits(
    scope: ForecastScope,
    limits: Limits,
    step: Step,
    make: Callable[[ForecastScope, Step], SurplusAt],
    make_exact: Callable[[ForecastScope, Step], Node],
) -> SurplusAt:
    """A limit on transitions inside is small enough for exact tables, or it is ignored, which is still a bound."""
    if limits.transitions is not None and limits.transitions <= EXACT_TRANSITIONS:
        return _of_tables(make_exact(replace(scope, size=1 + limits.transitions), step))
    if limits.members is not None:
        scope = replace(scope, members=min(limits.members, scope.members or limits.members))
    surplus_at = make(scope, step)
    if limits.calls is None or scope.attempt_cost is not calls:
        return surplus_at
    most = limits.calls * SCALE

    def at(terms: Terms) -> Surplus:
        good, bad = surplus_at(terms)
        return Surplus(min(good, most), min(bad, most))

    return at


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


def _unlimited_node(scope: ForecastScope, step: Step) -> SurplusAt:
    verb = step.verb
    match verb:
        case Block():
            return _with_retries(scope, step, _block(scope, verb))
        case Members() | Review() | Gates():
            return _with_retries(scope, step, _all([_child(scope, member) for member in verb.members]))
        case ForEach():
            return _with_retries(scope, step, _for_each(scope, step, verb))
        case Repeat():
            return _with_retries(scope, step, _rounds(scope, step, verb))
        case Call():
            return _with_retries(scope, step, _call(scope, step))
        case Check() | Set() | Human() | Wait():
            return _no_cost
        case _ if isinstance(verb, WORK):
            return _leaf(scope, step)
        case _:
            assert_never(verb)


def _child(scope: ForecastScope, step: Step) -> SurplusAt:
    return _node(replace(scope, at=child(scope.at, step.name)), step)


def _gates(scope: ForecastScope, step: Step) -> SurplusAt:
    return _no_cost if step.gates is None else _node(replace(scope, at=gates(scope.at)), step.gates)


def _leaf(scope: ForecastScope, step: Step) -> SurplusAt:
    retry, weight = step.retry, SCALE * scope.attempt_cost(step, scope.at)
    gates_at = _gates(scope, step)
    if not weight and gates_at is _no_cost:
        return _no_cost
    single = weight * (1 + retry.transient + retry.repair)
    fallback = weight * len(step.verb.fallback) if isinstance(step.verb, Agent) else 0
    tries = times(scope, step, retry.attempts) + len(retry.degrade)
    may_ask = scope.workflow.breaker.retries is not None

    def at(terms: Terms) -> Surplus:
        once = single + gates_at(terms).either
        total = tries * once + fallback
        if retry.on_exhausted == "human":
            total += _repeated(once, terms.price)
        elif may_ask:
            total += max(0, once - terms.price)
        return Surplus(total, total)

    return at


def _repeated(once: int, price: int) -> int:
    """A part that is repeated as long as that adds to the surplus."""
    return INFINITE if once > price else 0


def _all(parts: Sequence[SurplusAt]) -> SurplusAt:
    costly = [part for part in parts if part is not _no_cost]
    if not costly:
        return _no_cost

    def at(terms: Terms) -> Surplus:
        total = sum(part(terms).either for part in costly)
        return Surplus(total, total)

    return at


def _for_each(scope: ForecastScope, step: Step, verb: ForEach) -> SurplusAt:
    width = item_limit(scope, step, verb)
    body = _node(replace(scope, in_for_each=True), verb.body)

    def at(terms: Terms) -> Surplus:
        total = width * body(terms).either
        return Surplus(total, total)

    return _no_cost if body is _no_cost else at


def _rounds(scope: ForecastScope, step: Step, verb: Repeat) -> SurplusAt:
    body = _node(scope, verb.body)
    further = max(0, times(scope, step, verb.max) - 1)
    may_do_nothing = verb.kind == "while" or not times(scope, step, verb.max)

    def at(terms: Terms) -> Surplus:
        inside = body(terms)
        earlier = max(0, further * (inside.good - terms.price))
        if verb.on_exhausted == "human":
            # Both the question and the round that it allows are transitions.
            earlier += _repeated(inside.good, 2 * terms.price)
        good = max(inside.good + earlier, 0 if may_do_nothing else IMPOSSIBLE)
        return Surplus(good, max(good, inside.either + earlier))

    return _no_cost if body is _no_cost else at


def _call(scope: ForecastScope, step: Step) -> SurplusAt:
    verb = step.verb
    assert isinstance(verb, Call)
    inner = replace(scope, workflow=verb.workflow)
    if verb.workflow is not scope.workflow:
        inner = replace(inner, values=values_in_call(verb, scope.values))
    limits = verb.workflow.limits if step.limits == NO_LIMITS else NO_LIMITS
    return _with_limits(inner, limits, step, _workflow, call_node)


def _workflow(scope: ForecastScope, _step: Step) -> SurplusAt:
    workflow = scope.workflow
    body = _block(scope, workflow.body)
    last = closing_node(scope)
    closing = 0 if last is None else SCALE * last.either[-1]
    advice = 0 if workflow.advisor is None else _advice_price(scope, workflow.advisor)

    def at(terms: Terms) -> Surplus:
        if terms.price < advice:
            return Surplus(INFINITE, INFINITE)
        # The same transition pays for the question and for what it allows.
        good, bad = body(terms._replace(price=terms.price - advice))
        return Surplus(good + closing, bad + closing)

    return at


def _advice_price(scope: ForecastScope, advisor: Step) -> int:
    """The lowest even price at which another question to the advisor adds nothing."""
    advice_at = _node(replace(scope, at=child(scope.at, ADVICE)), advisor)
    return 2 * _first_number(lambda half: advice_at(Terms(2 * half, ALL_CHARGES)).either <= 2 * half)


def _block(scope: ForecastScope, block: Block) -> SurplusAt:
    parts = [_child(scope, step) for step in block.steps]
    entry = 0 if scope.in_for_each else 1
    if block.kind == "seq":
        return _sequence(scope, block, parts, entry)
    costly = [part for part in parts if part is not _no_cost]
    back = any(target.kind == "step" for step in block.steps for _, target in targets_of(step))
    repeats = block.kind == "dag" and (back or scope.workflow.advisor is not None)

    def at(terms: Terms) -> Surplus:
        values = [part(terms).either for part in costly]
        total = sum(max(0, value - entry * terms.price) for value in values)
        if repeats:
            total += _repeated(max(values), terms.price)
        return Surplus(total, total)

    return at if costly else _no_cost


def _with_retries(scope: ForecastScope, step: Step, body: SurplusAt) -> SurplusAt:
    judges = isinstance(step.verb, Review | Gates)
    tries = 1 if judges else times(scope, step, step.retry.attempts)
    asks = step.retry.stated and step.retry.on_exhausted == "human" and not judges
    gates_at = _gates(scope, step)
    if gates_at is _no_cost and (body is _no_cost or (tries == 1 and not asks)):
        return body

    def at(terms: Terms) -> Surplus:
        inside, judged = body(terms), gates_at(terms).either
        once = inside.either + judged
        before = judged + (tries - 1) * once + (_repeated(once, terms.price) if asks else 0)
        return Surplus(inside.good + before, inside.either + before)

    return at


def _sequence(scope: ForecastScope, block: Block, parts: Sequence[SurplusAt], entry: int) -> SurplusAt:
    exits = exits_of_block(block, has_advisor=scope.workflow.advisor is not None, shielded=scope.shielded)
    breaker = scope.workflow.breaker
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
