"""The values an expression may hold: their kinds, their bounds, and what is raised when one does not fit.

Values are what JSON knows, nothing else. A list may be any Sequence and a map any Mapping, also a lazy one:
only `in`, `[]`, `len` and iteration are ever used on them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, TypeGuard, cast

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
Kind: TypeAlias = Literal["null", "boolean", "number", "text", "list", "map"]

MAX_TEXT: Final = 2**20
MAX_ELEMENTS: Final = 10_000
MAX_DEPTH: Final = 50
MAX_INT: Final = 2**63 - 1
MIN_INT: Final = -(2**63)
MAX_NODES: Final = 200

# Work is counted in units of roughly 10 ns, so that an evaluation stays near 100 ms even when all is used up.
MAX_WORK: Final = 10_000_000
PER_VALUE: Final = 60
PER_ITEM: Final = 20


class ExprError(Exception):
    """The expression cannot be evaluated; the message says why."""


class MissingValue(ExprError):
    """A name, field or element is not there. `default(x, y)` answers exactly this."""

    def __str__(self) -> str:
        return f"E_VAR_MISSING: {super().__str__()}"


class WrongType(ExprError):
    """A value is of another kind than what is done with it needs."""


class TooBig(ExprError):
    """A value or the work for it passes a bound."""


class Meter:
    """Counts the work of one evaluation, so that every expression ends soon, and at the same point everywhere.

    A clock would make the outcome depend on the machine; counted work is the same in a replay.
    """

    __slots__ = ("nodes", "work")

    def __init__(self, work: int = MAX_WORK) -> None:
        self.work = work
        self.nodes = MAX_NODES

    def enter(self) -> None:
        self.nodes -= 1
        if self.nodes < 0:
            raise TooBig(f"an expression has at most {MAX_NODES} parts")

    def spend(self, work: int) -> None:
        self.work -= work
        if self.work < 0:
            raise TooBig("this takes too much work; give it less data")


_KINDS: Final[Mapping[type, Kind]] = {
    type(None): "null",
    bool: "boolean",
    int: "number",
    float: "number",
    str: "text",
    list: "list",
    tuple: "list",
    dict: "map",
}
_PHRASES: Final[Mapping[Kind, str]] = {
    "null": "null",
    "boolean": "a boolean",
    "number": "a number",
    "text": "text",
    "list": "a list",
    "map": "a map",
}


def kind_of(value: Json) -> Kind:
    known = _KINDS.get(type(value))
    if known is not None:
        return known
    if isinstance(value, Mapping):
        return "map"
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        return "list"
    raise WrongType(f"{type(value).__name__} is not a value an expression can hold")


def phrase(kind: Kind) -> str:
    """As it stands in a message: `text`, `a number`."""
    return _PHRASES[kind]


def is_list(value: Json) -> TypeGuard[Sequence[Json]]:
    return kind_of(value) == "list"


def is_map(value: Json) -> TypeGuard[Mapping[str, Json]]:
    return kind_of(value) == "map"


def is_number(value: Json) -> TypeGuard[int | float]:
    return type(value) is int or type(value) is float


def bounded(value: Json) -> Json:
    """The value itself, if a result may be as big."""
    if isinstance(value, str) and len(value) > MAX_TEXT:
        raise TooBig(f"a text of {len(value)} characters; at most {MAX_TEXT}")
    if is_list(value) and len(value) > MAX_ELEMENTS:
        raise TooBig(f"a list of {len(value)} elements; at most {MAX_ELEMENTS}")
    return finite(value) if is_number(value) else value


def finite(value: int | float) -> int | float:
    if isinstance(value, int) and not MIN_INT <= value <= MAX_INT:
        raise TooBig("a whole number beyond 64 bits")
    if not math.isfinite(value):
        raise TooBig("a number that is infinite or not a number")
    return value


def identity(value: Json, meter: Meter, depth: int = 0) -> Hashable:
    """Equal for equal values and hashable: 1 and 1.0 are the same, 1 and true are not."""
    kind = kind_of(value)
    meter.spend(PER_VALUE)
    if depth > MAX_DEPTH:
        raise TooBig(f"a value is nested more than {MAX_DEPTH} deep")
    if is_list(value):
        return kind, tuple(identity(item, meter, depth + 1) for item in value)
    if is_map(value):
        return kind, frozenset((key, identity(value[key], meter, depth + 1)) for key in value)
    return kind, cast(Hashable, value)


def plain(value: Json, meter: Meter, depth: int = 0) -> Any:
    """The value as dict, list and scalars, all within the bounds; the JSON encoder knows no other maps."""
    meter.spend(PER_VALUE)
    if depth > MAX_DEPTH:
        raise TooBig(f"a value is nested more than {MAX_DEPTH} deep")
    bounded(value)
    if is_list(value):
        return [plain(item, meter, depth + 1) for item in value]
    if is_map(value):
        return {key: plain(value[key], meter, depth + 1) for key in value}
    return value


def as_json(value: Json, meter: Meter, indent: int | None = None) -> str:
    text = json.dumps(plain(value, meter), ensure_ascii=False, allow_nan=False, indent=indent)
    bounded(text)
    return text


def as_text(value: Json, meter: Meter) -> str:
    """How a value is written into a text."""
    if isinstance(value, str):
        bounded(value)
        return value
    if value is None:
        raise MissingValue("null cannot be written into a text")
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(finite(value)) if is_number(value) else as_json(value, meter)
