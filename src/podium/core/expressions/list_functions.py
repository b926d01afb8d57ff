"""The functions of expressions that build and search lists. A function of a list looks at each element once.

A field that an element lacks counts as null, so that a list of uneven maps can be searched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cmp_to_key
from typing import Any, Final, get_args

from podium.core.expressions.operators import CompareSign, compare
from podium.core.expressions.values import (
    MAX_ELEMENTS,
    MAX_TEXT,
    PER_ITEM,
    ExprError,
    Json,
    Meter,
    TooBig,
    WrongType,
    is_list,
    is_map,
    kind_of,
    list_of,
    phrase,
    text_of,
)

SIGNS: Final[tuple[str, ...]] = get_args(CompareSign)


def append(meter: Meter, values: Json, value: Json) -> Json:
    return _limited("append", (*_counted("append", values, meter), value))


def concat(meter: Meter, *lists: Json) -> Json:
    return _limited("concat", tuple(value for values in lists for value in _counted("concat", values, meter)))


def cut(meter: Meter, value: Json, start: Json = None, end: Json = None) -> Json:
    """The part from one position up to another; positions below 0 count from the end."""
    part = slice(_position(start), _position(end))
    if not isinstance(value, str) and not is_list(value):
        raise WrongType(f"slice needs a list or text, not {phrase(kind_of(value))}")
    meter.spend(len(value))
    return value[part] if isinstance(value, str) else tuple(value[part])


def _position(value: Json) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise WrongType(f"slice needs whole numbers, not {phrase(kind_of(value))}")


def sort(meter: Meter, values: Json, field: Json = None) -> Json:
    """In rising order, by a field of each element or by the elements; equal ones keep their order."""
    items = _counted("sort", values, meter)
    meter.spend(PER_ITEM * len(items) * max(1, len(items).bit_length()))
    keyed = [
        (value if field is None else _field(value, text_of(field, "sort"), "sort"), value) for value in items
    ]
    kinds = {kind_of(key) for key, _ in keyed}
    if not kinds <= {"number"} and not kinds <= {"text"}:
        raise WrongType("sort needs only numbers or only texts")
    return tuple(value for _, value in sorted(keyed, key=cmp_to_key(_by_key)))


def _by_key(first: tuple[Any, Json], second: tuple[Any, Json]) -> int:
    return int(first[0] > second[0]) - int(first[0] < second[0])


def where(meter: Meter, values: Json, field: Json, sign: Json, other: Json) -> Json:
    """The elements whose field compares like this."""
    name, op = text_of(field, "where"), _sign(sign)
    items = _counted("where", values, meter)
    return tuple(item for item in items if _holds(op, _field(item, name, "where"), other, meter))


def _sign(sign: Json) -> CompareSign:
    for candidate in get_args(CompareSign):
        if sign == candidate:
            op: CompareSign = candidate
            return op
    raise ExprError(f"where compares with {', '.join(SIGNS)}, not {sign!r}")


def _holds(op: CompareSign, value: Json, other: Json, meter: Meter) -> bool:
    is_ordered = op in ("<", "<=", ">", ">=")
    return False if is_ordered and value is None else compare(op, value, other, meter)


def pluck(meter: Meter, values: Json, field: Json) -> Json:
    name = text_of(field, "pluck")
    return tuple(_field(value, name, "pluck") for value in _counted("pluck", values, meter))


def keys(meter: Meter, value: Json) -> Json:
    if not is_map(value):
        raise WrongType(f"keys needs a map, not {phrase(kind_of(value))}")
    meter.spend(PER_ITEM * len(value))
    return tuple(value)


def count(meter: Meter, values: Json, value: Json) -> Json:
    """How often an element is in a list, or a part in a text."""
    if isinstance(values, str):
        part = text_of(value, "count")
        if not part:
            raise ExprError("count needs a part that is not empty")
        meter.spend(len(values) + len(part))
        return values.count(part)
    return sum(contains(meter, (item,), value) for item in _counted("count", values, meter))


def contains(meter: Meter, container: Json, value: Json) -> bool:
    return compare("in", value, container, meter)


def replace(meter: Meter, text: Json, old: Json, new: Json) -> Json:
    source, part, other = text_of(text, "replace"), text_of(old, "replace"), text_of(new, "replace")
    if not part:
        raise ExprError("replace needs a part that is not empty")
    meter.spend(len(source) + len(part))
    size = len(source) + source.count(part) * (len(other) - len(part))
    if size > MAX_TEXT:
        raise TooBig(f"replace makes a text of more than {MAX_TEXT} characters")
    meter.spend(size)
    return source.replace(part, other)


def batches(meter: Meter, values: Json, size: Json) -> Json:
    if type(size) is not int or size < 1:
        raise ExprError("batches needs a size of at least 1")
    items = _counted("batches", values, meter)
    return tuple(tuple(items[start : start + size]) for start in range(0, len(items), size))


def flatten(meter: Meter, values: Json) -> Json:
    """The elements of the lists in a list; an element that is not a list stays as it is."""
    parts: list[Json] = []
    for value in _counted("flatten", values, meter):
        parts.extend(_counted("flatten", value, meter) if is_list(value) else (value,))
    return _limited("flatten", tuple(parts))


def reverse(meter: Meter, values: Json) -> Json:
    return tuple(reversed(_counted("reverse", values, meter)))


def _counted(name: str, values: Json, meter: Meter) -> Sequence[Json]:
    items = list_of(values, name)
    meter.spend(PER_ITEM * len(items))
    return items


def _limited(name: str, values: tuple[Json, ...]) -> Json:
    if len(values) > MAX_ELEMENTS:
        raise TooBig(f"{name} makes a list of more than {MAX_ELEMENTS} elements")
    return values


def _field(value: Json, name: str, function: str) -> Json:
    if not is_map(value):
        raise WrongType(f"{function} needs a list of maps; one element is {phrase(kind_of(value))}")
    try:
        return value[name]
    except KeyError:
        return None


FUNCTIONS: Final[Mapping[str, Callable[..., Json]]] = {
    "append": append,
    "concat": concat,
    "slice": cut,
    "sort": sort,
    "where": where,
    "pluck": pluck,
    "keys": keys,
    "count": count,
    "contains": contains,
    "replace": replace,
    "batches": batches,
    "flatten": flatten,
    "reverse": reverse,
}

ARITY: Final[Mapping[str, tuple[int, int | None]]] = {
    "append": (2, 2),
    "concat": (1, None),
    "slice": (2, 3),
    "sort": (1, 2),
    "where": (4, 4),
    "pluck": (2, 2),
    "keys": (1, 1),
    "count": (2, 2),
    "contains": (2, 2),
    "replace": (3, 3),
    "batches": (2, 2),
    "flatten": (1, 1),
    "reverse": (1, 1),
}
