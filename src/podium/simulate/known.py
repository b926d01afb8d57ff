"""What expressions amount to before a run: literals and inputs are known, all else is not."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NoReturn

from podium.core.expr import ExprError, NeedFact, Node
from podium.core.model import Call, ForEach
from podium.core.template import fill

UNKNOWN: Final = object()


def holds(test: Node, inputs: Mapping[str, Any]) -> bool | None:
    """Whether a condition is certain to hold, or certain not to."""
    value = value_of(test, inputs)
    return value if isinstance(value, bool) else None


def count(number: object, inputs: Mapping[str, Any]) -> int | None:
    if isinstance(number, int):
        return number
    value = value_of(number, inputs)
    if value is UNKNOWN:
        return None
    # As the core reads it: what is no number above zero counts as one.
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 1


def items(verb: ForEach, inputs: Mapping[str, Any]) -> Any:
    """How many items there will be at most, or UNKNOWN."""
    value = value_of(verb.items, inputs)
    return len(value) if isinstance(value, list | tuple) else UNKNOWN


def inputs_of(verb: Call, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    """The inputs of a sub-workflow, as far as they are known."""
    given = dict(verb.values)
    found = {
        known.name: value_of(given[known.name], inputs) if known.name in given else known.default
        for known in verb.workflow.inputs
    }
    return MappingProxyType(found)


def value_of(value: Any, inputs: Mapping[str, Any]) -> Any:
    try:
        return fill(value, _Names(inputs))
    except (NeedFact, ExprError):
        return UNKNOWN


class _Inputs(Mapping[str, Any]):
    __slots__ = ("_known",)

    def __init__(self, known: Mapping[str, Any]) -> None:
        self._known = known

    def __getitem__(self, key: str) -> Any:
        value = self._known.get(key, UNKNOWN)
        return _unknown(key) if value is UNKNOWN else value

    def __iter__(self) -> NoReturn:
        _unknown("inputs")

    def __len__(self) -> int:
        return len(self._known)


class _Names:
    """Not a missing value, which `default` would replace, but a question that nobody answers yet."""

    __slots__ = ("_inputs",)

    def __init__(self, inputs: Mapping[str, Any]) -> None:
        self._inputs = _Inputs(inputs)

    def lookup(self, name: str) -> Any:
        return self._inputs if name == "inputs" else _unknown(name)

    def fact(self, query: tuple[str, str]) -> Any:
        return _unknown(query[1])


def _unknown(name: str) -> NoReturn:
    raise NeedFact(("unknown", name))
