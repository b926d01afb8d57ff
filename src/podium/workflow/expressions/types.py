"""The types of values as far as they are known at load time, and the two notations for them.

A type is written as shorthand (`{title: string, files: [path]}`) or as JSON Schema. ANY is a type that is not
described; it is accepted everywhere. A path is text. Optional fields may be absent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, assert_never

from podium.fast_dataclass import dataclass
from podium.workflow.problems import did_you_mean

MAX_DEPTH: Final = 50


@dataclass(frozen=True, slots=True)
class Simple:
    word: Literal["any", "null", "bool", "int", "number", "text"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of these words; otherwise like a text."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    of: Type


@dataclass(frozen=True, slots=True)
class MapOf:
    """`open`: other fields of type `other_type` are allowed. `name` is the name in messages, such as `Plan`."""

    fields: Mapping[str, Type] = field(default_factory=lambda: MappingProxyType({}))
    open: bool = False
    name: str | None = None
    optional: frozenset[str] = frozenset()
    other_type: Type = Simple("any")


Type: TypeAlias = Simple | Choice | ListOf | MapOf

ANY: Final = Simple("any")
NULL: Final = Simple("null")
BOOL: Final = Simple("bool")
INT: Final = Simple("int")
NUMBER: Final = Simple("number")
TEXT: Final = Simple("text")
ANY_LIST: Final = ListOf(ANY)
ANY_MAP: Final = MapOf(open=True)

WORDS: Final[Mapping[str, Type]] = {
    "string": TEXT,
    "path": TEXT,
    "int": INT,
    "number": NUMBER,
    "bool": BOOL,
    "list": ANY_LIST,
    "map": ANY_MAP,
}
"""The types of inputs, by the words for them in a file."""

OTHERS: Final = "*"
"""In shorthand, the key that stands for all other fields."""

_FIELD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_CHOICE: Final = re.compile(r"[A-Za-z0-9][\w.-]*(\s*\|\s*[A-Za-z0-9][\w.-]*)+", re.ASCII)


class ShorthandError(ValueError):
    """`path` is the path of the part of the shorthand that cannot be read."""

    def __init__(self, path: tuple[str | int, ...], message: str, hint: str = "") -> None:
        super().__init__(message)
        self.path = path
        self.message = message
        self.hint = hint


def parse_shorthand(
    value: Any, *, name: str | None = None, named_types: Mapping[str, Type] = MappingProxyType({})
) -> Type:
    """The type that a shorthand describes; it may use the names in `named_types`."""
    return _Reader(named_types).type_of(value, (), name)


@dataclass(frozen=True, slots=True)
class _Reader:
    named_types: Mapping[str, Type]

    def type_of(self, value: Any, path: tuple[str | int, ...], name: str | None = None) -> Type:
        if len(path) > MAX_DEPTH:
            raise ShorthandError(path, f"this schema is nested more than {MAX_DEPTH} deep")
        if isinstance(value, str):
            return self._word(value.strip(), path)
        if isinstance(value, list | tuple):
            if len(value) != 1:
                words = " | ".join(map(str, value))
                hint = f'for one of several words write "{words}"' if _CHOICE.fullmatch(words) else ""
                raise ShorthandError(path, "a list must contain exactly one type, as in [string]", hint)
            return ListOf(self.type_of(value[0], (*path, 0)))
        if isinstance(value, Mapping):
            return self._map(value, path, name)
        raise ShorthandError(path, "a type must be a word, a list or a map", f"use one of {', '.join(WORDS)}")

    def _word(self, word: str, path: tuple[str | int, ...]) -> Type:
        if word.startswith("optional "):
            raise ShorthandError(path, "only a field can be optional")
        if word.startswith("[") and word.endswith("]"):
            return ListOf(self.type_of(word[1:-1], (*path, 0)))
        if _CHOICE.fullmatch(word):
            return Choice(tuple(dict.fromkeys(choice.strip() for choice in word.split("|"))))
        types = {**WORDS, **self.named_types}
        if word not in types:
            hint = did_you_mean(word, types) or f"use one of {', '.join(types)}"
            raise ShorthandError(path, f'type "{word}" does not exist', hint)
        return types[word]

    def _map(self, value: Mapping[Any, Any], path: tuple[str | int, ...], name: str | None) -> MapOf:
        fields: dict[str, Type] = {}
        optional: set[str] = set()
        for key, inner in value.items():
            if key != OTHERS and not (isinstance(key, str) and _FIELD.fullmatch(key)):
                raise ShorthandError((*path, key), f'"{key}" is not a valid field name')
            if isinstance(inner, str) and inner.strip().startswith("optional "):
                optional.add(key)
                inner = inner.strip().removeprefix("optional ")
            fields[key] = self.type_of(inner, (*path, key))
        other_type = fields.pop(OTHERS, None)
        return MapOf(
            MappingProxyType(fields), other_type is not None, name, frozenset(optional), other_type or ANY
        )


def to_json_schema(value_type: Type) -> dict[str, Any]:
    match value_type:
        case Simple(word):
            return _simple_schema(word)
        case Choice(values):
            return {"type": "string", "enum": list(values)}
        case ListOf(of):
            return {"type": "array", "items": to_json_schema(of)}
        case MapOf():
            return _map_schema(value_type)
        case _:
            assert_never(value_type)


def from_json_schema(schema: Any) -> Type:
    """The type described by a JSON Schema; ANY where the schema says more than types can."""
    return _SchemaReader(schema).type_of(schema)


def _simple_schema(word: str) -> dict[str, Any]:
    names = {"null": "null", "bool": "boolean", "int": "integer", "number": "number", "text": "string"}
    return {"type": names[word]} if word in names else {}


def _map_schema(value_type: MapOf) -> dict[str, Any]:
    required = [name for name in value_type.fields if name not in value_type.optional]
    others: Any = to_json_schema(value_type.other_type) if value_type.open else False
    return {
        "type": "object",
        **({"title": value_type.name} if value_type.name else {}),
        "properties": {name: to_json_schema(inner) for name, inner in value_type.fields.items()},
        **({"required": required} if required else {}),
        "additionalProperties": True if others == {} else others,
    }


@dataclass(frozen=True, slots=True)
class _SchemaReader:
    """`resolved` holds each referenced part once, so that cycles end and shared parts are read only once."""

    root: Any
    resolved: dict[str, Type] = field(default_factory=dict)

    def type_of(self, schema: Any, depth: int = 0) -> Type:
        if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
            return ANY
        if "$ref" in schema:
            return self._reference(str(schema["$ref"]), depth)
        if "enum" in schema:
            return _from_enum(schema["enum"])
        if schema.get("type") == "object":
            return self._map(schema, depth)
        if schema.get("type") == "array":
            return ListOf(self.type_of(schema.get("items"), depth + 1))
        return _from_word(schema.get("type"))

    def _reference(self, reference: str, depth: int) -> Type:
        if reference not in self.resolved:
            self.resolved[reference] = ANY
            self.resolved[reference] = self.type_of(_resolve(reference, self.root), depth + 1)
        return self.resolved[reference]

    def _map(self, schema: Mapping[str, Any], depth: int) -> MapOf:
        declared = schema.get("properties")
        properties = declared if isinstance(declared, Mapping) else {}
        required = schema.get("required")
        required_names = {str(name) for name in required} if isinstance(required, list | tuple) else set()
        others = schema.get("additionalProperties", True)
        title = schema.get("title")
        return MapOf(
            MappingProxyType(
                {str(name): self.type_of(inner, depth + 1) for name, inner in properties.items()}
            ),
            others is not False,
            str(title) if title else None,
            frozenset(str(name) for name in properties) - required_names,
            self.type_of(others, depth + 1),
        )


def _resolve(reference: str, root: Any) -> Any:
    """The part of the same schema that `#/$defs/x` names; None if it does not exist."""
    head, *names = reference.split("/")
    part = root if head == "#" else None
    for name in names:
        part = part.get(name.replace("~1", "/").replace("~0", "~")) if isinstance(part, Mapping) else None
    return part


def _from_enum(values: Any) -> Type:
    if isinstance(values, list | tuple) and values and all(isinstance(value, str) for value in values):
        return Choice(tuple(values))
    return ANY


def _from_word(word: Any) -> Type:
    words: Mapping[Any, Type] = {
        "string": TEXT,
        "integer": INT,
        "number": NUMBER,
        "boolean": BOOL,
        "null": NULL,
    }
    return words.get(word, ANY) if isinstance(word, str) else ANY
