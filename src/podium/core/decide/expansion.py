"""Opening a scope: how many children it has, and for loops over items which they are."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

from podium.core import ledger
from podium.core.addresses import ROOT
from podium.core.decide.entry import limited
from podium.core.events import Event, FactsAsked, StepEnded, StepExpanded
from podium.core.expressions.nodes import ExprError, NeedFact, Node, evaluate
from podium.core.model import Call, ForEach, Repeat
from podium.core.queries.evaluate import ask_value, broken
from podium.core.queries.graph import children_of, tree_in_view
from podium.core.queries.names import InstanceNames
from podium.core.state import Scope, State
from podium.core.types import Millis


def expansion(state: State, scope: Scope, now: Millis) -> Event:
    """The event that opens this scope, or says why it cannot be opened."""
    verb, path = scope.place.step.verb, scope.place.path
    match verb:
        case Call() if path != ROOT:
            return _call(state, scope, verb, now)
        case ForEach():
            return _items(state, scope, verb, now)
        case Repeat():
            return StepExpanded(now, path, 0)
        case _:
            return StepExpanded(now, path, len(children_of(verb)))  # type: ignore[arg-type]  # a scope's verb


def _call(state: State, scope: Scope, verb: Call, now: Millis) -> Event:
    answer = ask_value(state, scope, dict(verb.values), now)
    if not isinstance(answer, tuple):
        return answer
    given: Mapping[str, Any] = answer[0]
    inputs = {i.name: given.get(i.name, i.default) for i in verb.workflow.inputs}
    return StepExpanded(now, scope.place.path, len(verb.workflow.body.steps), items=(inputs,))


def _items(state: State, scope: Scope, verb: ForEach, now: Millis) -> Event:
    answer = ask_value(state, scope, verb.items, now)
    if not isinstance(answer, tuple):
        return answer
    if not isinstance(answer[0], list | tuple):
        return broken(scope, ExprError("for_each needs a list"), now)
    try:
        items = _filtered(state, scope, verb, list(answer[0]))
        keys = tuple(_text(state, scope, verb, verb.key, item) for item in items) if verb.key else ()
        needs = _needs(state, scope, verb, items, keys)
    except NeedFact as need:
        return FactsAsked(now, scope.place.path, need.query[0], need.query[1], tree_in_view(scope))
    except ExprError as error:
        return broken(scope, error, now)
    too_wide = _over_width(state, scope, len(items), now)
    return too_wide or StepExpanded(now, scope.place.path, len(items), tuple(items), keys, needs)


def _over_width(state: State, scope: Scope, total: int, now: Millis) -> StepEnded | None:
    for book in ledger.chain(state, scope.place.ledger):
        if book.limits.members is not None and total > book.limits.members:
            return limited(scope, book, now, "members")
    return None


class _Each:
    """The names an item's own expressions see: those of the loop, and the item."""

    __slots__ = ("_here", "_item", "_name")

    def __init__(self, here: InstanceNames, name: str, item: Any) -> None:
        self._here, self._name, self._item = here, name, item

    def lookup(self, name: str) -> Any:
        return self._item if name == self._name else self._here.lookup(name)

    def fact(self, query: tuple[str, str]) -> Any:
        return self._here.fact(query)


def _evaluate(state: State, scope: Scope, verb: ForEach, node: Node, item: Any) -> Any:
    return evaluate(node, _Each(InstanceNames(state, scope), verb.name, item))


def _filtered(state: State, scope: Scope, verb: ForEach, items: list[Any]) -> list[Any]:
    if verb.where is None:
        return items
    kept = []
    for item in items:
        holds = _evaluate(state, scope, verb, verb.where, item)
        if not isinstance(holds, bool):
            raise ExprError("where must be true or false")
        if holds:
            kept.append(item)
    return kept


def _text(state: State, scope: Scope, verb: ForEach, node: Node, item: Any) -> str:
    value = _evaluate(state, scope, verb, node, item)
    if not isinstance(value, str):
        raise ExprError("the key of an item must be text")
    return value


def _needs(
    state: State, scope: Scope, verb: ForEach, items: list[Any], keys: tuple[str, ...]
) -> tuple[tuple[int, ...], ...]:
    """Which items come before which, by their keys."""
    if verb.needs is None:
        return ()
    if len(set(keys)) != len(items):
        raise ExprError("items with needs must have different keys")
    index = {key: number for number, key in enumerate(keys)}
    needs: list[tuple[int, ...]] = []
    for number, item in enumerate(items):
        wanted = _evaluate(state, scope, verb, verb.needs, item)
        if not isinstance(wanted, list | tuple):
            raise ExprError("needs must give a list of keys")
        missing = [key for key in wanted if key not in index]
        if missing:
            raise ExprError(f"{keys[number]} needs {missing[0]}, which does not exist")
        needs.append(tuple(sorted({index[key] for key in wanted})))
    _check_cycles(keys, needs)
    return tuple(needs)


def _check_cycles(keys: tuple[str, ...], needs: list[tuple[int, ...]]) -> None:
    try:
        TopologicalSorter(dict(enumerate(needs))).prepare()
    except CycleError as error:
        raise ExprError("cycle: " + " -> ".join(keys[i] for i in error.args[1])) from None
