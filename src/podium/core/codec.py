"""Events as JSON values and back: generic over the records by their type hints, tagged with "type".

Rule 1: the round trip is the identity. Rule 2: it is strict. An unknown type, an unknown or a missing field or a
value of the wrong kind raises CodecError; an old log is read by adding fields with defaults, never by guessing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import (
    Any,
    Final,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from podium.core.events import Event

Json: TypeAlias = Any
"""None, bool, int, float, str, list, or dict with text keys."""

Convert: TypeAlias = Callable[[Any], Any]

T = TypeVar("T")

TYPE: Final = "type"

_PLAIN: Final = frozenset({NoneType, bool, int, float, str})


class CodecError(ValueError):
    """This is not an event as this version of Podium writes it."""


class _Part(NamedTuple):
    name: str
    read: Convert
    write: Convert
    field: Field[Any]


def encode(event: Event) -> dict[str, Json]:
    """The event as a JSON object; fields that have their default value are left out."""
    return _written(event)


def decode(value: Mapping[str, Json]) -> Event:
    """The event that a JSON object stands for."""
    if not isinstance(value, Mapping):
        raise CodecError(f"an event is an object, not {value!r}")
    rest = dict(value)
    name = rest.pop(TYPE, None)
    kind = EVENTS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise CodecError(f"there is no event {name!r}")
    event: Event = _read(kind, rest)
    return event


def read_as(kind: type[T], value: Json) -> T:
    """A part of an event, such as the facts of a run, wherever else it is kept."""
    found: T = _read(kind, value)
    return found


def _written(record: Any) -> dict[str, Json]:
    kind: Any = type(record)
    return _writer(kind)(record)


@cache
def _writer(kind: Any) -> Callable[[Any], dict[str, Json]]:
    """A function for this class alone: every event of every run is written, and a loop over fields takes thrice as long."""
    given: dict[str, Any] = {}
    always, lines = [f"{TYPE!r}: {kind.__name__!r}"] if kind in _TAGGED else [], []
    for part in _parts(kind):
        given[f"_write_{part.name}"] = part.write
        form = "{}" if part.write is _same else f"_write_{part.name}({{}})"
        if part.field.default is MISSING:
            always.append(f"{part.name!r}: {form.format(f'record.{part.name}')}")
            continue
        given[f"_default_{part.name}"] = part.field.default
        lines += [
            f"    value = record.{part.name}",
            # Most fields of most events have their default, and most defaults are one and the same object.
            f"    if value is not _default_{part.name} and value != _default_{part.name}:",
            f"        found[{part.name!r}] = {form.format('value')}",
        ]
    source = "\n".join(
        ("def write(record):", f"    found = {{{', '.join(always)}}}", *lines, "    return found")
    )
    exec(source, given)  # noqa: S102 (names of classes and fields only)
    written: Callable[[Any], dict[str, Json]] = given["write"]
    return written


def _read(kind: Any, value: Json) -> Any:
    if not isinstance(value, Mapping):
        raise CodecError(f"{kind.__name__} is an object, not {value!r}")
    reads, needed = _readers(kind)
    unknown = value.keys() - reads.keys()
    if unknown:
        raise CodecError(f"{kind.__name__} has no {', '.join(sorted(unknown))}")
    missing = [name for name in needed if name not in value]
    if missing:
        raise CodecError(f"{kind.__name__} without {', '.join(missing)}")
    # By what is there: most fields of most events are not, as they have their default.
    return kind(**{name: reads[name](inner) for name, inner in value.items()})


@cache
def _readers(kind: Any) -> tuple[dict[str, Convert], tuple[str, ...]]:
    """How each field is read, and which must be there."""
    parts = _parts(kind)
    needed = tuple(part.name for part in parts if part.field.default is MISSING)
    return {part.name: part.read for part in parts}, needed


@cache
def _parts(kind: Any) -> tuple[_Part, ...]:
    hints = get_type_hints(kind)
    return tuple(_Part(f.name, *_converters(hints[f.name]), f) for f in fields(kind))


def _converters(hint: Any) -> tuple[Convert, Convert]:
    """How a value of this type is read and written."""
    hint = getattr(hint, "__supertype__", hint)
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return _json, _json
    if origin is Literal:
        return _one_of(args), _same
    if origin in (Union, UnionType):
        return _optional(args)
    if origin is tuple:
        return _tuple(args)
    if origin is not None and issubclass(origin, Mapping):
        return _object, _json
    if is_dataclass(hint):
        kind: Any = hint
        return lambda value: _read(kind, value), _written
    return _plain(hint), _same


def _optional(args: tuple[Any, ...]) -> tuple[Convert, Convert]:
    inner = [arg for arg in args if arg is not NoneType]
    assert len(inner) == 1, f"only `X | None` can be stored, not {args}"
    read, write = _converters(inner[0])
    return (
        lambda value: None if value is None else read(value),
        lambda value: None if value is None else write(value),
    )


def _tuple(args: tuple[Any, ...]) -> tuple[Convert, Convert]:
    if args[-1] is Ellipsis:
        read, write = _converters(args[0])
        return (
            lambda value: tuple(read(item) for item in _list(value)),
            lambda value: [write(item) for item in value],
        )
    pairs = [_converters(arg) for arg in args]
    return (
        lambda value: tuple(
            pair[0](item) for pair, item in zip(pairs, _list(value, len(pairs)), strict=True)
        ),
        lambda value: [pair[1](item) for pair, item in zip(pairs, value, strict=True)],
    )


def _list(value: Json, length: int | None = None) -> list[Json]:
    if not isinstance(value, list) or (length is not None and len(value) != length):
        raise CodecError(f"{value!r} is not a list{'' if length is None else f' of {length}'}")
    return value


def _plain(kind: type[Any]) -> Convert:
    def read(value: Json) -> Any:
        # A whole number may stand for a float; true and false are never numbers.
        wanted = (int, float) if kind is float else (kind,)
        if type(value) not in wanted:
            raise CodecError(f"{value!r} is not {kind.__name__}")
        return value

    return read


def _one_of(words: tuple[Any, ...]) -> Convert:
    def read(value: Json) -> Any:
        if value not in words:
            raise CodecError(f"{value!r} is not one of {', '.join(map(repr, words))}")
        return value

    return read


def _object(value: Json) -> Json:
    if not isinstance(value, Mapping):
        raise CodecError(f"{value!r} is not an object")
    return _json(value)


def _json(value: Any) -> Json:
    """A value that is JSON already, with plain lists and dicts whatever it was made of."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise CodecError(f"the keys of {value!r} must be text")
        return {key: inner if type(inner) in _PLAIN else _json(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json(inner) for inner in value]
    if isinstance(value, (int, float, str)):
        return value
    raise CodecError(f"{type(value).__name__} cannot be stored")


def _same(value: Any) -> Any:
    return value


EVENTS: Final[Mapping[str, type[Any]]] = {kind.__name__: kind for kind in get_args(Event)}
_TAGGED: Final = frozenset(EVENTS.values())
