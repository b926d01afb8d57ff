"""The operators of expressions. They never convert values: a value of the wrong kind is an error."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, TypeAlias

from podium.core.expressions.values import (
    PER_ITEM,
    ExprError,
    Json,
    Meter,
    MissingValue,
    WrongType,
    finite,
    identity,
    is_list,
    is_map,
    is_number,
    kind_of,
    phrase,
)

CompareSign: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">=", "in", "not in"]
ArithmeticSign: TypeAlias = Literal["+", "-", "*", "/", "//", "%"]

_ORDER: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC: Final[Mapping[str, Callable[[Any, Any], int | float]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}


def compare(sign: CompareSign, left: Json, right: Json, meter: Meter) -> bool:
    match sign:
        case "==":
            return _equal(left, right, meter)
        case "!=":
            return not _equal(left, right, meter)
        case "in":
            return _contains(right, left, meter)
        case "not in":
            return not _contains(right, left, meter)
        case _:
            return _ordered(sign, left, right)


def arithmetic(sign: ArithmeticSign, left: Json, right: Json) -> int | float:
    first, second = number(left, sign), number(right, sign)
    if second == 0 and sign in ("/", "//", "%"):
        raise ExprError("cannot divide by zero")
    return finite(_ARITHMETIC[sign](first, second))


def number(value: Json, sign: str) -> int | float:
    if not is_number(value):
        raise WrongType(f'"{sign}" needs numbers, not {phrase(kind_of(value))}')
    return finite(value)


def truth(value: Json, operator_name: str) -> bool:
    if not isinstance(value, bool):
        raise WrongType(f"{operator_name} needs true or false, not {phrase(kind_of(value))}")
    return value


def field(value: Json, name: str, name_of_value: Callable[[], str]) -> Json:
    """The field of a map. `name_of_value` returns the name of the value for an error message."""
    if is_map(value):
        # No `in` test first, because a lazy map would then compute the value twice.
        try:
            return value[name]
        except KeyError:
            raise MissingValue(f'{name_of_value()} has no "{name}"') from None
    if value is None:
        raise MissingValue(f'{name_of_value()} is null and has no "{name}"')
    raise WrongType(f'{name_of_value()} is {phrase(kind_of(value))} and has no "{name}"')


def item(value: Json, index: Json, name_of_value: Callable[[], str]) -> Json:
    if isinstance(index, str):
        return field(value, index, name_of_value)
    if value is None:
        raise MissingValue(f"{name_of_value()} is null and has no elements")
    if not is_list(value) or type(index) is not int:
        wrong = phrase(kind_of(index))
        raise WrongType(f"{name_of_value()} is {phrase(kind_of(value))}; {wrong} cannot select from it")
    if not -len(value) <= index < len(value):
        raise MissingValue(f"{name_of_value()} has {len(value)} elements and no [{index}]")
    return value[index]


def _equal(left: Json, right: Json, meter: Meter) -> bool:
    if left is None or right is None:
        return left is right
    _same_kind(left, right)
    return identity(left, meter) == identity(right, meter)


def _ordered(sign: str, left: Json, right: Json) -> bool:
    _same_kind(left, right)
    if not (is_number(left) or isinstance(left, str)):
        raise WrongType(f'"{sign}" needs numbers or texts, not {phrase(kind_of(left))}')
    return _ORDER[sign](left, right)


def _same_kind(left: Json, right: Json) -> None:
    if kind_of(left) != kind_of(right):
        raise WrongType(f"cannot compare {phrase(kind_of(left))} with {phrase(kind_of(right))}")


def _contains(container: Json, element: Json, meter: Meter) -> bool:
    if is_list(container):
        meter.spend(PER_ITEM * len(container))
        target = identity(element, meter)
        return any(identity(item, meter) == target for item in container)
    if isinstance(element, str) and isinstance(container, str):
        meter.spend(len(container) + len(element))
        return element in container
    if isinstance(element, str) and is_map(container):
        return element in container
    raise WrongType(f"cannot look for {phrase(kind_of(element))} in {phrase(kind_of(container))}")
