"""Converts events to JSON values and back, by the type hints of the records; "type" names the event.

Rule 1: decoding an encoded event gives an equal event. Rule 2: decoding is strict. An unknown type, an unknown or
missing field or a value of the wrong type raises CodecError. New fields have defaults, so that old logs stay readable.
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

from podium.core.events import AttemptEnded, AttemptStarted, Event, StepEnded, StepEntered
from podium.core.payloads import RunFacts
from podium.fast_dataclass import assembler

Json: TypeAlias = Any
"""None, bool, int, float, str, list, or dict with text keys."""

Convert: TypeAlias = Callable[[Any], Any]

T = TypeVar("T")

TYPE: Final = "type"

STORED_NAMES: Final[Mapping[type, Mapping[str, str]]] = {
    AttemptEnded: {"similarity_percent": "likeness"},
    AttemptStarted: {"reused": "taken"},
    RunFacts: {"reused": "taken", "reusable": "known", "typical_use": "usual"},
    StepEnded: {"breaks_loop": "leaves", "limit_hit": "hard"},
    StepEntered: {"not_ready": "held"},
}
"""The attributes whose name in the log differs. The names in the log never change, so that old logs stay readable."""

_PLAIN: Final = frozenset({NoneType, bool, int, float, str})


class CodecError(ValueError):
    """The value is not an event that this version of Podium can read."""


class _Part(NamedTuple):
    attribute: str
    stored: str
    read: Convert
    write: Convert
    field: Field[Any]
    guard: tuple[str, Any] | None
    """A test of a value that need not be converted, and what it is tested against; None if all are converted."""


def encode(event: Event) -> dict[str, Json]:
    """The event as a JSON object, without the fields that have their default value."""
    return _encode_record(event)


def decode(value: Mapping[str, Json]) -> Event:
    """Decode an event from a JSON object."""
    if not isinstance(value, (dict, Mapping)):
        raise CodecError(f"an event must be an object, not {value!r}")
    name = value.get(TYPE)
    kind: Any = EVENTS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise CodecError(f"unknown event type {name!r}")
    event: Event = _reader(kind)(value)
    return event


def read_as(kind: type[T], value: Json) -> T:
    """Decode a record that is part of an event but stored elsewhere, such as the facts of a run."""
    record: T = _decode_record(kind, value)
    return record


def _encode_record(record: Any) -> dict[str, Json]:
    kind: Any = type(record)
    return _writer(kind)(record)


@cache
def _writer(kind: Any) -> Callable[[Any], dict[str, Json]]:
    """Generate a writer for this class; a generic loop over its fields would take three times as long per event."""
    namespace: dict[str, Any] = {}
    always, lines = [f"{TYPE!r}: {kind.__name__!r}"] if kind in _TAGGED else [], []
    for part in _parts(kind):
        name = part.attribute
        namespace[f"_write_{name}"] = part.write
        form = "{}" if part.write is _same else f"_write_{name}({{}})"
        if part.field.default is MISSING:
            always.append(f"{part.stored!r}: {form.format(f'record.{name}')}")
            continue
        namespace[f"_default_{name}"] = part.field.default
        lines += [
            f"    value = record.{name}",
            # Most fields hold their default, and mostly the identical object, so the `is` test is the fast path.
            f"    if value is not _default_{name} and value != _default_{name}:",
            f"        fields[{part.stored!r}] = {form.format('value')}",
        ]
    source = "\n".join(
        ("def write(record):", f"    fields = {{{', '.join(always)}}}", *lines, "    return fields")
    )
    exec(source, namespace)  # noqa: S102 (names of classes and fields only)
    write: Callable[[Any], dict[str, Json]] = namespace["write"]
    return write


def _decode_record(kind: Any, value: Json) -> Any:
    return _reader(kind)(value)


@cache
def _reader(kind: Any) -> Convert:
    """A reader for this class that generates a function for each set of stored fields: there are a few in all.

    A generic loop over the stored fields would take three times as long per event.
    """
    parts = _parts(kind)
    names = frozenset(part.stored for part in parts) | ({TYPE} if kind in _TAGGED else set())
    required = tuple(part.stored for part in parts if part.field.default is MISSING)
    readers: dict[tuple[str, ...], Convert] = {}

    def read(value: Json) -> Any:
        if not isinstance(value, (dict, Mapping)):
            raise _fault(kind, value, names, required)
        shape = tuple(value)
        reader = readers.get(shape)
        if reader is None:
            if not value.keys() <= names or not value.keys() >= set(required):
                raise _fault(kind, value, names, required)
            reader = readers[shape] = _reader_of(kind, parts, frozenset(shape))
        return reader(value)

    return read


def _reader_of(kind: Any, parts: tuple[_Part, ...], present: frozenset[str]) -> Convert:
    assert not hasattr(kind, "__post_init__"), (
        f"{kind.__name__} checks itself, which a stored record does not"
    )
    namespace: dict[str, Any] = {}
    values: dict[str, str] = {}
    for part in parts:
        name, stored = part.attribute, f"value[{part.stored!r}]"
        if part.stored not in present:
            namespace[f"_default_{name}"] = part.field.default
            values[name] = f"_default_{name}"
            continue
        namespace[f"_read_{name}"] = part.read
        read = f"_read_{name}({stored})"
        if part.guard is not None:
            test, namespace[f"_expected_{name}"] = part.guard
            read = f"v if {test.format(f'(v := {stored})', f'_expected_{name}')} else _read_{name}(v)"
        values[name] = read
    return assembler(kind, "value", values, namespace)


def _fault(kind: Any, value: Json, names: frozenset[str], required: tuple[str, ...]) -> CodecError:
    """What is wrong with a value as an object with these fields."""
    if not isinstance(value, Mapping):
        return CodecError(f"{kind.__name__} must be an object, not {value!r}")
    unknown = value.keys() - names
    if unknown:
        return CodecError(f"{kind.__name__} has no field {', '.join(sorted(unknown))}")
    missing = [name for name in required if name not in value]
    return CodecError(f"{kind.__name__} lacks the field {', '.join(missing)}")


@cache
def _parts(kind: Any) -> tuple[_Part, ...]:
    hints, stored = get_type_hints(kind), STORED_NAMES.get(kind, {})
    return tuple(
        _Part(f.name, stored.get(f.name, f.name), *_converters(hints[f.name]), f, _guard(hints[f.name]))
        for f in fields(kind)
    )


def _converters(hint: Any) -> tuple[Convert, Convert]:
    """The functions that read and write a value of this type."""
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
        return lambda value: _decode_record(kind, value), _encode_record
    return _plain(hint), _same


def _guard(hint: Any) -> tuple[str, Any] | None:
    hint = getattr(hint, "__supertype__", hint)
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return "{} in {}", args
    if origin in (Union, UnionType):
        return _guard(next(arg for arg in args if arg is not NoneType))
    return ("type({}) is {}", hint) if hint in _PLAIN else None


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
            lambda value: tuple([read(item) for item in _list(value)]),
            lambda value: [write(item) for item in value],
        )
    pairs = [_converters(arg) for arg in args]
    return (
        lambda value: tuple(
            [pair[0](item) for pair, item in zip(pairs, _list(value, len(pairs)), strict=True)]
        ),
        lambda value: [pair[1](item) for pair, item in zip(pairs, value, strict=True)],
    )


def _list(value: Json, length: int | None = None) -> list[Json]:
    if not isinstance(value, list) or (length is not None and len(value) != length):
        raise CodecError(f"{value!r} is not a list{'' if length is None else f' of {length}'}")
    return value


def _plain(kind: type[Any]) -> Convert:
    # A float field accepts an integer; no number field accepts a boolean.
    accepted = (int, float) if kind is float else (kind,)

    def read(value: Json) -> Any:
        if type(value) not in accepted:
            raise CodecError(f"expected {kind.__name__}, got {value!r}")
        return value

    return read


def _one_of(choices: tuple[Any, ...]) -> Convert:
    def read(value: Json) -> Any:
        if value not in choices:
            raise CodecError(f"{value!r} is not one of {', '.join(map(repr, choices))}")
        return value

    return read


def _object(value: Json) -> Json:
    if not isinstance(value, Mapping):
        raise CodecError(f"{value!r} is not an object")
    return _json(value)


def _json(value: Any) -> Json:
    """The JSON value with plain lists and dicts."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise CodecError(f"all keys of {value!r} must be strings")
        return {key: inner if type(inner) in _PLAIN else _json(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json(inner) for inner in value]
    if isinstance(value, (int, float, str)):
        return value
    raise CodecError(f"a {type(value).__name__} cannot be stored as JSON")


def _same(value: Any) -> Any:
    return value


EVENTS: Final[Mapping[str, type[Any]]] = {kind.__name__: kind for kind in get_args(Event)}
_TAGGED: Final = frozenset(EVENTS.values())
