"""What the schema is written in: maps with typed keys, and marks that say how a value is spelled.

A map is a plain class whose annotations are its keys; reading one costs nothing before the first file is read.
(pydantic models of the same maps took 0.18 s to import and build, most of what `podium validate` may take; their
errors also had to be translated and the document read again without each mistake.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Final, NoReturn, Self, TypeAlias, get_origin, get_type_hints

from podium.core.fast_dataclass import dataclass

DocPath: TypeAlias = tuple[str | int, ...]
Schema: TypeAlias = dict[str, Any]


class Wrong(Exception):
    """A value is not what its key takes; `expected` says what would be right."""

    def __init__(self, expected: str) -> None:
        super().__init__(expected)
        self.expected = expected


@dataclass(frozen=True, slots=True, eq=False)
class Scalar:
    """Marks a value that is read by `parse` and described by `schema`."""

    parse: Callable[[Any], Any]
    schema: Schema


@dataclass(frozen=True, slots=True, eq=False)
class Short:
    """Marks a map with a short spelling, which `spell` turns into the map; `schema` describes the short one."""

    spell: Callable[[Any], Any]
    schema: Schema

    def lift(self, value: Any) -> Any:
        return value if value is None or isinstance(value, Mapping) else self.spell(value)


class Raw:
    """A map as it was written. `path` leads to it in its document. A key that Python reserves has an underscore."""

    thing: ClassVar[str] = ""
    """What a message calls it; empty is named by its key."""
    open: ClassVar[bool] = False
    """Whether further keys are passed through, in `extra`."""

    _path: DocPath = ()
    _said: tuple[str, ...] = ()
    _extra: Mapping[str, Any] = MappingProxyType({})

    def __init__(
        self, values: Mapping[str, Any], path: DocPath = (), extra: Mapping[str, Any] | None = None
    ) -> None:
        """`values` go by attribute, in the order of the file."""
        own = self.__dict__
        own.update(values)
        own["_path"] = path
        own["_said"] = tuple(values)
        if extra:
            own["_extra"] = MappingProxyType(dict(extra))

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._said)
        return f"{type(self).__name__}({said})"

    @property
    def path(self) -> DocPath:
        return self._path

    @property
    def extra(self) -> Mapping[str, Any]:
        return self._extra

    def at(self, *keys: str | int) -> DocPath:
        return (*self._path, *keys)

    def has(self, key: str) -> bool:
        """Whether the file itself says this key."""
        return attribute(key) in self._said

    def get(self, key: str) -> Any:
        """The value under a key as it is spelled in the file."""
        return getattr(self, attribute(key))

    def said(self) -> tuple[str, ...]:
        """The keys that were written, in the order of the file."""
        return tuple(spelling(name) for name in self._said)

    def with_values(self, values: Mapping[str, Any]) -> Self:
        """The same with other values under these attributes."""
        kept = {name: getattr(self, name) for name in self._said}
        return type(self)({**kept, **values}, self._path, self._extra)


RESERVED: Final = frozenset({"as", "finally", "in", "pass", "path", "set", "while", "with"})
"""Keys that cannot be attributes, or would hide a word of Python or of ours."""


def attribute(key: str) -> str:
    return f"{key}_" if key in RESERVED else key


def spelling(name: str) -> str:
    return name.removesuffix("_")


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a map: its attribute, the type it takes, and whether it must be there."""

    name: str
    type: Any
    required: bool


_KEYS: Final[dict[type[Raw], Mapping[str, Key]]] = {}
"""Worked out when a kind of map is first read, and then known."""


def keys_of(model: type[Raw]) -> Mapping[str, Key]:
    """By spelling, in the order of the schema."""
    if model not in _KEYS:
        _KEYS[model] = _keys_of(model)
    return _KEYS[model]


def _keys_of(model: type[Raw]) -> Mapping[str, Key]:
    hints = get_type_hints(model, include_extras=True)
    own = {name: kind for name, kind in hints.items() if get_origin(kind) is not ClassVar and name[0] != "_"}
    return MappingProxyType(
        {spelling(name): Key(name, kind, not hasattr(model, name)) for name, kind in own.items()}
    )


def known_keys(model: type[Raw]) -> tuple[str, ...]:
    return tuple(keys_of(model))
