"""What a run uses at most in one unit: exact for small limits on transitions, a close bound for large ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from podium.core.model import Call, Step, Workflow
from podium.core.queries.steps import may_call_agents
from podium.core.types import Address
from podium.simulate.forecast.case_analysis import AttemptCost, calls, cost_of_call, scope_of_run
from podium.simulate.forecast.priced_bound import EXACT_TRANSITIONS, priced_bound
from podium.simulate.forecast.worst_case import TABLES, worst_case


class UpperBound(NamedTuple):
    most: int
    grows: bool
    """Whether a higher limit on transitions would raise it."""


def upper_bound(workflow: Workflow, inputs: Mapping[str, Any], attempt_cost: AttemptCost) -> UpperBound:
    """The maximum of the run. Raises Unbounded."""
    if _is_free(workflow, inputs, attempt_cost):
        return UpperBound(0, grows=False)
    limit = workflow.limits.transitions
    if limit is None or limit <= EXACT_TRANSITIONS:
        table = worst_case(workflow, inputs, attempt_cost).either
        return UpperBound(table[-1], grows=len(table) > 1 and table[-1] > table[-2])
    most, without_limit = priced_bound(workflow, inputs, attempt_cost, limit)
    return UpperBound(most, grows=without_limit is None or most < without_limit)


def _is_free(workflow: Workflow, inputs: Mapping[str, Any], attempt_cost: AttemptCost) -> bool:
    """Whether no step uses anything. Raises Unbounded, like the worst case itself."""
    if attempt_cost is calls and not may_call_agents(workflow):
        return True
    is_free = True

    def weigh(step: Step, at: Address) -> int:
        nonlocal is_free
        cost = attempt_cost(step, at)
        is_free = is_free and cost == 0
        return cost

    cost_of_call(TABLES, scope_of_run(workflow, inputs, weigh, 0), Step(workflow.name, Call(workflow)))
    return is_free
