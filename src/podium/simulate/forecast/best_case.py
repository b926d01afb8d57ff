"""The best case of a workflow: the least it can use and still pass, with everything right at the first attempt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from podium.core import model
from podium.core.addresses import FINALLY, ROOT, child, gates
from podium.core.decide.pass_rules import required_passes
from podium.core.queries.graph import panel_of
from podium.core.queries.static_names import UNKNOWN
from podium.core.step_settings import ChildRun
from podium.core.types import Address
from podium.simulate.forecast.breaker_costs import FAILED
from podium.simulate.forecast.case_analysis import AttemptCost
from podium.simulate.forecast.paths import exits_of
from podium.simulate.forecast.static_values import (
    StaticValues,
    holds,
    item_count,
    static_values,
    value_of,
    values_in_call,
)


def best_case(workflow: model.Workflow, inputs: Mapping[str, Any], attempt_cost: AttemptCost) -> int:
    return _workflow_minimum(workflow, ROOT, static_values(workflow, inputs), attempt_cost)


def _workflow_minimum(
    workflow: model.Workflow, at: Address, values: StaticValues, attempt_cost: AttemptCost
) -> int:
    final = (
        0
        if workflow.finally_ is None
        else _step_minimum(workflow.finally_, child(at, FINALLY), values, attempt_cost)
    )
    return _block_minimum(workflow.body, at, values, attempt_cost) + final


def _step_minimum(step: model.Step, at: Address, values: StaticValues, attempt_cost: AttemptCost) -> int:
    """The minimum for a step; one that may be skipped and a loop that may have no items cost nothing."""
    if step.when is not None and holds(step.when, values) is not True:
        return 0
    gates_minimum = 0 if step.gates is None else _step_minimum(step.gates, gates(at), values, attempt_cost)
    return gates_minimum + _verb_minimum(step, at, values, attempt_cost)


def _verb_minimum(step: model.Step, at: Address, values: StaticValues, attempt_cost: AttemptCost) -> int:
    verb = step.verb
    match verb:
        case model.Block():
            return _block_minimum(verb, at, values, attempt_cost)
        case model.Members() | model.Review() | model.Gates():
            members = [
                _step_minimum(member, child(at, member.name), values, attempt_cost) for member in verb.members
            ]
            panel = panel_of(verb)
            if panel is not None:
                names = value_of(panel.names, values)
                members *= len(names) if isinstance(names, list | tuple) else 1
            return _minimum_of_members(verb, members)
        case model.ForEach():
            width = 0 if verb.where is not None else item_count(verb, values)
            each = _step_minimum(verb.body, at, values, attempt_cost)
            return 0 if width is UNKNOWN else _minimum_of_members(verb, [each] * width)
        case model.Repeat():
            return 0 if verb.kind == "while" else _step_minimum(verb.body, at, values, attempt_cost)
        case model.Call():
            return _workflow_minimum(verb.workflow, at, values_in_call(verb, values), attempt_cost)
        case model.Agent() | model.Command() | model.Git() | model.Write() | ChildRun():
            return attempt_cost(step, at)
        case model.Check() | model.Set() | model.Human() | model.Wait() | model.Continue():
            return 0
        case _:
            assert_never(verb)


def _minimum_of_members(verb: model.Verb, members: list[int]) -> int:
    """All members, unless those that pass first stop the others."""
    if isinstance(verb, model.Block | model.Members | model.ForEach) and verb.cancels_rest:
        return sum(sorted(members)[: required_passes(verb.rule, len(members))])
    return sum(members)


def _block_minimum(block: model.Block, at: Address, values: StaticValues, attempt_cost: AttemptCost) -> int:
    own = [_step_minimum(step, child(at, step.name), values, attempt_cost) for step in block.steps]
    if block.kind != "seq":
        return _minimum_of_members(block, own)
    to_pass = _cheapest_way(block, own, fails=False)
    # A block from which every way leads to a failure is left by it; the step around it may have a route for that.
    return to_pass if to_pass is not None else _cheapest_way(block, own, fails=True) or 0


def _cheapest_way(block: model.Block, own: Sequence[int], *, fails: bool) -> int | None:
    """The least that a way from the first step to an end uses; None if there is none. `fails` allows failures as ends."""
    after: list[int | None] = [None] * len(own) + [0]
    for index in reversed(range(len(own))):
        targets = [exit_.to for exit_ in exits_of(block.steps, index) if exit_.to > index or exit_.to < 0]
        ways = [after[to] if to >= 0 else 0 for to in targets if fails or to != FAILED]
        costs = [cost for cost in ways if cost is not None]
        after[index] = own[index] + min(costs) if costs else None
    return after[0]
