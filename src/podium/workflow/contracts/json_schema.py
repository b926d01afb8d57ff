"""Validates a value against a JSON Schema, with the keywords that our own schemas and ordinary schema files use.

Whether a schema uses only these keywords is checked when its file is loaded (`workflow/contracts/schema_check.py`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from podium.core.expressions.regex import search
from podium.core.expressions.values import ExprError, Meter
from podium.fast_dataclass import dataclass
from podium.workflow.contracts import schema_check
from podium.workflow.contracts.schema_check import part_of

MAX_FAULTS: Final = 10
MAX_DEPTH: Final = 100

NOTES: Final = schema_check.NOTES | {"$defs", "definitions"}

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SchemaFault:
    """`path` is the path of the value, such as `$.steps[2].title`."""

    path: str
    message: str

    def __str__(self) -> str:
        place = self.path.removeprefix("$").removeprefix(".")
        if place:
            return f"{place}: {self.message}"
        return f"it {self.message}" if self.message.startswith("is ") else self.message


class UnusableSchema(Exception):
    """Raised for a schema that no value can be validated against; the message says why."""


def faults_of(value: Any, schema: Any) -> tuple[SchemaFault, ...]:
    """The faults of the value, at most MAX_FAULTS; empty if it is valid. Raises UnusableSchema."""
    faults: list[SchemaFault] = []
    for fault in _Checker(schema, Meter()).check(value, schema, "$", 0):
        faults.append(fault)
        if len(faults) == MAX_FAULTS:
            break
    return tuple(faults)


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
            raise UnusableSchema("the schema refers to itself without end")
        if not isinstance(schema, Mapping):
            raise UnusableSchema("a part of the schema is neither a map nor true or false")
        for key, argument in schema.items():
            if key in NOTES:
                continue
            test = KEYWORDS.get(key)
            if test is None:
                raise UnusableSchema(f'the schema uses "{key}", which Podium cannot check')
            yield from test(value, _Keyword(self, argument, schema, path, depth))

    def is_valid(self, value: Any, schema: Any, keyword: _Keyword) -> bool:
        return next(self.check(value, schema, keyword.path, keyword.depth + 1), None) is None


@dataclass(frozen=True, slots=True)
class _Keyword:
    checker: _Checker
    argument: Any
    """The value of the keyword in the schema."""
    schema: Schema
    path: str
    depth: int

    def fault(self, message: str) -> SchemaFault:
        return SchemaFault(self.path, message)


_Test = Callable[[Any, _Keyword], Iterator[SchemaFault]]


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


def _type(value: Any, keyword: _Keyword) -> Iterator[SchemaFault]:
    words = [keyword.argument] if isinstance(keyword.argument, str) else list(keyword.argument)
    for word in words:
        if word not in _TYPES:
            raise UnusableSchema(f'the schema uses the unknown type "{word}"')
    if not any(_TYPES[word](value) for word in words):
        yield keyword.fault(f"is {type_name(value)}, not {' or '.join(words)}")


def _json_equal(one: Any, other: Any) -> bool:
    """JSON equality: 1 and 1.0 are equal, 1 and true are not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if _is_list(one) and _is_list(other):
        return len(one) == len(other) and all(map(_json_equal, one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_json_equal(one[key], other[key]) for key in one)
    return bool(one == other)


def _enum(value: Any, keyword: _Keyword) -> Iterator[SchemaFault]:
    if not any(_json_equal(value, choice) for choice in keyword.argument):
        yield keyword.fault(f"is {_preview(value)}, not one of {', '.join(map(_preview, keyword.argument))}")


def _const(value: Any, keyword: _Keyword) -> Iterator[SchemaFault]:
    if not _json_equal(value, keyword.argument):
        yield keyword.fault(f"is {_preview(value)}, not {_preview(keyword.argument)}")


def _preview(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=lambda other: type(other).__name__)
    return text if len(text) <= 60 else text[:57] + "..."


def _required(value: Any, keyword: _Keyword) -> Iterator[SchemaFault]:
    if isinstance(value, Mapping):
        for name in keyword.argument:
            if name not in value:
                yield keyword.fault(f'"{name}" is missing')


def _properties(value: Any, keyword: _Keyword) -> Iterator[SchemaFault]:
    if isinstance(value, Mapping):
        for name, inner in keyword.argument.items():
            if name in value:
                yield from keyword.checker.check(
                    value[name], inner, f"{keyword.path}.{name}", keyword.depth + 1
                )


def _pattern_properties(value: Any, keyword: _Keyword) -> Iterator[SchemaFault]:
    if isinstance(value, Mapping):
        for pattern, inner in keyword.argument.items():
            for name in value:
                if _matches(keyword.checker, pattern, name):
                    yield from keyword.checker.check(
                        value[name], inner, f"{keyword.path}.{name}", keyword.depth + 1
                    )


def _additional(value: Any, keyword: _Keyword) -> Iterator[SchemaFault]:
    if not isinstance(value, Mapping):
        return
    declared = keyword.schema.get("properties", {})
    patterns = keyword.schema.get("patternProperties", {})
    for name in value:
        if name in declared or any(_matches(keyword.checker, pattern, name) for pattern in patterns):
            continue
        if keyword.argument is False:
            yield keyword.fault(f'"{name}" is not an allowed field')
        else:
            yield from keyword.checker.check(
                value[name], keyword.argument, f"{keyword.path}.{name}", keyword.depth + 1
            )


def _items(value: Any, keyword: _Keyword) -> Iterator[SchemaFault]:
    if _is_list(value):
        first = len(keyword.schema.get("prefixItems", ()))
        for index in range(first, len(value)):
            yield from keyword.checker.check(
                value[index], keyword.argument, f"{keyword.path}[{index}]", keyword.depth + 1
            )


def _prefix_items(value: Any, keyword: _Keyword) -> Iterator[SchemaFault]:
    if _is_list(value):
        for index, (item, inner) in enumerate(zip(value, keyword.argument, strict=False)):
            yield from keyword.checker.check(item, inner, f"{keyword.path}[{index}]", keyword.depth + 1)


def _unique(value: Any, keyword: _Keyword) -> Iterator[SchemaFault]:
    if keyword.argument and _is_list(value):
        for index, item in enumerate(value):
            if any(_json_equal(item, other) for other in value[:index]):
                yield keyword.fault(f"contains {_preview(item)} twice")
                return


def _count(of: Callable[[Any], bool], things: str, *, is_minimum: bool) -> _Test:
    def test(value: Any, keyword: _Keyword) -> Iterator[SchemaFault]:
        if of(value) and is_minimum and len(value) < keyword.argument:
            yield keyword.fault(f"has {len(value)} {things}, at least {keyword.argument} are needed")
        elif of(value) and not is_minimum and len(value) > keyword.argument:
            yield keyword.fault(f"has {len(value)} {things}, at most {keyword.argument} are allowed")

    return test


def _pattern(value: Any, keyword: _Keyword) -> Iterator[SchemaFault]:
    if isinstance(value, str) and not _matches(keyword.checker, keyword.argument, value):
        yield keyword.fault(f"{_preview(value)} does not match {keyword.argument}")


def _matches(checker: _Checker, pattern: str, text: str) -> bool:
    try:
        return search(text, pattern, checker.meter)
    except ExprError as error:
        raise UnusableSchema(str(error)) from error


def _limit(comparison: str, holds: Callable[[Any, Any], bool]) -> _Test:
    def test(value: Any, keyword: _Keyword) -> Iterator[SchemaFault]:
        if _is_number(value) and not holds(value, keyword.argument):
            yield keyword.fault(f"is {value}, {comparison} {keyword.argument}")

    return test


def _multiple(value: Any, keyword: _Keyword) -> Iterator[SchemaFault]:
    # Exact, because floats make 9223372036854775807 a multiple of 2, and 0.3 not one of 0.1.
    if _is_number(value) and Fraction(str(value)) % Fraction(str(keyword.argument)):
        yield keyword.fault(f"is {value}, not a multiple of {keyword.argument}")


def _all_of(value: Any, keyword: _Keyword) -> Iterator[SchemaFault]:
    for inner in keyword.argument:
        yield from keyword.checker.check(value, inner, keyword.path, keyword.depth + 1)


def _any_of(value: Any, keyword: _Keyword) -> Iterator[SchemaFault]:
    if not any(keyword.checker.is_valid(value, inner, keyword) for inner in keyword.argument):
        yield keyword.fault(f"matches none of the {len(keyword.argument)} allowed shapes")


def _one_of(value: Any, keyword: _Keyword) -> Iterator[SchemaFault]:
    matching = sum(keyword.checker.is_valid(value, inner, keyword) for inner in keyword.argument)
    if matching != 1:
        yield keyword.fault(
            f"matches {matching} of {len(keyword.argument)} shapes and must match exactly one"
        )


def _not(value: Any, keyword: _Keyword) -> Iterator[SchemaFault]:
    if keyword.checker.is_valid(value, keyword.argument, keyword):
        yield keyword.fault("has a shape that is not allowed")


def _ref(value: Any, keyword: _Keyword) -> Iterator[SchemaFault]:
    part = part_of(str(keyword.argument), keyword.checker.root)
    if part is None:
        raise UnusableSchema(f"the schema refers to {keyword.argument}, which is not in it")
    yield from keyword.checker.check(value, part, keyword.path, keyword.depth + 1)


KEYWORDS: Final[Mapping[str, _Test]] = {
    "$ref": _ref,
    "type": _type,
    "enum": _enum,
    "const": _const,
    "required": _required,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional,
    "minProperties": _count(_TYPES["object"], "fields", is_minimum=True),
    "maxProperties": _count(_TYPES["object"], "fields", is_minimum=False),
    "items": _items,
    "prefixItems": _prefix_items,
    "minItems": _count(_TYPES["array"], "items", is_minimum=True),
    "maxItems": _count(_TYPES["array"], "items", is_minimum=False),
    "uniqueItems": _unique,
    "minLength": _count(_TYPES["string"], "characters", is_minimum=True),
    "maxLength": _count(_TYPES["string"], "characters", is_minimum=False),
    "pattern": _pattern,
    "minimum": _limit("less than", lambda value, bound: value >= bound),
    "maximum": _limit("more than", lambda value, bound: value <= bound),
    "exclusiveMinimum": _limit("not more than", lambda value, bound: value > bound),
    "exclusiveMaximum": _limit("not less than", lambda value, bound: value < bound),
    "multipleOf": _multiple,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "allOf": _all_of,
    "not": _not,
}
