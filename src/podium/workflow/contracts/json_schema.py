"""Holds a value against a JSON Schema: the keywords that our own schemas and ordinary schema files use.

What a schema may use, and how, is known when the file is loaded (`workflow/contracts/schema_check.py`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from podium.core.expressions.regex import search
from podium.core.expressions.values import ExprError, Meter
from podium.workflow.contracts import schema_check
from podium.workflow.contracts.schema_check import part_of

MAX_FAULTS: Final = 10
MAX_DEPTH: Final = 100

NOTES: Final = schema_check.NOTES | {"$defs", "definitions"}

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SchemaFault:
    """`path` leads to the value, as `$.steps[2].title`."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class UnusableSchema(Exception):
    """The schema itself cannot be held against anything; the message says why."""


def faults_of(value: Any, schema: Any) -> tuple[SchemaFault, ...]:
    """What is wrong with the value, at most MAX_FAULTS; none if it is valid. Raises UnusableSchema."""
    found: list[SchemaFault] = []
    for fault in _Checker(schema, Meter()).check(value, schema, "$", 0):
        found.append(fault)
        if len(found) == MAX_FAULTS:
            break
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Checker:
    root: Any
    meter: Meter

    def check(self, value: Any, schema: Any, path: str, depth: int) -> Iterator[SchemaFault]:
        if schema is True:
            return
        if schema is False:
            yield SchemaFault(path, "no value is allowed here")
            return
        if depth > MAX_DEPTH:
            raise UnusableSchema("the schema leads into itself")
        if not isinstance(schema, Mapping):
            raise UnusableSchema("a part of the schema is neither a map nor true or false")
        for key, wanted in schema.items():
            if key in NOTES:
                continue
            test = KEYWORDS.get(key)
            if test is None:
                raise UnusableSchema(f'the schema uses "{key}", which Podium cannot check')
            yield from test(value, _Spot(self, wanted, schema, path, depth))

    def is_valid(self, value: Any, schema: Any, spot: _Spot) -> bool:
        return next(self.check(value, schema, spot.path, spot.depth + 1), None) is None


@dataclass(frozen=True, slots=True)
class _Spot:
    checker: _Checker
    wanted: Any
    """What stands under the keyword."""
    schema: Schema
    path: str
    depth: int

    def fault(self, message: str) -> SchemaFault:
        return SchemaFault(self.path, message)


_Test = Callable[[Any, _Spot], Iterator[SchemaFault]]


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPES: Final[Mapping[str, Callable[[Any], bool]]] = {
    "object": lambda value: isinstance(value, Mapping),
    "array": _is_list,
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: _is_number(value) and value == int(value),
    "number": _is_number,
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}


def type_name(value: Any) -> str:
    return next(name for name, test in _TYPES.items() if name != "integer" and test(value))


def _type(value: Any, spot: _Spot) -> Iterator[SchemaFault]:
    words = [spot.wanted] if isinstance(spot.wanted, str) else list(spot.wanted)
    for word in words:
        if word not in _TYPES:
            raise UnusableSchema(f'the schema has type "{word}", which there is not')
    if not any(_TYPES[word](value) for word in words):
        yield spot.fault(f"is {type_name(value)}, not {' or '.join(words)}")


