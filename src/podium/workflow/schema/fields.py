"""The parts of schema definitions: maps with typed keys, and marks for values that have several forms.

A map is a plain class whose annotations are its keys, so defining one costs almost nothing at import time.
(pydantic models of the same maps took 0.18 s to import and build, most of the time that `podium validate` may take;
their errors also had to be reworded, and the document read again without each mistake.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Final, NoReturn, Self, TypeAlias, get_origin, get_type_hints

from podium.fast_dataclass import dataclass

DocPath: TypeAlias = tuple[str | int, ...]
Schema: TypeAlias = dict[str, Any]


class InvalidValue(Exception):
    """Raised for a value that its key does not take; `expected` says what it takes."""

    def __init__(self, expected: str) -> None:
        super().__init__(expected)
        self.expected = expected


@dataclass(frozen=True, slots=True, eq=False)
class Scalar:
    """Marks a value that `parse` reads and `schema` describes."""

    parse: Callable[[Any], Any]
    schema: Schema


@dataclass(frozen=True, slots=True, eq=False)
class Short:
    """Marks a map with a short form, which `expand` turns into the map; `schema` describes the short form."""

    expand: Callable[[Any], Any]
    schema: Schema

    def to_map(self, value: Any) -> Any:
        return value if value is None or isinstance(value, Mapping) else self.expand(value)


class Raw:
    """A map as written; `path` is its path in the document. A key that Python reserves gets an underscore."""

    noun: ClassVar[str] = ""
    """The word for it in messages; without one, messages name it by its key."""
    open: ClassVar[bool] = False
    """Whether unknown keys are kept, in `extra`."""
    other_words: ClassVar[Mapping[str, str]] = {}
    """What the words of other tools for its keys are called here."""

    _path: DocPath = ()
    _written: tuple[str, ...] = ()
    _extra: Mapping[str, Any] = MappingProxyType({})

    def __init__(
        self, values: Mapping[str, Any], path: DocPath = (), extra: Mapping[str, Any] | None = None
    ) -> None:
        """`values` are keyed by attribute name, in the order of the file."""
        own = self.__dict__
        own.update(values)
        own["_path"] = path
        own["_written"] = tuple(values)
        if extra:
            own["_extra"] = MappingProxyType(dict(extra))

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._written)
        return f"{type(self).__name__}({values})"

    @property
    def path(self) -> DocPath:
        return self._path

    @property
    def extra(self) -> Mapping[str, Any]:
        return self._extra

    def at(self, *keys: str | int) -> DocPath:
        return (*self._path, *keys)

    def has(self, key: str) -> bool:
        """Whether the file itself contains this key."""
        return attribute_name(key) in self._written

    def get(self, key: str) -> Any:
        """The value of a key as spelled in the file."""
        return getattr(self, f"{key}_" if key in RESERVED else key)

    def written_keys(self) -> tuple[str, ...]:
        """The keys in the file, in their order."""
        return tuple(key_name(name) for name in self._written)

    def with_values(self, values: Mapping[str, Any]) -> Self:
        """A copy with other values for these attributes."""
        current = {name: getattr(self, name) for name in self._written}
        return type(self)({**current, **values}, self._path, self._extra)


RESERVED: Final = frozenset({"as", "finally", "for", "in", "pass", "path", "set", "while", "with"})
"""Keys that cannot be attributes, or would hide a Python keyword or a name of `Raw`."""


def attribute_name(key: str) -> str:
    return f"{key}_" if key in RESERVED else key


def key_name(name: str) -> str:
    return name.removesuffix("_")


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a map: its attribute, its type, and whether it is required."""

    name: str
    type: Any
    required: bool


_KEYS: Final[dict[type[Raw], Mapping[str, Key]]] = {}
_REQUIRED_KEYS: Final[dict[type[Raw], Mapping[str, Key]]] = {}
"""Computed when a kind of map is first read, then cached."""


def keys_of(model: type[Raw]) -> Mapping[str, Key]:
    """The keys by their spelling in the file, in the order of the schema."""
    if model not in _KEYS:
        _KEYS[model] = _keys_of(model)
    return _KEYS[model]


def required_keys_of(model: type[Raw]) -> Mapping[str, Key]:
    if model not in _REQUIRED_KEYS:
        _REQUIRED_KEYS[model] = {name: key for name, key in keys_of(model).items() if key.required}
    return _REQUIRED_KEYS[model]


def _keys_of(model: type[Raw]) -> Mapping[str, Key]:
    hints = get_type_hints(model, include_extras=True)
    own = {name: kind for name, kind in hints.items() if get_origin(kind) is not ClassVar and name[0] != "_"}
    return MappingProxyType(
        {key_name(name): Key(name, kind, not hasattr(model, name)) for name, kind in own.items()}
    )


def known_keys(model: type[Raw]) -> tuple[str, ...]:
    return tuple(keys_of(model))
