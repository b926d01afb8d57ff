"""Encodes tasks and compiled workflows as JSON and decodes them.

Rule 1: the round trip is the identity. Untyped values of the compiled workflow are frozen (MappingProxyType, tuple), those
of a run are plain (dict, list); the hash that finds an earlier answer depends on it. Rule 2: decoding is strict. An
unknown type, an unknown or missing field or a value of the wrong kind raises CodecError.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any, Final, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from podium.core import events, model, payloads, policy, step_settings
from podium.core.codec import CodecError
from podium.core.expressions import nodes, templates
from podium.core.queries import computed
from podium.core.queries.computed import ComputedNames, ComputedNumber
from podium.tasks import run_context, task, task_names

Json: TypeAlias = Any
"""None, bool, int, float, str, list, or dict with text keys."""

T = TypeVar("T")

TYPE: Final = "type"
MAP: Final = "map"
"""The tag of a map that has a key `type` itself."""
OWN_TYPE: Final = "of_type"
"""How a field `type` of a record is stored, because `type` is the tag."""
VERSION: Final = 1
"""Of the format of compiled workflows."""


def encode(value: Any) -> Json:
    """Encode any value that a task may contain; raises CodecError for others."""
    match value:
        case ComputedNumber() | ComputedNames():
            return {TYPE: type(value).__name__, "setting": encode(value.setting)}
        case None | bool() | int() | float() | str():
            return value
        case task_names.NameValues():
            return _encode_record(value)
        case Mapping():
            plain = {_key(name): encode(inner) for name, inner in value.items()}
            return {TYPE: MAP, "items": plain} if TYPE in plain else plain
        case list() | tuple():
            return [encode(inner) for inner in value]
        case _ if type(value) in _TAGS:
            return _encode_record(value)
        case _:
            raise CodecError(f"{type(value).__name__} cannot be part of a task")


def decode(kind: type[T], value: Json) -> T:
    """Decode a record of this class."""
    record = _decode_any(value)
    if not isinstance(record, kind):
        raise CodecError(f"expected {kind.__name__}, not {type(record).__name__}")
    return record


def decode_task(value: Json) -> task.Task:
    record = _decode_any(value)
    if not isinstance(record, get_args(task.Task)):
        raise CodecError(f"expected a task, not {type(record).__name__}")
    decoded: task.Task = record
    return decoded


def encode_workflow(workflow: model.Workflow) -> Json:
    """A compiled workflow, for a process that must not compile it again: its version or its files may differ."""
    return {"version": VERSION, "workflow": encode(workflow)}


def decode_workflow(value: Json) -> model.Workflow:
    if not isinstance(value, dict) or value.keys() != {"version", "workflow"}:
        raise CodecError("not a compiled workflow")
    if value["version"] != VERSION:
        raise CodecError(
            f"the workflow was compiled in format {value['version']!r}, and this version of Podium reads {VERSION}"
        )
    return decode(model.Workflow, value["workflow"])


def _key(name: Any) -> str:
    if not isinstance(name, str):
        raise CodecError(f"the keys of a map must be text, not {name!r}")
    return name


def _encode_record(record: Any) -> dict[str, Json]:
    """The fields that do not have their default, under the name of the class."""
    encoded = {
        _stored_name(field): encode(value)
        for field in fields(record)
        if not _is_default(field, value := getattr(record, field.name))
    }
    return {TYPE: _TAGS[type(record)], **encoded}


def _stored_name(field: Field[Any]) -> str:
    return OWN_TYPE if field.name == TYPE else field.name


def _is_default(field: Field[Any], value: Any) -> bool:
    if field.default is not MISSING:
        return type(value) is type(field.default) and bool(value == field.default)
    if field.default_factory is not MISSING:
        return isinstance(value, Mapping) and not value and not isinstance(value, task_names.NameValues)
    return False


def _decode_any(value: Json, frozen: bool = False) -> Any:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list():
            items = (_decode_any(inner, frozen) for inner in value)
            return tuple(items) if frozen else list(items)
        case {"type": "map", "items": dict(inner)} if len(value) == 2:
            return _decode_map(inner, frozen)
        case {"type": "ComputedNumber" | "ComputedNames" as name, "setting": setting} if len(value) == 2:
            holder = ComputedNumber if name == "ComputedNumber" else ComputedNames
            return holder(decode(computed.Setting, setting))
        case {"type": str(name)}:
            return _decode_record(name, value)
        case dict():
            return _decode_map(value, frozen)
        case _:
            raise CodecError(f"{type(value).__name__} is not JSON")


def _decode_map(value: dict[str, Json], frozen: bool) -> Mapping[str, Any]:
    decoded = {name: _decode_any(inner, frozen) for name, inner in value.items()}
    return types.MappingProxyType(decoded) if frozen else decoded


def _decode_record(name: str, value: Mapping[str, Json]) -> Any:
    cls: Any = _CLASSES.get(name)
    if cls is None:
        raise CodecError(f"unknown record type {name!r}")
    readers, required = _readers(cls)
    unknown = value.keys() - readers.keys() - {TYPE}
    if unknown:
        raise CodecError(f"unknown fields of {name}: {', '.join(sorted(unknown))}")
    missing = [field for field in required if field not in value]
    if missing:
        raise CodecError(f"missing fields of {name}: {', '.join(missing)}")
    own = {OWN_TYPE: TYPE}
    return cls(
        **{own.get(field, field): readers[field](inner) for field, inner in value.items() if field != TYPE}
    )


Reader: TypeAlias = Callable[[Json], Any]


@cache
def _readers(cls: Any) -> tuple[Mapping[str, Reader], tuple[str, ...]]:
    """A reader for each field, and the names of the required fields."""
    # The alias Value is recursive, so it is replaced by Any; the tag says which kind of template a value is.
    hints = get_type_hints(cls, localns={"Value": Any})
    is_compiled = cls.__module__ in _COMPILED
    readers = {
        _stored_name(field): _reader(
            f"{cls.__name__}.{field.name}",
            hints[field.name],
            frozen=is_compiled or (cls, field.name) in _COMPILED_FIELDS,
        )
        for field in fields(cls)
    }
    required = tuple(
        _stored_name(field)
        for field in fields(cls)
        if field.default is MISSING and field.default_factory is MISSING
    )
    return readers, required


def _reader(where: str, hint: Any, *, frozen: bool) -> Reader:
    kinds = tuple(_kinds(hint))
    tuples = [_tuple_reader(where, get_args(kind), frozen) for kind in kinds if get_origin(kind) is tuple]

    def read(value: Json) -> Any:
        if isinstance(value, list):
            for read_tuple in tuples:
                items = read_tuple(value)
                if items is not MISSING:
                    return items
        # Decode once for all alternatives; decoding once for each would double the time with every level of nesting.
        decoded = _decode_any(value, frozen)
        if not any(_is_kind(decoded, kind) for kind in kinds):
            raise CodecError(f"{where} cannot be {value!r}")
        return decoded

    return read


def _kinds(hint: Any) -> Iterator[Any]:
    """The alternatives of a type; Any if they cannot be checked."""
    hint = getattr(hint, "__supertype__", hint)
    if get_origin(hint) in (Union, types.UnionType):
        for alternative in get_args(hint):
            yield from _kinds(alternative)
    elif isinstance(hint, type) or get_origin(hint) in (tuple, Literal):
        yield hint
    elif get_origin(hint) is not None and issubclass(get_origin(hint), Mapping):
        yield Mapping
    else:
        yield Any


def _is_kind(decoded: Any, kind: Any) -> bool:
    if kind is Any:
        return True
    if get_origin(kind) is Literal:
        return decoded in get_args(kind)
    if get_origin(kind) is tuple:
        return isinstance(decoded, ComputedNames)
    if isinstance(decoded, ComputedNumber):
        return kind in (int, float)
    if kind is float and type(decoded) is int:
        return True
    if kind in (int, float, bool, str, types.NoneType):
        return type(decoded) is kind
    return isinstance(decoded, kind)


def _tuple_reader(where: str, args: tuple[Any, ...], frozen: bool) -> Callable[[list[Json]], Any]:
    """Reads a list as this tuple; the result is MISSING if the list has another length."""
    if args[-1] is Ellipsis:
        read = _reader(where, args[0], frozen=frozen)
        return lambda value: tuple(read(item) for item in value)
    readers = [_reader(where, arg, frozen=frozen) for arg in args]

    def read_each(value: list[Json]) -> Any:
        if len(value) != len(readers):
            return MISSING
        return tuple(read(item) for read, item in zip(readers, value, strict=True))

    return read_each


_COMPILED: Final = frozenset(
    module.__name__ for module in (nodes, templates, policy, step_settings, model, computed)
)
_COMPILED_FIELDS: Final = frozenset({(task_names.Deferred, "value"), (run_context.AgentUse, "config")})
# Two classes are named Call: a function call in an expression, and a call of another workflow.
_TAGS: Final[dict[type[Any], str]] = {
    cls: "CallWorkflow" if cls is model.Call else cls.__name__
    for module in (
        nodes,
        templates,
        policy,
        step_settings,
        payloads,
        events,
        model,
        computed,
        task_names,
        task,
        run_context,
    )
    for cls in vars(module).values()
    if isinstance(cls, type) and is_dataclass(cls) and cls.__module__ == module.__name__
}
_CLASSES: Final[dict[str, type[Any]]] = {tag: cls for cls, tag in _TAGS.items()}
