"""The names whose values are known before a run: inputs, and variables that no step sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NoReturn

from podium.core.expressions.nodes import NeedFact
from podium.core.model import Set, Workflow
from podium.core.queries.steps import all_steps

UNKNOWN: Final = object()


class StaticNames:
    """Unknown names raise NeedFact, not a missing value, because `default` would replace a missing value."""

    __slots__ = ("_maps",)

    def __init__(self, inputs: Mapping[str, Any], variables: Mapping[str, Any]) -> None:
        self._maps = {"inputs": _Values(inputs), "vars": _Values(variables)}

    def lookup(self, name: str) -> Any:
        return self._maps[name] if name in self._maps else _unknown(name)

    def fact(self, query: tuple[str, str]) -> Any:
        return _unknown(query[1])


def static_names(workflow: Workflow, inputs: Mapping[str, Any]) -> StaticNames:
    changed = {
        name
        for _, step, _ in all_steps(workflow)
        if isinstance(step.verb, Set)
        for name, _ in step.verb.values
    }
    unchanged = {name: value for name, value in workflow.vars.items() if name not in changed}
    return StaticNames(inputs, unchanged)


class _Values(Mapping[str, Any]):
    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def __getitem__(self, key: str) -> Any:
        value = self._values.get(key, UNKNOWN)
        return _unknown(key) if value is UNKNOWN else value

    def __iter__(self) -> NoReturn:
        _unknown("all of them")

    def __len__(self) -> int:
        return len(self._values)


def _unknown(name: str) -> NoReturn:
    raise NeedFact(("unknown", name))
