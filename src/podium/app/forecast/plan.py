"""What a workflow can use before anything runs: calls, tokens, money and time, from the best to the worst case."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Final, Literal, NamedTuple, get_args

from podium.app.forecast.simulate import assumed
from podium.app.run.cost_history import History, Use, fitting
from podium.core.addresses import ADVICE, FINALLY, child, without_numbers
from podium.core.model import Agent, Call, Step, Workflow
from podium.core.state import Leaf, State
from podium.core.types import Address
from podium.errors import ConfigurationError
from podium.simulate.forecast.best_case import best_case
from podium.simulate.forecast.priced_bound import EXACT_TRANSITIONS
from podium.simulate.forecast.upper_bound import UpperBound, upper_bound
from podium.simulate.forecast.witness import witness, witness_lines
from podium.simulate.forecast.worst_case import AttemptCost, KnownAtRunTime, Unbounded, calls, worst_case
from podium.simulate.loop_lists import all_steps
from podium.simulate.random_world import RandomWorld
from podium.simulate.run import simulate
from podium.views.format import dollars
from podium.workflow.defaults import ESTIMATE

RUNS: Final = 60
"""So many simulated runs tell what is likely."""
CALL_TIME: Final = 60_000
"""What a call takes if nothing else is known."""
From = Literal["cap", "history", "declared", "default"]
Unit = Literal["calls", "tokens", "usd", "time"]
UNITS: Final[tuple[Unit, ...]] = get_args(Unit)


class Price(NamedTuple):
    """What one call of an agent uses: least, likely and most, and where that comes from."""

    tokens: tuple[int, int, int]
    usd: tuple[int, int, int]
    time: tuple[int, int, int]
    source: From
    attempts: int = 0
    """The number of earlier calls behind it."""


class Range(NamedTuple):
    least: int
    likely: int
    most: int | None
    """None: nothing bounds it."""
    cut: str = ""
    """The limit that bounds the worst case."""


@dataclass(frozen=True, slots=True)
class Plan:
    workflow: str
    ranges: Mapping[Unit, Range]
    way: tuple[str, ...]
    """The path that causes the worst case, with repetitions grouped."""
    prices: Mapping[str, Price]
    """By the address of the step, without numbers."""
    refusals: tuple[str, ...] = ()


def plan(workflow: Workflow, values: Mapping[str, Any], history: History | None = None) -> Plan:
    inputs = assumed(workflow, values)
    prices: dict[str, Price] = {}
    price = _pricing(workflow, history, prices)
    weights = {unit: _weights(unit, price) for unit in UNITS}
    lowest = {unit: best_case(workflow, inputs, weigh[0]) for unit, weigh in weights.items()}
    likely = _likely(workflow, inputs, {unit: weigh[1] for unit, weigh in weights.items()})
    bounds = {unit: _bound(workflow, inputs, weigh[2]) for unit, weigh in weights.items()}
    ranges: dict[Unit, Range] = {}
    for unit in weights:
        most, cut = _highest(unit, bounds[unit], getattr(workflow.limits, unit))
        ceiling = most if most is not None else max(lowest[unit], likely[unit])
        ranges[unit] = Range(min(lowest[unit], ceiling), min(likely[unit], ceiling), most, cut)
    refusals = _refusals(workflow, inputs, history, bounds["calls"])
    return Plan(workflow.name, ranges, _longest_path(workflow, inputs, bounds["calls"]), prices, refusals)


def _pricing(
    workflow: Workflow, history: History | None, prices: dict[str, Price]
) -> Callable[[Step, Address], Price]:
    """What a call of a step is expected to use, looked up once, by the same history that a run reserves by."""
    uses = fitting(workflow, history or {})

    def price(step: Step, at: Address) -> Price:
        if at not in prices:
            prices[at] = _price(step, uses.get(at, ()))
        return prices[at]

    return price


def _bound(
    workflow: Workflow, inputs: Mapping[str, Any], attempt_cost: AttemptCost
) -> UpperBound | Unbounded:
    try:
        return upper_bound(workflow, inputs, attempt_cost)
    except Unbounded as error:
        return error


def _refusals(
    workflow: Workflow, inputs: Mapping[str, Any], history: History | None, most_calls: UpperBound | Unbounded
) -> tuple[str, ...]:
    """Why a run would be pointless: its cheapest path exceeds a limit, or nothing bounds its width."""
    limits = workflow.limits
    reasons = []
    fewest = best_case(workflow, inputs, _in_the_main_part(calls))
    if limits.calls is not None and fewest > limits.calls:
        reasons.append(
            f"even the shortest way takes {fewest} agent calls, and limits.calls is {limits.calls}"
        )
    prices: dict[str, Price] = {}
    weigh = _weights("usd", _pricing(workflow, history, prices))[0]
    cheapest = best_case(workflow, inputs, _in_the_main_part(weigh))
    if limits.usd is not None and cheapest > limits.usd:
        past = any(price.source == "history" for price in prices.values())
        reasons.append(
            f"even the cheapest way costs {dollars(cheapest)} "
            f"{'as earlier runs did' if past else 'as `estimate` declares'}, and limits.usd is {dollars(limits.usd)}"
        )
    if isinstance(most_calls, Unbounded) and not isinstance(most_calls, KnownAtRunTime):
        reasons.append(f'"{most_calls.step}": {most_calls.what}')
    return tuple(reasons)


def _in_the_main_part(weigh: AttemptCost) -> AttemptCost:
    """Without the agents of `finally`: a run passes without them, and what cannot be paid there is skipped."""

    def weigh_step(step: Step, at: Address) -> int:
        return 0 if FINALLY in at.split("/") else weigh(step, at)

    return weigh_step


def check_plan(workflow: Workflow, values: Mapping[str, Any], history: History | None = None) -> int | None:
    """The calls of the worst case, or None if only the run can tell; raises ConfigurationError for a pointless run."""
    inputs = assumed(workflow, values)
    most_calls = _bound(workflow, inputs, calls)
    reasons = _refusals(workflow, inputs, history, most_calls)
    if reasons:
        lines = "\n".join(f"  {line}" for line in reasons)
        raise ConfigurationError(
            f"{workflow.name} would be stopped by its limits before it can pass:\n{lines}",
            hint="raise the limit, or see `podium plan FILE`",
        )
    return most_calls.most if isinstance(most_calls, UpperBound) else None


def _price(step: Step, past: Sequence[Use]) -> Price:
    """Cost and tokens may have different sources: a call without a known price may still have counted its tokens."""
    assert isinstance(step.verb, Agent)
    estimate, timeout = step.verb.estimate, step.timeout or CALL_TIME
    # A default estimate says nothing about the minimum; a declared cost says nothing about tokens.
    is_default = estimate.usd == ESTIMATE.usd
    tokens = _spread([use.tokens for use in past if use.tokens is not None])
    usd = _spread([use.usd for use in past if use.usd is not None])
    time = _spread([use.time for use in past])
    source: From = "default" if is_default else "declared"
    attempts = 0
    if estimate.cap is not None:
        usd, source = _capped(usd, estimate.cap), "cap"
    elif usd is not None:
        source, attempts = "history", sum(use.usd is not None for use in past)
    return Price(
        tokens or (estimate.tokens * (estimate.tokens != ESTIMATE.tokens), estimate.tokens, estimate.tokens),
        usd or (estimate.usd * (not is_default), estimate.usd, estimate.usd),
        time or (0, min(CALL_TIME, timeout), timeout),
        source,
        attempts,
    )


def _spread(values: Sequence[int]) -> tuple[int, int, int] | None:
    return (min(values), int(median(values)), max(values)) if values else None


def _capped(usd: tuple[int, int, int] | None, cap: int) -> tuple[int, int, int]:
    return (0, cap, cap) if usd is None else (min(usd[0], cap), min(usd[1], cap), cap)


def _weights(unit: str, price: Any) -> tuple[AttemptCost, AttemptCost, AttemptCost]:
    if unit == "calls":
        return calls, calls, calls

    def weigh(place: int) -> AttemptCost:
        def weigh_step(step: Step, at: Address) -> int:
            if calls(step):
                return int(getattr(price(step, at), unit)[place])
            return (
                (step.timeout or 0) * (place == 2)
                if unit == "time" and not isinstance(step.verb, Agent)
                else 0
            )

        return weigh_step

    return weigh(0), weigh(1), weigh(2)


def _likely(
    workflow: Workflow, inputs: Mapping[str, Any], weights: Mapping[Unit, AttemptCost]
) -> dict[Unit, int]:
    """The median of many random runs."""
    sums: dict[Unit, list[int]] = {unit: [] for unit in weights}
    for seed in range(RUNS):
        run = simulate(workflow, RandomWorld(seed), inputs=inputs)
        worked = (i for i in run.state.instances.values() if isinstance(i, Leaf) and i.attempt)
        leaves = [(leaf, _address(run.state, leaf)) for leaf in worked]
        for unit, weigh in weights.items():
            sums[unit].append(sum(i.attempt * weigh(i.place.step, at) for i, at in leaves))
    return {unit: int(median(values)) for unit, values in sums.items()}


def _address(state: State, leaf: Leaf) -> Address:
    """Without numbers; the advisor of a workflow has one address, wherever it is asked."""
    place = leaf.place
    if place.role != "advice":
        return without_numbers(place.path)
    while not isinstance(place.step.verb, Call):
        place = state.instances[place.parent].place
    return child(without_numbers(place.path), ADVICE)


def _highest(unit: Unit, bound: UpperBound | Unbounded, limit: int | None) -> tuple[int | None, str]:
    """The worst case, and the limit that bounds it; None if nothing does."""
    if isinstance(bound, Unbounded):
        return limit, "" if limit is None else f"limits.{unit}"
    # Calls have been cut already, as far as their limit holds for all of them.
    if limit is not None and (bound.most == limit if unit == "calls" else bound.most >= limit):
        return limit, f"limits.{unit}"
    return bound.most, "limits.transitions" if bound.grows else ""


def _longest_path(
    workflow: Workflow, inputs: Mapping[str, Any], most_calls: UpperBound | Unbounded
) -> tuple[str, ...]:
    """The path with the most calls. Where a large limit leaves room for further rounds, only its start."""
    if isinstance(most_calls, Unbounded):
        return ()
    limit, number_of_steps = workflow.limits.transitions, sum(1 for _ in all_steps(workflow))
    shown = max(EXACT_TRANSITIONS, 2 * number_of_steps)
    if limit is None or limit <= shown:
        return witness_lines(witness(worst_case(workflow, inputs, calls)))
    start = replace(workflow, limits=replace(workflow.limits, transitions=shown))
    lines = witness_lines(witness(worst_case(start, inputs, calls)))
    more = f"... after {shown} of {limit} transitions, the same goes on"
    return (*lines, more) if most_calls.grows else lines
