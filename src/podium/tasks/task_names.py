"""The names that a task may read, with their values; `TaskNames` looks them up for expressions and prompts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any, Final, Literal, TypeAlias, cast

from podium.core.expressions.nodes import ExprError, MissingValue, NeedFact, TooBig, WrongType
from podium.core.expressions.templates import Value, fill, references
from podium.core.expressions.values import is_list, is_map
from podium.core.queries.names import InstanceNames
from podium.core.queries.step_results import OF_SCOPES, Fields
from podium.fast_dataclass import dataclass

Chain: TypeAlias = tuple[str, ...]
FailureKind: TypeAlias = Literal["missing", "type", "size", "other"]
Query: TypeAlias = tuple[str, str]

_ERRORS: Final[Mapping[FailureKind, type[ExprError]]] = {
    "missing": MissingValue,
    "type": WrongType,
    "size": TooBig,
    "other": ExprError,
}


@dataclass(frozen=True, slots=True)
class Failure:
    """The error that reading this name raises."""

    kind: FailureKind
    message: str

    def error(self) -> ExprError:
        return _ERRORS[self.kind](self.message)


@dataclass(frozen=True, slots=True, eq=False)
class NameValues(Mapping[str, Any]):
    """A map of values in which some names may fail to be read.

    `unlisted` names can be read, but iterating over the map does not show them.
    """

    listed: Mapping[str, Any] = field(default_factory=dict)
    unlisted: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        value = self.listed[name] if name in self.listed else self.unlisted[name]
        if isinstance(value, Failure):
            raise value.error()
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self.listed)

    def __len__(self) -> int:
        return len(self.listed)


@dataclass(frozen=True, slots=True)
class Deferred:
    """A value that needs facts about files, so it is filled in where the files can be read."""

    value: Value
    values: NameValues


def capture(names: InstanceNames, chains: Iterable[Chain] | None) -> NameValues:
    """The values that these chains read; None means every visible name."""
    if chains is None:
        chains = tuple((name,) for name in names.visible())
    return _capture_map(names.lookup, _tree_of(chains), names)


class TaskNames:
    """The names of a task, and facts about files that were looked up for it."""

    def __init__(self, values: NameValues, facts: Mapping[Query, Any] | None = None) -> None:
        self._values = values
        self.facts: dict[Query, Any] = dict(facts or {})

    def lookup(self, name: str) -> Any:
        try:
            value = self._values[name]
        except KeyError:
            raise MissingValue(f"{name} is not known here") from None
        if name == "with":
            return _Parameters(value, self._resolve)
        return self._resolve(value)

    def fact(self, query: Query) -> Any:
        if query not in self.facts:
            raise NeedFact(query)
        return self.facts[query]

    def _resolve(self, value: Any) -> Any:
        if not isinstance(value, Deferred):
            return value
        inner = TaskNames(value.values)
        inner.facts = self.facts
        return fill(value.value, inner)


class _Parameters(Mapping[str, Any]):
    """The values of `with`."""

    def __init__(self, values: NameValues, resolve: Callable[[Any], Any]) -> None:
        self._values = values
        self._resolve = resolve

    def __getitem__(self, name: str) -> Any:
        try:
            return self._resolve(self._values[name])
        except KeyError:
            raise MissingValue(f"with.{name} does not exist") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


_Tree: TypeAlias = "dict[str, _Tree | None]"
"""What is read below each name; None is all of it."""


def _tree_of(chains: Iterable[Chain]) -> _Tree:
    tree: _Tree = {}
    for chain in chains:
        _add(tree, chain)
    return tree


def _add(tree: _Tree, chain: Chain) -> None:
    name, rest = chain[0], chain[1:]
    if not rest:
        tree[name] = None
        return
    below = tree.setdefault(name, {})
    if below is not None:
        _add(below, rest)


def _capture_map(
    read: Callable[[str], Any], tree: _Tree, names: InstanceNames | None, *, parameters: bool = False
) -> NameValues:
    """`names` is needed where a name may be a parameter, which may need facts about files."""
    values: dict[str, Any] = {}
    for name, below in tree.items():
        try:
            value = read(name)
        except KeyError:
            continue
        except NeedFact:
            assert names is not None
            values[name] = _defer(names, name)
            continue
        except ExprError as error:
            values[name] = _failure(error)
            continue
        if name == "with" and names is not None and not parameters:
            selected = dict.fromkeys(value) if below is None else below
            values[name] = _capture_map(value.__getitem__, selected, names, parameters=True)
        elif name == "steps" and names is not None and below is None:
            steps = _capture_map(value.__getitem__, dict.fromkeys(names.step_names()), None)
            values[name] = NameValues(unlisted=steps.listed)
        elif below is not None and is_map(value):
            values[name] = _capture_map(value.__getitem__, below, None)
        else:
            values[name] = _read_all(value)
    return NameValues(values)


def _defer(names: InstanceNames, name: str) -> Deferred:
    value, outside = names.parameter(name)
    return Deferred(value, capture(outside, (reference.chain for reference in references(value))))


def _read_all(value: Any) -> Any:
    """The value with every lazy map in it read."""
    if isinstance(value, Fields):
        listed = {name: _read(value, name) for name in value}
        others = {name: _read(value, name) for name in OF_SCOPES if name not in listed}
        return NameValues(listed, {k: v for k, v in others.items() if not isinstance(v, Failure)})
    if is_map(value):
        return (
            {name: _read_all(inner) for name, inner in value.items()}
            if isinstance(value, dict)
            else NameValues({name: _read(value, name) for name in value})
        )
    return [_read_all(inner) for inner in value] if is_list(value) else value


def _read(values: Mapping[str, Any], name: str) -> Any:
    try:
        return _read_all(values[name])
    except ExprError as error:
        return _failure(error)


def _failure(error: ExprError) -> Failure:
    kind = next((kind for kind, cls in _ERRORS.items() if type(error) is cls), "other")
    return Failure(cast(FailureKind, kind), str(error.args[0]) if error.args else "")
