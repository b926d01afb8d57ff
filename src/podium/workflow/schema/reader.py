"""Reads a plain document into typed values, and tells every mistake in the words of the language.

A key with a mistake is left out and the rest is read all the same, so that later checks still see it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from types import UnionType
from typing import Annotated, Any, Generic, Literal, TypeAlias, TypeVar, Union, get_args, get_origin

from podium.core.fast_dataclass import dataclass
from podium.errors import ConfigurationError
from podium.workflow.problems import Problem, did_you_mean
from podium.workflow.schema.fields import DocPath, Key, Raw, Scalar, Short, Wrong, keys_of, known_keys
from podium.workflow.schema.file import Config, File
from podium.workflow.schema.step import VERBS, Feature, Gate
from podium.workflow.source.yaml import Document

Model = TypeVar("Model", bound=Raw)
Source: TypeAlias = Callable[[DocPath], str | None]

_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


@dataclass(frozen=True, slots=True)
class FieldFault:
    """A mistake in one document, before its place in a file is looked up. `key`: the key, not its value."""

    rule: int
    path: DocPath
    message: str
    hint: str = ""
    key: bool = True
    warning: bool = False


def _unknown(path: DocPath) -> None:  # noqa: ARG001 (has the shape of a Source)
    return None


@dataclass(frozen=True, slots=True)
class Reading(Generic[Model]):
    """`value` is None only if nothing sensible is left; `broken` are the paths that were left out."""

    value: Model | None
    faults: tuple[FieldFault, ...]
    broken: frozenset[DocPath]


def read(model: type[Model], data: Any, *, source: Source = _unknown) -> Reading[Model]:
    """`source` tells how a number or boolean was spelled, to ask for quotes around exactly that."""
    reader = _Reader(source)
    try:
        value = reader.map(model, data, (), f"the {model.thing}")
    except _Broken:
        value = None
    return Reading(value, tuple(reader.faults), frozenset(reader.broken))


def read_file(data: Any) -> Reading[File]:
    return read(File, data)


def read_config(data: Any) -> Reading[Config]:
    return read(Config, data)


def read_feature(data: Any) -> Reading[Feature]:
    return read(Feature, data)


class _Broken(Exception):
    """This value cannot be used; why was already told."""


@dataclass(frozen=True, slots=True)
class _Reader:
    source: Source
    faults: list[FieldFault] = field(default_factory=list)
    broken: set[DocPath] = field(default_factory=set)

    def fault(self, rule: int, path: DocPath, message: str, hint: str = "", *, key: bool = False) -> None:
        self.faults.append(FieldFault(rule, path, message, hint, key=key))

    def map(self, model: type[Model], data: Any, path: DocPath, label: str) -> Model:
        """`label` is what messages call the map."""
        if not isinstance(data, Mapping):
            self.fault(2, path, f"{label} must be a map", key=True)
            raise _Broken
        keys = keys_of(model)
        values: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        for spelled, item in data.items():
            known = keys.get(spelled)
            if known is not None:
                for value in self.kept(known.type, item, (*path, spelled), label):
                    values[known.name] = value
            elif not model.open or did_you_mean(str(spelled), keys):
                self.unknown_key(model, spelled, (*path, spelled), label)
            else:
                extra[spelled] = item
        self.check_required(model, data, path, label)
        return model(values, path, extra)

    def kept(self, kind: Any, data: Any, path: DocPath, owner: str) -> Iterator[Any]:
        """The value, or nothing if it is broken."""
        try:
            yield self.value(kind, data, path, owner)
        except _Broken:
            self.broken.add(path)

    def unknown_key(self, model: type[Raw], key: Any, path: DocPath, label: str) -> None:
        self.broken.add(path)
        if not isinstance(key, str):
            self.fault(2, path, f'{_spelled(key)} as a key must be text; write "{_spelled(key)}"', key=True)
        elif issubclass(model, Gate) and key in VERBS:
            self.fault(36, path, "a gate is run, review, human or check", key=True)
        else:
            hint = did_you_mean(key, known_keys(model))
            self.fault(3, path, f'{label} has an unknown key "{key}"', hint, key=True)

    def check_required(self, model: type[Raw], data: Mapping[str, Any], path: DocPath, label: str) -> None:
        missing = [key for key, known in keys_of(model).items() if known.required and key not in data]
        for key in missing:
            if key == "podium":
                self.fault(3, path, '"podium" is missing; write podium: 1', key=True)
            else:
                self.fault(3, path, f'{label} needs "{key}"', key=True)
        lost = [known for known in keys_of(model).values() if _is_lost(known, data, path, self.broken)]
        if lost:
            raise _Broken

    def value(self, kind: Any, data: Any, path: DocPath, owner: str) -> Any:
        origin = get_origin(kind)
        if origin is Annotated:
            return self.marked(kind, data, path, owner)
        if origin in (Union, UnionType):
            return self.value(self.alternative(kind, data), data, path, owner) if data is not None else None
        if origin is dict:
            return self.entries(get_args(kind)[1], data, path)
        if origin is tuple:
            return self.elements(get_args(kind)[0], data, path, owner)
        if origin is Literal:
            return self.word(get_args(kind), data, path)
        if kind is Any:
            return data
        if issubclass(kind, Raw):
            return self.map(kind, data, path, _label(kind, path, owner))
        return self.plain(kind, data, path)

    def marked(self, kind: Any, data: Any, path: DocPath, owner: str) -> Any:
        inner, mark = get_args(kind)
        if isinstance(mark, Short):
            lifted = mark.lift(data)
            if lifted is data:
                return self.value(inner, data, path, owner)
            return self.short(inner, lifted, path, owner)
        assert isinstance(mark, Scalar)
        try:
            return mark.parse(data)
        except Wrong as wrong:
            self.fault(2, path, f"{_key_label(path)} must be {wrong.expected}")
            raise _Broken from wrong

    def short(self, kind: Any, lifted: Any, path: DocPath, owner: str) -> Any:
        """What is wrong in the map that a short spelling stands for is told of the spelling."""
        inner = _Reader(self.source)
        try:
            value = inner.value(kind, lifted, path, owner)
        except _Broken:
            value = None
        for fault in inner.faults[:1]:
            here = (*path, *fault.path[len(path) + 1 :])
            expected = fault.message.partition(" must be ")[2]
            self.fault(2, here, f"{_key_label(here)} must be {expected}", fault.hint)
            raise _Broken
        return value

    def alternative(self, kind: Any, data: Any) -> Any:
        """Which of several spellings this is, so that only the faults of that one are told."""
        kinds = [inner for inner in get_args(kind) if inner is not type(None)]
        shape = "map" if isinstance(data, Mapping) else "list" if isinstance(data, list) else "text"
        return next((inner for inner in kinds if shape in _shapes(inner)), kinds[0])

    def entries(self, kind: Any, data: Any, path: DocPath) -> dict[str, Any]:
        if not isinstance(data, Mapping):
            self.fault(2, path, f"{_key_label(path)} must be a map", key=True)
            raise _Broken
        found: dict[str, Any] = {}
        for name, item in data.items():
            if not isinstance(name, str):
                self.unknown_key(Raw, name, (*path, name), "")
                continue
            for value in self.kept(kind, item, (*path, name), ""):
                found[name] = value
        return found

    def elements(self, kind: Any, data: Any, path: DocPath, owner: str) -> tuple[Any, ...]:
        """One bad element takes the list along, so that the others keep their numbers."""
        if not isinstance(data, list):
            self.fault(2, path, f"{_key_label(path)} must be a list")
            raise _Broken
        found: list[Any] = []
        for number, item in enumerate(data):
            if item is None and kind is not Any:
                # A key without a value is the same as no key; an element without one is nothing but a slip.
                self.fault(2, (*path, number), f"{_key_label(path)} has an empty element")
                continue
            found += self.kept(kind, item, (*path, number), owner)
        if len(found) < len(data):
            raise _Broken
        return tuple(found)

    def word(self, words: tuple[Any, ...], data: Any, path: DocPath) -> Any:
        if not isinstance(data, bool) and data in words:
            return data
        shown = [str(word) for word in words]
        choice = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"
        hint = did_you_mean(data, shown) if isinstance(data, str) else ""
        self.fault(2, path, f"{_key_label(path)} must be {choice}", hint)
        raise _Broken

    def plain(self, kind: type, data: Any, path: DocPath) -> Any:
        if type(data) is kind or (kind is float and type(data) is int):
            return data
        if kind is str and isinstance(data, bool | int | float):
            expected = f'text; write "{self.source(path) or _spelled(data)}"'
        else:
            expected = _WORDS[kind]
        self.fault(2, path, f"{_key_label(path)} must be {expected}")
        raise _Broken


def _is_lost(key: Key, data: Mapping[str, Any], path: DocPath, broken: set[DocPath]) -> bool:
    """Whether a map is of no use because this key is not there; that of the version can be guessed."""
    spelled = key.name.removesuffix("_")
    return key.required and spelled != "podium" and (spelled not in data or (*path, spelled) in broken)


def _shapes(kind: Any) -> tuple[str, ...]:
    """What a type looks like in a file."""
    origin = get_origin(kind)
    if origin is Annotated:
        inner, mark = get_args(kind)
        return ("map", "list", "text") if isinstance(mark, Short | Scalar) else _shapes(inner)
    if origin is tuple:
        return ("list",)
    if origin is dict or (isinstance(kind, type) and issubclass(kind, Raw)):
        return ("map",)
    return ("text",)


def _label(model: type[Raw], path: DocPath, owner: str) -> str:
    """What messages call a map: by its kind and name if it has them, else by its key."""
    if not model.thing or not path:
        return _key_label(path)
    if isinstance(path[-1], int):
        return f"a {model.thing} of {owner}" if owner else _key_label(path)
    return f'{model.thing} "{path[-1]}"'


def _key_label(path: DocPath) -> str:
    """The last key, with the number of an element behind it."""
    key = next((part for part in reversed(path) if isinstance(part, str)), "")
    return f'"{key}[{path[-1]}]"' if isinstance(path[-1], int) else f'"{key}"'


def _spelled(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_strictly(model: type[Model], document: Document, *, under: str | None = None) -> Model:
    """`under` is the key that a file may leave out, if it holds nothing but that list."""
    listed = under is not None and isinstance(document.value, list)
    whole: Any = {under: document.value} if listed else document.value or {}
    problems = list(document.problems)
    if not problems:
        reading = read(model, whole, source=lambda path: document.source(path[1:] if listed else path))
        for fault in reading.faults:
            at = document.position(fault.path[1:] if listed else fault.path, key=fault.key)
            problems.append(Problem(document.name, at.line, at.col, fault.rule, fault.message, fault.hint))
        if reading.value is not None and not problems:
            return reading.value
    raise ConfigurationError("\n".join(problem.render() for problem in problems))
