"""Evaluates an expression for an instance: the result is a value, a fact to find first, or the end of the instance."""

from __future__ import annotations

from typing import Any, TypeAlias

from podium.core.events import FactsAsked, StepEnded
from podium.core.expressions.nodes import ExprError, NeedFact, Node, evaluate
from podium.core.expressions.templates import Value, fill
from podium.core.policy import Count
from podium.core.queries.graph import tree_in_view
from podium.core.queries.names import InstanceNames
from podium.core.state import Instance, State
from podium.core.types import Millis

Answer: TypeAlias = tuple[Any] | FactsAsked | StepEnded
"""The value in a tuple of one, the event that requests a fact, or the end of the instance."""


def try_evaluate(
    state: State,
    instance: Instance,
    node: Node,
    now: Millis,
    *,
    inner: Instance | None = None,
    testing: bool = False,
) -> Answer:
    """Evaluate an expression."""
    try:
        return (evaluate(node, InstanceNames(state, instance, inner=inner, testing=testing)),)
    except NeedFact as need:
        return _request_fact(instance, need.query, now)
    except ExprError as error:
        return expression_error(instance, error, now)


def try_fill(state: State, instance: Instance, value: Value, now: Millis, *, inside: bool = False) -> Answer:
    """Fill in the inserts of a value."""
    try:
        return (fill(value, InstanceNames(state, instance, inside=inside)),)
    except NeedFact as need:
        return _request_fact(instance, need.query, now)
    except ExprError as error:
        return expression_error(instance, error, now)


def try_condition(
    state: State,
    instance: Instance,
    node: Node,
    now: Millis,
    *,
    inner: Instance | None = None,
    testing: bool = False,
) -> bool | FactsAsked | StepEnded:
    answer = try_evaluate(state, instance, node, now, inner=inner, testing=testing)
    if not isinstance(answer, tuple):
        return answer
    if isinstance(answer[0], bool):
        return answer[0]
    return expression_error(instance, ExprError("a condition must be true or false"), now)


def count_of(state: State, instance: Instance, count: Count) -> int:
    """The value of a count; 1 if its expression does not yield a positive integer."""
    if isinstance(count, int):
        return count
    try:
        value = evaluate(count, InstanceNames(state, instance))
    except (ExprError, NeedFact):
        return 1
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 1


def expression_error(instance: Instance, error: Exception, now: Millis) -> StepEnded:
    return StepEnded(now, instance.place.path, "error", "expression", exit=1, message=str(error))


def _request_fact(instance: Instance, query: tuple[str, str], now: Millis) -> FactsAsked:
    return FactsAsked(now, instance.place.path, query[0], query[1], tree_in_view(instance))
