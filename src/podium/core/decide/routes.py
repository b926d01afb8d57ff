"""Chooses where a step leads when it ends: by the first condition that holds, once, as part of the event that ends it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from podium.core.events import StepEnded
from podium.core.expressions.nodes import ExprError, NeedFact, evaluate
from podium.core.expressions.templates import fill
from podium.core.expressions.values import Meter, as_text
from podium.core.model import Choice, Target
from podium.core.payloads import ChosenRoute
from podium.core.queries.names import InstanceNames, LazyMap
from podium.core.state import Instance, State


def with_route(state: State, event: StepEnded) -> StepEnded:
    """The end of a step with the entry that it takes and the words that it hands on; an error if these cannot be computed."""
    instance = state.instances[event.path]
    target = instance.place.step.on.get(event.outcome)
    if instance.place.role != "step" or target is None or not (target.choices or target.feedback):
        return event
    try:
        return replace(event, route=_chosen(target, _EndNames(state, instance, event)))
    except (ExprError, NeedFact) as error:
        if event.outcome == "error":
            return event  # It has no target then, and the block fails with the first error.
        message = "a route cannot use exists or glob" if isinstance(error, NeedFact) else str(error)
        failed = StepEnded(event.at, event.path, "error", "expression", 1, event.result, message=message)
        return with_route(state, failed)


def _chosen(target: Target, names: _EndNames) -> ChosenRoute:
    entry = -1
    for number, choice in enumerate(target.choices):
        if _holds(choice, names):
            entry, target = number, choice.target
            break
    else:
        if target.choices:
            raise ExprError("no entry of the route applies")
    words = fill(target.feedback, names)
    return ChosenRoute(entry, "" if words is None else as_text(words, Meter()))


def _holds(choice: Choice, names: _EndNames) -> bool:
    if choice.when is None:
        return True
    holds = evaluate(choice.when, names)
    if not isinstance(holds, bool):
        raise ExprError("a condition must be true or false")
    return holds


class _EndNames:
    """The names of a step that is about to end: its own result and the variables that it sets can be read."""

    def __init__(self, state: State, instance: Instance, ending: StepEnded) -> None:
        ended: Instance = instance._replace(ending=ending)
        self._names = InstanceNames(state, instance, inner=ended)
        self._sets = dict(ending.sets)

    def lookup(self, name: str) -> Any:
        value = self._names.lookup(name)
        if name != "vars" or not self._sets:
            return value
        earlier: Mapping[str, Any] = value
        return LazyMap(
            lambda key: self._sets[key] if key in self._sets else earlier[key], lambda: tuple(earlier)
        )

    def fact(self, query: tuple[str, str]) -> Any:
        raise NeedFact(query)
