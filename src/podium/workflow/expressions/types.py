"""The types of values as far as they are known when a file is loaded, and the two ways to write them down.

A type is what a schema says: short hand (`{title: string, files: [path]}`) or JSON Schema. ANY is what nobody
described; it fits everything. A path is text. Optional fields are those that may be absent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, assert_never

from podium.core.fast_dataclass import dataclass
from podium.workflow.problems import did_you_mean

MAX_DEPTH: Final = 50


@dataclass(frozen=True, slots=True)
class Simple:
    word: Literal["any", "null", "bool", "int", "number", "text"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of these words; a text in every other respect."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    of: Type


@dataclass(frozen=True, slots=True)
class MapOf:
    """`open`: other fields may be there too, of type `rest`. `name` is how messages call it: `Plan`."""

    fields: Mapping[str, Type] = field(default_factory=lambda: MappingProxyType({}))
    open: bool = False
    name: str | None = None
    optional: frozenset[str] = frozenset()
    rest: Type = Simple("any")


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
"""The types of inputs, as they are written."""

OTHERS: Final = "*"
"""In short hand, the key that stands for every field not named."""

_FIELD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_CHOICE: Final = re.compile(r"[A-Za-z0-9][\w.-]*(\s*\|\s*[A-Za-z0-9][\w.-]*)+", re.ASCII)


class ShorthandError(ValueError):
    """`path` leads to the part of the short hand that cannot be read."""

    def __init__(self, path: tuple[str | int, ...], message: str, hint: str = "") -> None:
        super().__init__(message)
        self.path = path
        self.message = message
        self.hint = hint


def parse_shorthand(
    value: Any, *, name: str | None = None, named: Mapping[str, Type] = MappingProxyType({})
) -> Type:
    """The type that a short hand describes. `named` are types that may stand in it by their names."""
    return _Reader(named).type_of(value, (), name)


@dataclass(frozen=True, slots=True)
class _Reader:
    named: Mapping[str, Type]

    def type_of(self, value: Any, path: tuple[str | int, ...], name: str | None = None) -> Type:
        if len(path) > MAX_DEPTH:
            raise ShorthandError(path, f"a schema is nested more than {MAX_DEPTH} deep")
        if isinstance(value, str):
            return self._word(value.strip(), path)
        if isinstance(value, list | tuple):
            if len(value) != 1:
                raise ShorthandError(path, "a list has one type in it: [string]")
            return ListOf(self.type_of(value[0], (*path, 0)))
        if isinstance(value, Mapping):
            return self._map(value, path, name)
        raise ShorthandError(path, "a type is a word, a list or a map", f"one of {', '.join(WORDS)}")

    def _word(self, word: str, path: tuple[str | int, ...]) -> Type:
        if word.startswith("optional "):
            raise ShorthandError(path, "only a field can be optional")
        if word.startswith("[") and word.endswith("]"):
            return ListOf(self.type_of(word[1:-1], (*path, 0)))
        if _CHOICE.fullmatch(word):
            return Choice(tuple(dict.fromkeys(choice.strip() for choice in word.split("|"))))
        known = {**WORDS, **self.named}
        if word not in known:
            hint = did_you_mean(word, known) or f"one of {', '.join(known)}"
            raise ShorthandError(path, f'there is no type "{word}"', hint)
        return known[word]

    def _map(self, value: Mapping[Any, Any], path: tuple[str | int, ...], name: str | None) -> MapOf:
        fields: dict[str, Type] = {}
        optional: set[str] = set()
        for key, inner in value.items():
            if key != OTHERS and not (isinstance(key, str) and _FIELD.fullmatch(key)):
                raise ShorthandError((*path, key), f'"{key}" cannot be the name of a field')
            if isinstance(inner, str) and inner.strip().startswith("optional "):
                optional.add(key)
                inner = inner.strip().removeprefix("optional ")
            fields[key] = self.type_of(inner, (*path, key))
        rest = fields.pop(OTHERS, None)
        return MapOf(MappingProxyType(fields), rest is not None, name, frozenset(optional), rest or ANY)


def to_json_schema(described: Type) -> dict[str, Any]:
    match described:
        case Simple(word):
            return _simple_schema(word)
        case Choice(values):
            return {"type": "string", "enum": list(values)}
        case ListOf(of):
            return {"type": "array", "items": to_json_schema(of)}
        case MapOf():
            return _map_schema(described)
        case _:
            assert_never(described)


def from_json_schema(schema: Any) -> Type:
    """What can be told from a JSON Schema; ANY where it says more than types can."""
    return _SchemaReader(schema).type_of(schema)


def _simple_schema(word: str) -> dict[str, Any]:
    names = {"null": "null", "bool": "boolean", "int": "integer", "number": "number", "text": "string"}
    return {"type": names[word]} if word in names else {}


def _map_schema(described: MapOf) -> dict[str, Any]:
    required = [name for name in described.fields if name not in described.optional]
    others: Any = to_json_schema(described.rest) if described.open else False
    return {
        "type": "object",
        **({"title": described.name} if described.name else {}),
        "properties": {name: to_json_schema(inner) for name, inner in described.fields.items()},
        **({"required": required} if required else {}),
        "additionalProperties": True if others == {} else others,
    }


@dataclass(frozen=True, slots=True)
class _SchemaReader:
    """`seen` has each part that is referred to once, so that circles end and shared parts cost nothing."""

    root: Any
    seen: dict[str, Type] = field(default_factory=dict)

    def type_of(self, schema: Any, depth: int = 0) -> Type:
        if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
            return ANY
        if "$ref" in schema:
            return self._referred(str(schema["$ref"]), depth)
        if "enum" in schema:
            return _from_enum(schema["enum"])
        if schema.get("type") == "object":
            return self._map(schema, depth)
        if schema.get("type") == "array":
            return ListOf(self.type_of(schema.get("items"), depth + 1))
        return _from_word(schema.get("type"))

    def _referred(self, reference: str, depth: int) -> Type:
        if reference not in self.seen:
            self.seen[reference] = ANY
            self.seen[reference] = self.type_of(_part(reference, self.root), depth + 1)
        return self.seen[reference]

    def _map(self, schema: Mapping[str, Any], depth: int) -> MapOf:
        listed = schema.get("properties")
        properties = listed if isinstance(listed, Mapping) else {}
        required = schema.get("required")
        needed = {str(name) for name in required} if isinstance(required, list | tuple) else set()
        others = schema.get("additionalProperties", True)
        title = schema.get("title")
        return MapOf(
            MappingProxyType(
                {str(name): self.type_of(inner, depth + 1) for name, inner in properties.items()}
            ),
            others is not False,
            str(title) if title else None,
            frozenset(str(name) for name in properties) - needed,
            self.type_of(others, depth + 1),
        )


def _part(reference: str, root: Any) -> Any:
    """What `#/$defs/x` names in the same file; None if it names nothing."""
    head, *names = reference.split("/")
    found = root if head == "#" else None
    for name in names:
        found = found.get(name.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
    return found


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
