"""Values of expressions before a run: literals, inputs and variables that no step sets; all others are unknown."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from podium.core.expressions.nodes import ExprError, NeedFact, Node
from podium.core.expressions.templates import fill
from podium.core.model import Call, ForEach, Set, Workflow
from podium.core.queries.static_names import UNKNOWN, StaticNames
from podium.simulate.loop_lists import all_steps


class StaticValues(NamedTuple):
    """The values of names before a run."""

    inputs: Mapping[str, Any]
    vars: Mapping[str, Any]


def static_values(workflow: Workflow, inputs: Mapping[str, Any]) -> StaticValues:
    changed = {
        name for step in all_steps(workflow) if isinstance(step.verb, Set) for name, _ in step.verb.values
    }
    return StaticValues(inputs, {name: value for name, value in workflow.vars.items() if name not in changed})


def holds(test: Node, values: StaticValues) -> bool | None:
    """Whether a condition certainly holds or certainly does not; None if that is unknown."""
    value = value_of(test, values)
    return value if isinstance(value, bool) else None


def count(number: object, values: StaticValues) -> int | None:
    if isinstance(number, int):
        return number
    value = value_of(number, values)
    if value is UNKNOWN:
        return None
    # As the core reads it: anything but a number above zero counts as one.
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 1


def item_count(verb: ForEach, values: StaticValues) -> Any:
    """The maximum number of items, or UNKNOWN."""
    value = value_of(verb.items, values)
    return len(value) if isinstance(value, list | tuple) else UNKNOWN


def values_in_call(verb: Call, values: StaticValues) -> StaticValues:
    """The values that are known in a called workflow."""
    passed = dict(verb.values)
    inputs = {
        own.name: value_of(passed[own.name], values) if own.name in passed else own.default
        for own in verb.workflow.inputs
    }
    return static_values(verb.workflow, MappingProxyType(inputs))


def value_of(value: Any, values: StaticValues) -> Any:
    try:
        return fill(value, StaticNames(values.inputs, values.vars))
    except (NeedFact, ExprError):
        return UNKNOWN
