"""The functions of expressions and prompts: pure, bounded, and with the same result on every machine.

ARITY also lists `exists`, `glob` and `touched`, which depend on the project's files; the evaluator answers them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final

from podium.core.expressions.feature_functions import FUNCTIONS as INTERNAL
from podium.core.expressions.list_functions import ARITY as LIST_ARITY
from podium.core.expressions.list_functions import FUNCTIONS as LIST_FUNCTIONS
from podium.core.expressions.values import (
    MAX_ELEMENTS,
    MAX_TEXT,
    PER_ITEM,
    ExprError,
    Json,
    Meter,
    MissingValue,
    TooBig,
    WrongType,
    as_text,
    bounded,
    finite,
    identity,
    is_list,
    is_map,
    is_number,
    kind_of,
    list_of,
    phrase,
    plain,
    text_of,
)
from podium.core.globs import glob_matches

Arity = tuple[int, int | None]

_NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?", re.ASCII)
_WORD: Final = re.compile(r"[a-z0-9]+")
_PER_GLOB: Final = 500


def call(name: str, args: Sequence[Json], meter: Meter) -> Json:
    """Call a function that depends only on its arguments."""
    check_arity(name, len(args))
    if name in INTERNAL:
        return bounded(INTERNAL[name](*args))
    return bounded(_PURE[name](meter, *args))


def check_arity(name: str, count: int) -> None:
    if name in INTERNAL:
        return
    if name not in ARITY:
        raise WrongType(f'calls to "{name}" are not allowed')
    least, most = ARITY[name]
    if count < least or (most is not None and count > most):
        meant = "; the length of a list is len(list)" if (name, count) == ("count", 1) else ""
        raise WrongType(f"{name} takes {arity_phrase(name)}, not {count}{meant}")


def arity_phrase(name: str) -> str:
    least, most = ARITY[name]
    if most is None:
        return f"{least} or more arguments"
    if most == least:
        return "1 argument" if least == 1 else f"{least} arguments"
    return f"{least} to {most} arguments"


def touched(paths: Json, globs: Iterable[Json], meter: Meter) -> bool:
    """Whether any changed path matches any of the globs."""
    patterns = [text_of(glob, "touched") for glob in globs]
    changed = [text_of(path, "touched") for path in list_of(paths, "touched")]
    meter.spend(_PER_GLOB * len(patterns) * len(changed))
    return any(glob_matches(pattern, path) for pattern in patterns for path in changed)


def _default(_: Meter, value: Json, other: Json) -> Json:
    return other if value is None else value


def _len(_: Meter, value: Json) -> Json:
    if isinstance(value, str) or is_list(value) or is_map(value):
        return len(value)
    raise WrongType(f"len needs text, a list or a map, not {phrase(kind_of(value))}")


def _min(meter: Meter, *values: Json) -> Json:
    least: Json = min(_comparable("min", values, meter))
    return least


def _max(meter: Meter, *values: Json) -> Json:
    most: Json = max(_comparable("max", values, meter))
    return most


def _comparable(name: str, values: Sequence[Json], meter: Meter) -> Sequence[Any]:
    """Several values, or the elements of one list, if they are all numbers or all texts."""
    items = list_of(values[0], name) if len(values) == 1 else values
    if not items:
        raise MissingValue(f"{name} of an empty list")
    meter.spend(PER_ITEM * len(items))
    kinds = {kind_of(item) for item in items}
    if kinds not in ({"number"}, {"text"}):
        raise WrongType(f"{name} needs only numbers or only texts")
    return items


def _sum(meter: Meter, values: Json) -> Json:
    total: int | float = 0
    for value in _each("sum", values, meter):
        if not is_number(value):
            raise WrongType(f"sum needs numbers, not {phrase(kind_of(value))}")
        total = finite(total + finite(value))
    return total


def _any(meter: Meter, values: Json) -> Json:
    return any(_booleans("any", values, meter))


def _all(meter: Meter, values: Json) -> Json:
    return all(_booleans("all", values, meter))


def _booleans(name: str, values: Json, meter: Meter) -> list[bool]:
    booleans: list[bool] = []
    for value in _each(name, values, meter):
        if not isinstance(value, bool):
            raise WrongType(f"{name} needs a list of booleans; one element is {phrase(kind_of(value))}")
        booleans.append(value)
    return booleans


def _each(name: str, values: Json, meter: Meter) -> Sequence[Json]:
    items = list_of(values, name)
    meter.spend(PER_ITEM * len(items))
    return items


def _lower(meter: Meter, text: Json) -> Json:
    return _metered_text("lower", text, meter).lower()


def _upper(meter: Meter, text: Json) -> Json:
    return _metered_text("upper", text, meter).upper()


def _strip(meter: Meter, text: Json) -> Json:
    return _metered_text("strip", text, meter).strip()


def _metered_text(name: str, value: Json, meter: Meter) -> str:
    """The text, with the work of reading all of it counted."""
    text = text_of(value, name)
    if len(text) > MAX_TEXT:
        raise TooBig(f"{name} of a text of {len(text)} characters; the maximum is {MAX_TEXT}")
    meter.spend(len(text))
    return text


def _split(meter: Meter, text: Json, separator: Json = None) -> Json:
    mark = None if separator is None else text_of(separator, "split")
    if mark == "":
        raise ExprError("the separator of split must not be empty")
    return tuple(_metered_text("split", text, meter).split(mark, MAX_ELEMENTS))


def _lines(meter: Meter, text: Json) -> Json:
    """Split into lines without line ends; a final line end does not start another line."""
    rows = _metered_text("lines", text, meter).replace("\r\n", "\n").split("\n", MAX_ELEMENTS + 1)
    return tuple(rows[:-1] if rows[-1] == "" else rows)


def _join(meter: Meter, values: Json, separator: Json = "") -> Json:
    mark = text_of(separator, "join")
    parts: list[str] = []
    size = 0
    for value in _each("join", values, meter):
        if is_list(value) or is_map(value):
            raise WrongType(f"join needs texts and numbers, not {phrase(kind_of(value))}")
        parts.append(as_text(value, meter))
        size += len(parts[-1]) + len(mark)
        if size > MAX_TEXT + len(mark):
            raise TooBig(f"join makes a text of more than {MAX_TEXT} characters")
    meter.spend(size)
    return mark.join(parts)


def _json(meter: Meter, text: Json) -> Json:
    source = _metered_text("json", text, meter)
    meter.spend(2 * len(source))
    try:
        value = json.loads(source, parse_constant=_no_constant)
    except RecursionError as error:
        # It is beyond our bound in any case; the exact depth at which the parser gives up depends on the caller.
        raise TooBig("json is nested too deep") from error
    except ValueError as error:
        raise WrongType(f"this text is not JSON: {error}") from error
    parsed: Json = plain(value, meter)
    _check_texts(parsed)
    return parsed


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _check_texts(value: Json) -> None:
    """Refuse lone surrogates, which JSON can contain but UTF-8 cannot."""
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise WrongType("this JSON contains a lone surrogate") from error
    elif is_list(value):
        for item in value:
            _check_texts(item)
    elif is_map(value):
        for key, item in value.items():
            _check_texts(key)
            _check_texts(item)


def _number(meter: Meter, text: Json) -> Json:
    source = _metered_text("number", text, meter).strip()
    match = _NUMBER.fullmatch(source)
    if match is None:
        raise WrongType(f'"{source[:40]}" is not a number')
    if len(source) > 400:
        raise TooBig("a number with more than 400 characters")
    return finite(float(source) if match[1] or match[2] else int(source))


def _slug(meter: Meter, text: Json, longest: Json = None) -> Json:
    """The words joined by dashes, only as many as fit into `longest` characters, at least the first."""
    words = _WORD.findall(_metered_text("slug", text, meter).lower())
    if longest is None:
        return "-".join(words)
    if isinstance(longest, bool) or not isinstance(longest, int):
        raise WrongType("the length of slug must be a whole number")
    ends = [*accumulate(words, lambda length, word: length + 1 + len(word), initial=-1)][1:]
    fitting = sum(end <= longest for end in ends)
    return "-".join(words[: max(1, fitting)])[: max(1, longest)]


def _range(meter: Meter, *bounds: Json) -> Json:
    numbers: list[int] = []
    for bound in bounds:
        if type(bound) is not int:
            raise WrongType(f"range needs whole numbers, not {phrase(kind_of(bound))}")
        numbers.append(int(finite(bound)))
    if len(numbers) == 3 and numbers[2] == 0:
        raise ExprError("the step of range must not be 0")
    span = range(*numbers)
    # len() of a range overflows beyond the machine's word size, so index into it instead.
    if span[MAX_ELEMENTS : MAX_ELEMENTS + 1]:
        raise TooBig(f"range of more than {MAX_ELEMENTS} elements")
    meter.spend(PER_ITEM * len(span))
    return tuple(span)


def _unique(meter: Meter, values: Json) -> Json:
    first: dict[Hashable, Json] = {}
    for value in _each("unique", values, meter):
        first.setdefault(identity(value, meter), value)
    return tuple(first.values())


def _matches(meter: Meter, text: Json, pattern: Json) -> Json:
    subject = text_of(text, "matches")
    if len(subject) > MAX_TEXT:
        raise TooBig(f"matches on a text of {len(subject)} characters; the maximum is {MAX_TEXT}")
    from podium.core.expressions.regex import search

    return search(subject, text_of(pattern, "matches"), meter)


_PURE: Final[Mapping[str, Callable[..., Json]]] = {
    "default": _default,
    "len": _len,
    "min": _min,
    "max": _max,
    "sum": _sum,
    "any": _any,
    "all": _all,
    "lower": _lower,
    "upper": _upper,
    "strip": _strip,
    "split": _split,
    "join": _join,
    "lines": _lines,
    "json": _json,
    "number": _number,
    "slug": _slug,
    "range": _range,
    "unique": _unique,
    "matches": _matches,
    **LIST_FUNCTIONS,
}

ARITY: Final[Mapping[str, Arity]] = {
    **dict.fromkeys(_PURE, (1, 1)),
    **LIST_ARITY,
    "default": (2, 2),
    "min": (1, None),
    "max": (1, None),
    "split": (1, 2),
    "join": (1, 2),
    "slug": (1, 2),
    "range": (1, 3),
    "matches": (2, 2),
    "exists": (1, 1),
    "glob": (1, 1),
    "touched": (1, None),
}
"""The minimum and maximum number of arguments of every function."""
