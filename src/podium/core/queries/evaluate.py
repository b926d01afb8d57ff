"""Evaluating an expression for an instance: to a value, to a question the world must answer first, or to a failure."""

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
"""The value, boxed; or the event that has to come first; or the end of the instance."""


def ask(
    state: State,
    instance: Instance,
    node: Node,
    now: Millis,
    *,
    inner: Instance | None = None,
    testing: bool = False,
) -> Answer:
    """The value of an expression."""
    try:
        return (evaluate(node, InstanceNames(state, instance, inner=inner, testing=testing)),)
    except NeedFact as need:
        return _look(instance, need.query, now)
    except ExprError as error:
        return broken(instance, error, now)


def ask_value(state: State, instance: Instance, value: Value, now: Millis, *, inside: bool = False) -> Answer:
    """A literal with its inserts filled in."""
    try:
        return (fill(value, InstanceNames(state, instance, inside=inside)),)
    except NeedFact as need:
        return _look(instance, need.query, now)
    except ExprError as error:
        return broken(instance, error, now)


def ask_bool(
    state: State,
    instance: Instance,
    node: Node,
    now: Millis,
    *,
    inner: Instance | None = None,
    testing: bool = False,
) -> bool | FactsAsked | StepEnded:
    answer = ask(state, instance, node, now, inner=inner, testing=testing)
    if not isinstance(answer, tuple):
        return answer
    if isinstance(answer[0], bool):
        return answer[0]
    return broken(instance, ExprError("a condition must be true or false"), now)


def count_of(state: State, instance: Instance, count: Count) -> int:
    """A number that may be an expression of what is known at the start; 1 if it gives no number."""
    if isinstance(count, int):
        return count
    try:
        value = evaluate(count, InstanceNames(state, instance))
    except (ExprError, NeedFact):
        return 1
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 1


def broken(instance: Instance, error: Exception, now: Millis) -> StepEnded:
    return StepEnded(now, instance.place.path, "error", "expression", exit=1, message=str(error))


def _look(instance: Instance, query: tuple[str, str], now: Millis) -> FactsAsked:
    return FactsAsked(now, instance.place.path, query[0], query[1], tree_in_view(instance))
