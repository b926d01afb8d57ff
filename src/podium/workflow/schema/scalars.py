"""Scalar values of the language: durations, tokens, percentages, and values with several forms.

Each is a function from a YAML value to a plain value, together with the JSON Schema of what may be written. The
schema uses them as `Annotated[type, Scalar(...)]`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

from podium.core.expressions.values import parse_duration
from podium.core.queries.computed import parse_share, parse_tokens
from podium.core.types import Millis
from podium.workflow.schema.fields import InvalidValue, Scalar, Schema

INSERT: Final = "${{"
"""Begins a value that is known only at run time."""


def is_insert(value: Any) -> bool:
    """Whether a value is exactly one `${{ }}`, so that it may become a list."""
    text = value.strip() if isinstance(value, str) else ""
    return text.startswith(INSERT) and text.endswith("}}") and text.count(INSERT) == 1


NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
MEMORY_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,62}")

_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)
_SIZE_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SHARE: Final = re.compile(r"(\d{1,3})%")
_TIME: Final = re.compile("([01]?[0-9]|2[0-3]):[0-5][0-9]")
"""Ten years; a later time could not be shown as a date."""


def number(value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        if value >= 0:
            return value
        raise InvalidValue("at least 0")
    raise InvalidValue("a number")


def whole_number(value: Any, minimum: int = 0) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidValue("a whole number")
    if value < minimum:
        raise InvalidValue("above 0" if minimum == 1 else f"at least {minimum}")
    return value


def positive(value: Any) -> int:
    return whole_number(value, 1)


def score(value: Any) -> int:
    if whole_number(value, 1) > 10:
        raise InvalidValue("at most 10")
    return int(value)


def time_of_day(value: Any) -> str:
    if isinstance(value, str) and _TIME.fullmatch(value):
        return value
    raise InvalidValue('a time of day such as "06:00"')


def duration(value: Any) -> Millis:
    try:
        return parse_duration(value)
    except ValueError as error:
        raise InvalidValue(str(error)) from error


def or_insert(parse: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Also takes one `${{ }}`, whose value the inputs decide (`core/queries/computed.py`)."""
    return lambda value: value if isinstance(value, str) and INSERT in value else parse(value)


def literal(value: Any) -> Any:
    """The value as far as the file says it: None for a `${{ }}`."""
    return None if isinstance(value, str) and INSERT in value else value


def tokens(value: Any) -> int:
    try:
        return parse_tokens(value)
    except ValueError as error:
        raise InvalidValue(str(error)) from error


def size(value: Any) -> int:
    """A number of bytes, with a unit of 1024, its square or so."""
    match = _SIZE.fullmatch(str(value).strip()) if isinstance(value, str | int) else None
    number = 0 if match is None else int(float(match[1]) * _SIZE_UNITS[match[2].lower()])
    if match is None or isinstance(value, bool) or not number:
        raise InvalidValue("a size such as 512M or 20G")
    return number


def share(value: Any) -> int:
    """A percentage as a number from 0 to 100."""
    try:
        return parse_share(value)
    except ValueError as error:
        raise InvalidValue(str(error)) from error


