"""Opens a scope: the number of its children and, for loops, the items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from podium.core import ledger
from podium.core.addresses import ROOT
from podium.core.decide.entry import limit_ending
from podium.core.decide.limit_text import limit_message
from podium.core.events import Event, FactsAsked, StepEnded, StepExpanded
from podium.core.expressions.nodes import ExprError, NeedFact, Node, evaluate
from podium.core.model import Call, ForEach, Members, Panel, Repeat, Review
from podium.core.queries.computed import entered
from podium.core.queries.evaluate import expression_error, try_fill
from podium.core.queries.graph import tree_in_view
from podium.core.queries.names import InstanceNames
from podium.core.queries.steps import children_of
from podium.core.state import Scope, State
from podium.core.types import Millis


def expansion(state: State, scope: Scope, now: Millis) -> Event:
    """The event that opens this scope, or that ends it because it cannot be opened."""
    verb, path = scope.place.step.verb, scope.place.path
    match verb:
        case Call() if path != ROOT:
            return _open_call(state, scope, verb, now)
        case ForEach():
            return _open_loop(state, scope, verb, now)
        case Repeat():
            return StepExpanded(now, path, 0)
        case Members(panel=Panel() as panel) | Review(panel=Panel() as panel):
            return _open_panel(state, scope, panel, now)
        case _:
            return StepExpanded(now, path, len(children_of(verb)))  # type: ignore[arg-type]  # a scope's verb


def _open_call(state: State, scope: Scope, verb: Call, now: Millis) -> Event:
    answer = try_fill(state, scope, dict(verb.values), now)
    if not isinstance(answer, tuple):
        return answer
    values: Mapping[str, Any] = answer[0]
    inputs = {i.name: values.get(i.name, i.default) for i in verb.workflow.inputs}
    try:
        entered(verb.workflow, inputs)
    except ExprError as error:
        return expression_error(scope, error, now)
    return StepExpanded(now, scope.place.path, len(verb.workflow.body.steps), items=(inputs,))


def _open_loop(state: State, scope: Scope, verb: ForEach, now: Millis) -> Event:
    answer = try_fill(state, scope, verb.items, now)
    if not isinstance(answer, tuple):
        return answer
    if not isinstance(answer[0], list | tuple):
        return expression_error(scope, ExprError("for_each needs a list"), now)
    try:
        items = _filter_items(state, scope, verb, list(answer[0]))
        keys = () if verb.key is None else _distinct_keys(state, scope, verb, verb.key, items)
        needs = _needs(state, scope, verb, items, keys)
    except NeedFact as need:
        return FactsAsked(now, scope.place.path, need.query[0], need.query[1], tree_in_view(scope))
    except ExprError as error:
        return expression_error(scope, error, now)
    too_wide = _over_width(state, scope, len(items), now)
    return too_wide or StepExpanded(now, scope.place.path, len(items), tuple(items), keys, needs)


def _open_panel(state: State, scope: Scope, panel: Panel, now: Millis) -> Event:
    """Open a list of agents that a value names; an empty list, or one that is too long, is a mistake."""
    answer = try_fill(state, scope, panel.names, now)
    if not isinstance(answer, tuple):
        return answer
    names = answer[0]
    path, count = scope.place.path, len(names) if isinstance(names, list | tuple) else 0
    books = ledger.chain(state, scope.place.ledger)
    most = min((b.limits.members for b in books if b.limits.members is not None), default=count)
    message = ""
    if not isinstance(names, list | tuple) or not all(map(_is_name, names)):
        message = f"{panel.key} needs a list of names, such as [a, b]"
    elif not names:
        message = "the list of members is empty; at least one is needed"
    elif count > most:
        message = f"the list has {count} members, and limits.members is {most}"
    if message:
        return StepEnded(now, path, "error", "members", 1, message=message)
    return StepExpanded(now, path, count, tuple(names), _member_names(names))


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value.isidentifier() and value.isascii()


def _member_names(values: Sequence[str]) -> tuple[str, ...]:
    """The name of each member: the value, with a number if it is in the list more than once."""
    names: dict[str, None] = {}
    for value in values:
        name, number = value, 2
        while name in names:
            name, number = f"{value}_{number}", number + 1
        names[name] = None
    return tuple(names)


def _over_width(state: State, scope: Scope, total: int, now: Millis) -> StepEnded | None:
    for book in ledger.chain(state, scope.place.ledger):
        if book.limits.members is not None and total > book.limits.members:
            return limit_ending(scope, book, now, limit_message(book, "members", state.at, needed=total))
    return None


class _ItemNames:
    """The names visible to an item's own expressions: those of the loop, and the item."""

    __slots__ = ("_item", "_name", "_names")

    def __init__(self, names: InstanceNames, name: str, item: Any) -> None:
        self._names, self._name, self._item = names, name, item

    def lookup(self, name: str) -> Any:
        return self._item if name == self._name else self._names.lookup(name)

    def fact(self, query: tuple[str, str]) -> Any:
        return self._names.fact(query)


def _evaluate(state: State, scope: Scope, verb: ForEach, node: Node, item: Any) -> Any:
    return evaluate(node, _ItemNames(InstanceNames(state, scope), verb.name, item))


def _filter_items(state: State, scope: Scope, verb: ForEach, items: list[Any]) -> list[Any]:
    if verb.where is None:
        return items
    selected = []
    for item in items:
        holds = _evaluate(state, scope, verb, verb.where, item)
        if not isinstance(holds, bool):
            raise ExprError("where must yield true or false")
        if holds:
            selected.append(item)
    return selected


def _distinct_keys(
    state: State, scope: Scope, verb: ForEach, node: Node, items: list[Any]
) -> tuple[str, ...]:
    """The key of each item. A key names an item in results, so two items must not share one."""
    keys: dict[str, int] = {}
    for number, item in enumerate(items, start=1):
        key = _item_key(state, scope, verb, node, item)
        first = keys.setdefault(key, number)
        if first != number:
            raise ExprError(f'items {first} and {number} have the same key "{key}"; keys must be distinct')
    return tuple(keys)


def _item_key(state: State, scope: Scope, verb: ForEach, node: Node, item: Any) -> str:
    value = _evaluate(state, scope, verb, node, item)
    if not isinstance(value, str):
        raise ExprError("the key of an item must be text")
    return value


def _needs(
    state: State, scope: Scope, verb: ForEach, items: list[Any], keys: tuple[str, ...]
) -> tuple[tuple[int, ...], ...]:
    """For each item, the indexes of the items it needs, by their keys."""
    if verb.needs is None:
        return ()
    if len(keys) != len(items):
        raise ExprError("items with needs must have keys")
    index = {key: number for number, key in enumerate(keys)}
    needs: list[tuple[int, ...]] = []
    for number, item in enumerate(items):
        needed_keys = _evaluate(state, scope, verb, verb.needs, item)
        if not isinstance(needed_keys, list | tuple):
            raise ExprError("needs must yield a list of keys")
        missing = [key for key in needed_keys if key not in index]
        if missing:
            raise ExprError(f"{keys[number]} needs {missing[0]}, which does not exist")
        needs.append(tuple(sorted({index[key] for key in needed_keys})))
    _check_cycles(keys, needs)
    return tuple(needs)


def _check_cycles(keys: tuple[str, ...], needs: list[tuple[int, ...]]) -> None:
    try:
        TopologicalSorter(dict(enumerate(needs))).prepare()
    except CycleError as error:
        raise ExprError("cycle: " + " -> ".join(keys[i] for i in error.args[1])) from None
