"""Checks before a run starts what its limits allow: the calls of the worst case, and whether it can pass at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from podium.app.run.cost_history import History, Use, fitting
from podium.app.values import as_foreseen, assumed
from podium.core.addresses import FINALLY
from podium.core.ledger import without_reserve
from podium.core.model import Agent, Step, Workflow
from podium.core.types import Address
from podium.errors import ConfigurationError
from podium.simulate.forecast.best_case import best_case
from podium.simulate.forecast.case_analysis import AttemptCost, KnownAtRunTime, Unbounded, calls
from podium.simulate.forecast.upper_bound import UpperBound, upper_bound
from podium.simulate.random_world import PastUse
from podium.views.format import dollars
from podium.workflow.defaults import ESTIMATE

CALL_TIME: Final = 60_000
"""What a call takes if nothing else is known."""
From = Literal["cap", "history", "declared", "default"]


class Price(NamedTuple):
    """What one call of an agent uses: least, likely and most, and where that comes from."""

    tokens: tuple[int, int, int]
    usd: tuple[int, int, int]
    time: tuple[int, int, int]
    source: From
    attempts: int = 0
    """The number of earlier calls behind it."""


def check_plan(workflow: Workflow, values: Mapping[str, Any], history: History | None = None) -> int | None:
    """The calls of the worst case, or None if only the run can tell; raises ConfigurationError for a pointless run."""
    workflow, inputs = as_foreseen(workflow, values), assumed(workflow, values)
    most_calls = bound_of(workflow, inputs, calls)
    reasons = refusals_of(workflow, inputs, history, most_calls)
    if reasons:
        lines = "\n".join(f"  {line}" for line in reasons)
        raise ConfigurationError(
            f"{workflow.name} would be stopped by its limits before it can pass:\n{lines}",
            hint="raise the limit, or see `podium plan FILE`",
        )
    return most_calls.most if isinstance(most_calls, UpperBound) else None


def bound_of(
    workflow: Workflow, inputs: Mapping[str, Any], attempt_cost: AttemptCost
) -> UpperBound | Unbounded:
    try:
        return upper_bound(workflow, inputs, attempt_cost)
    except Unbounded as error:
        return error


def refusals_of(
    workflow: Workflow, inputs: Mapping[str, Any], history: History | None, most_calls: UpperBound | Unbounded
) -> tuple[str, ...]:
    """Why a run would be pointless: its cheapest path exceeds a limit, or nothing bounds its width."""
    limits = without_reserve(workflow.limits)
    reasons = []
    fewest = 0 if limits.calls is None else best_case(workflow, inputs, _in_the_main_part(calls))
    if limits.calls is not None and fewest > limits.calls:
        reasons.append(
            f"even the shortest way takes {fewest} agent calls, and limits.calls is {limits.calls}"
        )
    prices: dict[str, Price] = {}
    weigh = weights_of("usd", pricing(workflow, history, prices))[0]
    cheapest = 0 if limits.usd is None else best_case(workflow, inputs, _in_the_main_part(weigh))
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


def pricing(
    workflow: Workflow, history: History | None, prices: dict[str, Price]
) -> Callable[[Step, Address], Price]:
    """What a call of a step is expected to use, looked up once, by the same history that a run reserves by."""
    uses = fitting(workflow, history or {})

    def price(step: Step, at: Address) -> Price:
        if at not in prices:
            prices[at] = _price(step, uses.get(at, ()))
        return prices[at]

    return price


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


def past_uses(workflow: Workflow, history: History) -> dict[str, PastUse]:
    """What calls of each step used in earlier runs."""
    return {
        at: PastUse(
            _spread([use.usd for use in uses if use.usd is not None]),
            _spread([use.tokens for use in uses if use.tokens is not None]),
            _spread([use.time for use in uses]) or (0, 0, 0),
        )
        for at, uses in fitting(workflow, history).items()
    }


def _spread(values: Sequence[int]) -> tuple[int, int, int] | None:
    if not values:
        return None
    from statistics import median  # Not needed without earlier runs, and it imports much.

    return min(values), int(median(values)), max(values)


def _capped(usd: tuple[int, int, int] | None, cap: int) -> tuple[int, int, int]:
    return (0, cap, cap) if usd is None else (min(usd[0], cap), min(usd[1], cap), cap)


def weights_of(unit: str, price: Any) -> tuple[AttemptCost, AttemptCost, AttemptCost]:
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