def portion(value: Any) -> float:
    """A part of a whole, from 0 to 1."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return value
    raise InvalidValue("a number from 0 to 1")


def pass_rule(value: Any) -> str | int | float:
    if isinstance(value, str) and value in {"all", "any", "majority", "done"}:
        return value
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    match = _SHARE.fullmatch(value) if isinstance(value, str) else None
    if match is None or int(match[1]) > 100:
        raise InvalidValue("all, any, majority, done, a number or a percentage such as 95%")
    return int(match[1]) / 100


DONE: Final = "done"
"""The rule of members that only have to end."""


class Needs(tuple[str, ...]):  # noqa: SLOT001 (`rule` is an attribute)
    """The steps that a step needs; `rule` is how many of them must have passed when all have ended."""

    rule: Literal["all", "any", "done"] = "all"


def needs(value: Any) -> Needs:
    """A list of steps, or `{of: [...], pass: any}`."""
    is_map = isinstance(value, Mapping)
    names, rule = (value.get("of"), value.get("pass", "all")) if is_map else (value, "all")
    if (
        not isinstance(names, list)
        or rule not in ("all", "any", DONE)
        or (is_map and set(value) - {"of", "pass"})
    ):
        raise InvalidValue("a list of steps, or {of: [a, b], pass: any} with all, any or done")
    if not all(isinstance(name, str) for name in names):
        raise InvalidValue("a list of names of steps")
    result = Needs(names)
    result.rule = rule  # type: ignore[assignment]  # checked above
    return result


def count(value: Any) -> int | str:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    if isinstance(value, str) and INSERT in value:
        return value
    raise InvalidValue("a number above 0")


def parallel(value: Any) -> int | str | bool:
    return value if isinstance(value, bool) else _or_expected(count, value, "true or a number above 0")


def expression(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    raise InvalidValue("an expression")


def join(value: Any) -> str | int:
    if isinstance(value, str) and value in {"queue", "best", "discard"}:
        return value
    if isinstance(value, dict) and list(value) == ["batch"]:
        size = value["batch"]
        if isinstance(size, int) and not isinstance(size, bool) and size > 0:
            return size
    raise InvalidValue("queue, best, discard or {batch: n}")


def continuity(value: Any) -> int:
    """How many turns of the last conversation are kept; 0 starts a new one."""
    if value == "fresh":
        return 0
    if isinstance(value, dict) and list(value) == ["turns"]:
        turns = value["turns"]
        if isinstance(turns, int) and not isinstance(turns, bool) and turns > 0:
            return turns
    raise InvalidValue("fresh or {turns: n}")


def history_depth(value: Any) -> int | str:
    if value == "full":
        return "full"
    return int(_or_expected(positive, value, "full or a number of commits"))


def one_or_more(value: Any) -> str | tuple[str, ...]:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise InvalidValue("a name or a list of names")


def texts(value: Any) -> tuple[str, ...]:
    words = () if value == [] else one_or_more(value)
    return (words,) if isinstance(words, str) else words


def globs(value: Any) -> str | tuple[str, ...]:
    if isinstance(value, str) and INSERT in value:
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise InvalidValue("a list of paths, or one ${{ }} whose value is such a list")


def network(value: Any) -> str | tuple[str, ...]:
    if value == "open":
        return "open"
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise InvalidValue("open or a list of hosts")


def memory_name(value: Any) -> str:
    """A name that is one component of a ref and the name of a folder as it is."""
    if isinstance(value, str) and MEMORY_NAME.fullmatch(value):
        return value
    raise InvalidValue(
        "a name such as lessons: at most 63 small letters, digits, _ and -, the first a letter"
    )


def _or_expected(parse: Callable[[Any], Any], value: Any, expected: str) -> Any:
    try:
        return parse(value)
    except InvalidValue:
        raise InvalidValue(expected) from None


TEXT: Final[Schema] = {"type": "string"}
INSERTED: Final[Schema] = {"type": "string", "pattern": r"\$\{\{"}
_POSITIVE: Final[Schema] = {"type": "integer", "minimum": 1}
TEXTS: Final[Schema] = {"type": "array", "items": TEXT}
_SHARE_TEXT: Final[Schema] = {"type": "string", "pattern": "^[0-9]{1,3}%$"}


def _map_of(key: str) -> Schema:
    return {
        "type": "object",
        "properties": {key: _POSITIVE},
        "required": [key],
        "additionalProperties": False,
    }


Number: TypeAlias = Annotated[float, Scalar(number, {"type": "number", "minimum": 0})]
Portion: TypeAlias = Annotated[float, Scalar(portion, {"type": "number", "minimum": 0, "maximum": 1})]
Whole: TypeAlias = Annotated[int, Scalar(whole_number, {"type": "integer", "minimum": 0})]
Positive: TypeAlias = Annotated[int, Scalar(positive, _POSITIVE)]
Score: TypeAlias = Annotated[int, Scalar(score, {"type": "integer", "minimum": 1, "maximum": 10})]
TimeOfDay: TypeAlias = Annotated[
    str, Scalar(time_of_day, {"type": "string", "pattern": f"^({_TIME.pattern})$"})
]
Duration: TypeAlias = Annotated[
    Millis,
    Scalar(duration, {"anyOf": [{"type": "string", "pattern": "^([0-9]+[dhms])+$"}, {"const": 0}]}),
]
Tokens: TypeAlias = Annotated[
    int,
    Scalar(
        tokens,
        {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9.]+[kM]$"}]},
    ),
]
Size: TypeAlias = Annotated[
    int, Scalar(size, {"anyOf": [_POSITIVE, {"type": "string", "pattern": "^[0-9.]+ *[kKmMgGtT]?i?[bB]?$"}]})
]
MemoryName: TypeAlias = Annotated[
    str, Scalar(memory_name, {"type": "string", "pattern": f"^{MEMORY_NAME.pattern}$"})
]
Share: TypeAlias = Annotated[int, Scalar(share, _SHARE_TEXT)]
Pass: TypeAlias = Annotated[
    str | int | float,
    Scalar(pass_rule, {"anyOf": [{"enum": ["all", "any", "majority", "done"]}, _POSITIVE, _SHARE_TEXT]}),
]
_NAMES: Final[Schema] = {"type": "array", "items": {"type": "string"}}
NeedsText: TypeAlias = Annotated[
    Needs,
    Scalar(
        needs,
        {
            "anyOf": [
                _NAMES,
                {
                    "type": "object",
                    "properties": {"of": _NAMES, "pass": {"enum": ["all", "any", "done"]}},
                    "required": ["of"],
                    "additionalProperties": False,
                },
            ]
        },
    ),
]
CountText: TypeAlias = Annotated[int | str, Scalar(count, {"anyOf": [_POSITIVE, INSERTED]})]
Parallel: TypeAlias = Annotated[
    int | str | bool, Scalar(parallel, {"anyOf": [{"type": "boolean"}, _POSITIVE, INSERTED]})
]
Expression: TypeAlias = Annotated[str, Scalar(expression, {"type": ["string", "boolean"]})]
JoinText: TypeAlias = Annotated[
    str | int, Scalar(join, {"anyOf": [{"enum": ["queue", "best", "discard"]}, _map_of("batch")]})
]
Continuity: TypeAlias = Annotated[int, Scalar(continuity, {"anyOf": [{"const": "fresh"}, _map_of("turns")]})]
OneOrMore: TypeAlias = Annotated[
    str | tuple[str, ...], Scalar(one_or_more, {"anyOf": [TEXT, TEXTS | {"minItems": 1}]})
]
HistoryDepth: TypeAlias = Annotated[
    int | Literal["full"], Scalar(history_depth, {"anyOf": [_POSITIVE, {"const": "full"}]})
]
TextList: TypeAlias = Annotated[tuple[str, ...], Scalar(texts, {"anyOf": [TEXT, TEXTS]})]
Globs: TypeAlias = Annotated[str | tuple[str, ...], Scalar(globs, {"anyOf": [INSERTED, TEXTS]})]
DurationText: TypeAlias = Annotated[
    Millis | str,
    Scalar(
        or_insert(duration),
        {"anyOf": [{"type": "string", "pattern": "^([0-9]+[dhms])+$"}, {"const": 0}, INSERTED]},
    ),
]
NumberText: TypeAlias = Annotated[
    float | str, Scalar(or_insert(number), {"anyOf": [{"type": "number", "minimum": 0}, INSERTED]})
]
TokensText: TypeAlias = Annotated[
    int | str,
    Scalar(
        or_insert(tokens),
        {
            "anyOf": [
                {"type": "integer", "minimum": 0},
                {"type": "string", "pattern": "^[0-9.]+[kM]$"},
                INSERTED,
            ]
        },
    ),
]
PositiveText: TypeAlias = Annotated[int | str, Scalar(or_insert(positive), {"anyOf": [_POSITIVE, INSERTED]})]
ShareText: TypeAlias = Annotated[int | str, Scalar(or_insert(share), {"anyOf": [_SHARE_TEXT, INSERTED]})]
ScoreText: TypeAlias = Annotated[
    int | str,
    Scalar(or_insert(score), {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 10}, INSERTED]}),
]
Network: TypeAlias = Annotated[str | tuple[str, ...], Scalar(network, {"anyOf": [{"const": "open"}, TEXTS]})]
