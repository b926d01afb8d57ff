"""What expressions amount to before a run: literals, inputs and variables that no step sets are known, all else is not."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, NoReturn

from podium.core.expressions.nodes import ExprError, NeedFact, Node
from podium.core.expressions.templates import fill
from podium.core.model import Call, ForEach, Set, Workflow
from podium.simulate.loop_lists import steps_of

UNKNOWN: Final = object()


class Known(NamedTuple):
    """What names stand for before a run."""

    inputs: Mapping[str, Any]
    vars: Mapping[str, Any]


def known_of(workflow: Workflow, inputs: Mapping[str, Any]) -> Known:
    changed = {
        name for step in steps_of(workflow) if isinstance(step.verb, Set) for name, _ in step.verb.values
    }
    return Known(inputs, {name: value for name, value in workflow.vars.items() if name not in changed})


def holds(test: Node, known: Known) -> bool | None:
    """Whether a condition is certain to hold, or certain not to."""
    value = value_of(test, known)
    return value if isinstance(value, bool) else None


def count(number: object, known: Known) -> int | None:
    if isinstance(number, int):
        return number
    value = value_of(number, known)
    if value is UNKNOWN:
        return None
    # As the core reads it: what is no number above zero counts as one.
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 1


def items(verb: ForEach, known: Known) -> Any:
    """How many items there will be at most, or UNKNOWN."""
    value = value_of(verb.items, known)
    return len(value) if isinstance(value, list | tuple) else UNKNOWN


def known_in(verb: Call, known: Known) -> Known:
    """What is known in a sub-workflow."""
    given = dict(verb.values)
    found = {
        own.name: value_of(given[own.name], known) if own.name in given else own.default
        for own in verb.workflow.inputs
    }
    return known_of(verb.workflow, MappingProxyType(found))


def value_of(value: Any, known: Known) -> Any:
    try:
        return fill(value, _Names(known))
    except (NeedFact, ExprError):
        return UNKNOWN


class _Values(Mapping[str, Any]):
    __slots__ = ("_known",)

    def __init__(self, known: Mapping[str, Any]) -> None:
        self._known = known

    def __getitem__(self, key: str) -> Any:
        value = self._known.get(key, UNKNOWN)
        return _unknown(key) if value is UNKNOWN else value

    def __iter__(self) -> NoReturn:
        _unknown("all of them")

    def __len__(self) -> int:
        return len(self._known)


class _Names:
    """Not a missing value, which `default` would replace, but a question that nobody answers yet."""

    __slots__ = ("_known",)

    def __init__(self, known: Known) -> None:
        self._known = {"inputs": _Values(known.inputs), "vars": _Values(known.vars)}

    def lookup(self, name: str) -> Any:
        return self._known[name] if name in self._known else _unknown(name)

    def fact(self, query: tuple[str, str]) -> Any:
        return _unknown(query[1])


def _unknown(name: str) -> NoReturn:
    raise NeedFact(("unknown", name))
