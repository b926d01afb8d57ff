"""The values of expressions: their kinds, their bounds, and the errors about them.

A value is a JSON value. A list may be any Sequence and a map any Mapping, even a lazy one: the code uses only `in`,
`[]`, `len` and iteration on them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, TypeGuard, cast

from podium.core.types import Millis

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
Kind: TypeAlias = Literal["null", "boolean", "number", "text", "list", "map"]

MAX_TEXT: Final = 2**20
MAX_ELEMENTS: Final = 10_000
MAX_DEPTH: Final = 50
MAX_INT: Final = 2**63 - 1
MIN_INT: Final = -(2**63)
MAX_NODES: Final = 200

# Work is counted in units of about 10 ns, so that no evaluation takes much more than 100 ms.
MAX_WORK: Final = 10_000_000
PER_VALUE: Final = 60
PER_ITEM: Final = 20

_DURATION: Final = re.compile(r"(?:(\d{1,18})d)?(?:(\d{1,18})h)?(?:(\d{1,18})m)?(?:(\d{1,18})s)?")
_SECONDS: Final = (86_400, 3_600, 60, 1)
_LONGEST_S: Final = 3650 * 86_400


class ExprError(Exception):
    """An expression cannot be evaluated."""


class MissingValue(ExprError):
    """A name, field or element does not exist. `default(x, y)` handles exactly this error."""

    def __str__(self) -> str:
        return f"E_VAR_MISSING: {super().__str__()}"


class WrongType(ExprError):
    """A value has the wrong kind for the operation."""


class TooBig(ExprError):
    """A value, or the work to compute it, exceeds a bound."""


class Meter:
    """Counts the work of one evaluation and stops it at a bound.

    With a clock the outcome would depend on the machine; the counted work is the same in every replay.
    """

    __slots__ = ("nodes", "work")

    def __init__(self, work: int = MAX_WORK) -> None:
        self.work = work
        self.nodes = MAX_NODES

    def enter(self) -> None:
        self.nodes -= 1
        if self.nodes < 0:
            raise TooBig(f"the expression has more than {MAX_NODES} parts")

    def spend(self, work: int) -> None:
        self.work -= work
        if self.work < 0:
            raise TooBig("this is too much work; use less data")


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
    kind = _KINDS.get(type(value))
    if kind is not None:
        return kind
    if isinstance(value, Mapping):
        return "map"
    if isinstance(value, str):
        return "text"
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return "list"
    raise WrongType(f"an expression cannot use a value of type {type(value).__name__}")


def phrase(kind: Kind) -> str:
    """The kind as a phrase for a message: `text`, `a number`."""
    return _PHRASES[kind]


def is_list(value: Json) -> TypeGuard[Sequence[Json]]:
    return kind_of(value) == "list"


def is_map(value: Json) -> TypeGuard[Mapping[str, Json]]:
    return kind_of(value) == "map"


def is_number(value: Json) -> TypeGuard[int | float]:
    return type(value) is int or type(value) is float


def bounded(value: Json) -> Json:
    """The value itself; raises TooBig if it is too large for a result."""
    if isinstance(value, str):
        if len(value) > MAX_TEXT:
            raise TooBig(f"a text of {len(value)} characters; the maximum is {MAX_TEXT}")
        return value
    if is_list(value) and len(value) > MAX_ELEMENTS:
        raise TooBig(f"a list of {len(value)} elements; the maximum is {MAX_ELEMENTS}")
    return finite(value) if is_number(value) else value


def finite(value: int | float) -> int | float:
    if isinstance(value, int) and not MIN_INT <= value <= MAX_INT:
        raise TooBig("the integer does not fit into 64 bits")
    if not math.isfinite(value):
        raise TooBig("the number is infinite or NaN")
    return value


def identity(value: Json, meter: Meter, depth: int = 0) -> Hashable:
    """A hashable key, equal for equal values: 1 equals 1.0, but not true."""
    kind = kind_of(value)
    meter.spend(PER_VALUE)
    if depth > MAX_DEPTH:
        raise TooBig(f"the value is nested more than {MAX_DEPTH} levels deep")
    if is_list(value):
        return kind, tuple(identity(item, meter, depth + 1) for item in value)
    if is_map(value):
        return kind, frozenset((key, identity(value[key], meter, depth + 1)) for key in value)
    return kind, cast(Hashable, value)


def plain(value: Json, meter: Meter, depth: int = 0) -> Any:
    """The value as dicts, lists and scalars, within the bounds, because the JSON encoder accepts no other maps."""
    meter.spend(PER_VALUE)
    if depth > MAX_DEPTH:
        raise TooBig(f"the value is nested more than {MAX_DEPTH} levels deep")
    bounded(value)
    if is_list(value):
        return [plain(item, meter, depth + 1) for item in value]
    if is_map(value):
        return {key: plain(value[key], meter, depth + 1) for key in value}
    return value


def plain_json(value: Any) -> Any:
    """The value with plain dicts and lists, for the JSON encoder; without the bounds of expressions."""
    if isinstance(value, Mapping):
        return {key: plain_json(item) for key, item in value.items()}
    return [plain_json(item) for item in value] if isinstance(value, list | tuple) else value


def as_json(value: Json, meter: Meter, indent: int | None = None) -> str:
    text = json.dumps(plain(value, meter), ensure_ascii=False, allow_nan=False, indent=indent)
    bounded(text)
    return text


def as_text(value: Json, meter: Meter) -> str:
    """The text of a value that is inserted into a text."""
    if isinstance(value, str):
        bounded(value)
        return value
    if value is None:
        raise MissingValue("null cannot be inserted into a text")
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(finite(value)) if is_number(value) else as_json(value, meter)


def text_of(value: Json, function: str) -> str:
    if not isinstance(value, str):
        raise WrongType(f"{function} needs text, not {phrase(kind_of(value))}")
    return value


def list_of(value: Json, function: str) -> Sequence[Json]:
    if not is_list(value):
        raise WrongType(f"{function} needs a list, not {phrase(kind_of(value))}")
    return value


def parse_duration(value: object) -> Millis:
    """`90s`, `5m`, `1h30m` or 0; raises ValueError with what a duration looks like."""
    match = _DURATION.fullmatch(value) if isinstance(value, str) and value else None
    if match is not None:
        parts = zip(match.groups("0"), _SECONDS, strict=True)
        seconds = sum(int(part) * unit for part, unit in parts)
        if seconds > _LONGEST_S:
            raise ValueError("at most 3650d, which is ten years")
        return Millis(1000 * seconds)
    if value == 0 and not isinstance(value, bool):
        return Millis(0)
    raise ValueError("a duration such as 90s, 5m or 1h30m")