def _same(one: Any, other: Any) -> bool:
    """As JSON compares: 1 and 1.0 are the same, 1 and true are not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if _is_list(one) and _is_list(other):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    return bool(one == other)


def _enum(value: Any, spot: _Spot) -> Iterator[SchemaFault]:
    if not any(_same(value, choice) for choice in spot.wanted):
        yield spot.fault(f"is {_shown(value)}, not one of {', '.join(map(_shown, spot.wanted))}")


def _const(value: Any, spot: _Spot) -> Iterator[SchemaFault]:
    if not _same(value, spot.wanted):
        yield spot.fault(f"is {_shown(value)}, not {_shown(spot.wanted)}")


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=lambda other: type(other).__name__)
    return text if len(text) <= 60 else text[:57] + "..."


def _required(value: Any, spot: _Spot) -> Iterator[SchemaFault]:
    if isinstance(value, Mapping):
        for name in spot.wanted:
            if name not in value:
                yield spot.fault(f'"{name}" is missing')


def _properties(value: Any, spot: _Spot) -> Iterator[SchemaFault]:
    if isinstance(value, Mapping):
        for name, inner in spot.wanted.items():
            if name in value:
                yield from spot.checker.check(value[name], inner, f"{spot.path}.{name}", spot.depth + 1)


def _pattern_properties(value: Any, spot: _Spot) -> Iterator[SchemaFault]:
    if isinstance(value, Mapping):
        for pattern, inner in spot.wanted.items():
            for name in value:
                if _found(spot.checker, pattern, name):
                    yield from spot.checker.check(value[name], inner, f"{spot.path}.{name}", spot.depth + 1)


def _additional(value: Any, spot: _Spot) -> Iterator[SchemaFault]:
    if not isinstance(value, Mapping):
        return
    named = spot.schema.get("properties", {})
    patterns = spot.schema.get("patternProperties", {})
    for name in value:
        if name in named or any(_found(spot.checker, pattern, name) for pattern in patterns):
            continue
        if spot.wanted is False:
            yield spot.fault(f'"{name}" is not a field of it')
        else:
            yield from spot.checker.check(value[name], spot.wanted, f"{spot.path}.{name}", spot.depth + 1)


def _items(value: Any, spot: _Spot) -> Iterator[SchemaFault]:
    if _is_list(value):
        first = len(spot.schema.get("prefixItems", ()))
        for index in range(first, len(value)):
            yield from spot.checker.check(value[index], spot.wanted, f"{spot.path}[{index}]", spot.depth + 1)


def _prefix_items(value: Any, spot: _Spot) -> Iterator[SchemaFault]:
    if _is_list(value):
        for index, (item, inner) in enumerate(zip(value, spot.wanted, strict=False)):
            yield from spot.checker.check(item, inner, f"{spot.path}[{index}]", spot.depth + 1)


def _unique(value: Any, spot: _Spot) -> Iterator[SchemaFault]:
    if spot.wanted and _is_list(value):
        for index, item in enumerate(value):
            if any(_same(item, other) for other in value[:index]):
                yield spot.fault(f"{_shown(item)} stands in it twice")
                return


def _count(of: Callable[[Any], bool], things: str, *, least: bool) -> _Test:
    def test(value: Any, spot: _Spot) -> Iterator[SchemaFault]:
        if of(value) and least and len(value) < spot.wanted:
            yield spot.fault(f"has {len(value)} {things}, at least {spot.wanted} are needed")
        elif of(value) and not least and len(value) > spot.wanted:
            yield spot.fault(f"has {len(value)} {things}, at most {spot.wanted} are allowed")

    return test


def _pattern(value: Any, spot: _Spot) -> Iterator[SchemaFault]:
    if isinstance(value, str) and not _found(spot.checker, spot.wanted, value):
        yield spot.fault(f"{_shown(value)} does not match {spot.wanted}")


def _found(checker: _Checker, pattern: str, text: str) -> bool:
    try:
        return search(text, pattern, checker.meter)
    except ExprError as error:
        raise UnusableSchema(str(error)) from error


def _bound(words: str, holds: Callable[[Any, Any], bool]) -> _Test:
    def test(value: Any, spot: _Spot) -> Iterator[SchemaFault]:
        if _is_number(value) and not holds(value, spot.wanted):
            yield spot.fault(f"is {value}, {words} {spot.wanted}")

    return test


def _multiple(value: Any, spot: _Spot) -> Iterator[SchemaFault]:
    # Exact: floats would call 9223372036854775807 a multiple of 2, and 0.3 none of 0.1.
    if _is_number(value) and Fraction(str(value)) % Fraction(str(spot.wanted)):
        yield spot.fault(f"is {value}, not a multiple of {spot.wanted}")


def _all_of(value: Any, spot: _Spot) -> Iterator[SchemaFault]:
    for inner in spot.wanted:
        yield from spot.checker.check(value, inner, spot.path, spot.depth + 1)


def _any_of(value: Any, spot: _Spot) -> Iterator[SchemaFault]:
    if not any(spot.checker.is_valid(value, inner, spot) for inner in spot.wanted):
        yield spot.fault(f"fits none of the {len(spot.wanted)} shapes it may have")


def _one_of(value: Any, spot: _Spot) -> Iterator[SchemaFault]:
    fitting = sum(spot.checker.is_valid(value, inner, spot) for inner in spot.wanted)
    if fitting != 1:
        yield spot.fault(f"fits {fitting} of the {len(spot.wanted)} shapes of which it must have exactly one")


def _not(value: Any, spot: _Spot) -> Iterator[SchemaFault]:
    if spot.checker.is_valid(value, spot.wanted, spot):
        yield spot.fault("has the one shape it must not have")


def _ref(value: Any, spot: _Spot) -> Iterator[SchemaFault]:
    part = part_of(str(spot.wanted), spot.checker.root)
    if part is None:
        raise UnusableSchema(f"the schema refers to {spot.wanted}, which is not in it")
    yield from spot.checker.check(value, part, spot.path, spot.depth + 1)


KEYWORDS: Final[Mapping[str, _Test]] = {
    "$ref": _ref,
    "type": _type,
    "enum": _enum,
    "const": _const,
    "required": _required,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional,
    "minProperties": _count(_TYPES["object"], "fields", least=True),
    "maxProperties": _count(_TYPES["object"], "fields", least=False),
    "items": _items,
    "prefixItems": _prefix_items,
    "minItems": _count(_TYPES["array"], "items", least=True),
    "maxItems": _count(_TYPES["array"], "items", least=False),
    "uniqueItems": _unique,
    "minLength": _count(_TYPES["string"], "characters", least=True),
    "maxLength": _count(_TYPES["string"], "characters", least=False),
    "pattern": _pattern,
    "minimum": _bound("less than", lambda value, bound: value >= bound),
    "maximum": _bound("more than", lambda value, bound: value <= bound),
    "exclusiveMinimum": _bound("not more than", lambda value, bound: value > bound),
    "exclusiveMaximum": _bound("not less than", lambda value, bound: value < bound),
    "multipleOf": _multiple,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "allOf": _all_of,
    "not": _not,
}
