"""Reads a plain document into typed values and reports every mistake in it.

A key with a mistake is omitted and the rest is still read, so that later checks can run on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from types import UnionType
from typing import Annotated, Any, Final, Generic, Literal, TypeAlias, TypeVar, Union, get_args, get_origin

from podium.fast_dataclass import dataclass
from podium.workflow.problems import Problem, did_you_mean, join_words, mistakes
from podium.workflow.schema.fields import (
    DocPath,
    InvalidValue,
    Key,
    Raw,
    Scalar,
    Short,
    keys_of,
    known_keys,
    required_keys_of,
)
from podium.workflow.schema.file import File
from podium.workflow.schema.other_words import hint_for
from podium.workflow.schema.step import VERBS, Feature, Gate
from podium.workflow.source.yaml import Document

Model = TypeVar("Model", bound=Raw)
Source: TypeAlias = Callable[[DocPath], str | None]

_TYPE_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


@dataclass(frozen=True, slots=True)
class FieldFault:
    """A mistake in a document, before its place in the file is looked up; `key` places it at the key, not the value."""

    rule: int
    path: DocPath
    message: str
    hint: str = ""
    key: bool = True
    warning: bool = False


def _no_source(path: DocPath) -> None:  # noqa: ARG001 (has the shape of a Source)
    return None


@dataclass(frozen=True, slots=True)
class Reading(Generic[Model]):
    """`value` is None only if nothing usable is left; `broken` are the paths that were omitted."""

    value: Model | None
    faults: tuple[FieldFault, ...]
    broken: frozenset[DocPath]


def read(model: type[Model], data: Any, *, source: Source = _no_source) -> Reading[Model]:
    """`source` returns how a number or boolean was written, so that a message can suggest quotes around exactly that."""
    reader = _Reader(source)
    try:
        value = reader.map(model, data, (), f"the {model.noun}")
    except _Omitted:
        value = None
    return Reading(value, tuple(reader.faults), frozenset(reader.broken))


def faults_of_value(kind: Any, data: Any, path: DocPath) -> tuple[FieldFault, ...]:
    """The mistakes in one value of a type; `path` is its place."""
    reader = _Reader(_no_source)
    for _ in reader.read_value(kind, data, path, ""):
        pass
    return tuple(reader.faults)


def read_file(data: Any) -> Reading[File]:
    return read(File, data)


def read_feature(data: Any) -> Reading[Feature]:
    return read(Feature, data)


class _Omitted(Exception):
    """Raised when a value cannot be used; the reason was already reported."""


@dataclass(frozen=True, slots=True)
class _Reader:
    source: Source
    faults: list[FieldFault] = field(default_factory=list)
    broken: set[DocPath] = field(default_factory=set)

    def fault(self, rule: int, path: DocPath, message: str, hint: str = "", *, key: bool = False) -> None:
        self.faults.append(FieldFault(rule, path, message, hint, key=key))

    def map(self, model: type[Model], data: Any, path: DocPath, label: str) -> Model:
        """`label` is the map's name in messages."""
        if not isinstance(data, Mapping):
            self.fault(2, path, f"{label} must be a map", key=True)
            raise _Omitted
        keys = keys_of(model)
        values: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        for name, item in data.items():
            key = keys.get(name)
            if key is not None:
                for value in self.read_value(key.type, item, (*path, name), label):
                    values[key.name] = value
            elif not model.open or not isinstance(name, str):
                self.unknown_key(model, name, (*path, name), label)
            else:
                extra[name] = item
        self.check_required(model, data, path, label)
        return model(values, path, extra)

    def read_value(self, kind: Any, data: Any, path: DocPath, owner: str) -> Iterator[Any]:
        """Yields the value, or nothing if it is broken."""
        try:
            yield self.value(kind, data, path, owner)
        except _Omitted:
            self.broken.add(path)

    def unknown_key(self, model: type[Raw], key: Any, path: DocPath, label: str) -> None:
        self.broken.add(path)
        if not isinstance(key, str):
            self.fault(
                2, path, f'the key {_as_written(key)} must be text; write "{_as_written(key)}"', key=True
            )
        elif issubclass(model, Gate) and key in VERBS:
            self.fault(36, path, f'a gate cannot be "{key}"', "use run, review, human or check", key=True)
        else:
            peer = hint_for(model.other_words, key)
            hint = peer or did_you_mean(key, known_keys(model)) or _list_of_keys(model)
            self.fault(3, path, f'{label} has an unknown key "{key}"', hint, key=True)

    def check_required(self, model: type[Raw], data: Mapping[str, Any], path: DocPath, label: str) -> None:
        required = required_keys_of(model)
        for key in (key for key in required if key not in data):
            if key == "podium":
                self.fault(3, path, '"podium" is missing; write podium: 1', key=True)
            else:
                self.fault(3, path, f'{label} needs "{key}"', key=True)
        if any(_makes_map_useless(key, data, path, self.broken) for key in required.values()):
            raise _Omitted

    def value(self, kind: Any, data: Any, path: DocPath, owner: str) -> Any:
        origin = get_origin(kind)
        if origin is Annotated:
            return self.annotated(kind, data, path, owner)
        if origin in (Union, UnionType):
            return self.alternative(kind, data, path, owner) if data is not None else None
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

    def annotated(self, kind: Any, data: Any, path: DocPath, owner: str) -> Any:
        inner, mark = get_args(kind)
        if isinstance(mark, Short):
            long_form = mark.to_map(data)
            if long_form is data:
                return self.value(inner, data, path, owner)
            return self.short_form(inner, long_form, path, owner)
        assert isinstance(mark, Scalar)
        try:
            return mark.parse(data)
        except InvalidValue as invalid:
            self.fault(2, path, f"{_key_label(path)} must be {invalid.expected}")
            raise _Omitted from invalid

    def short_form(self, kind: Any, long_form: Any, path: DocPath, owner: str) -> Any:
        """Reads a short form; a fault in the map it stands for is reported for the short form."""
        inner = _Reader(self.source)
        try:
            value = inner.value(kind, long_form, path, owner)
        except _Omitted:
            value = None
        for fault in inner.faults[:1]:
            place = (*path, *fault.path[len(path) + 1 :])
            expected = fault.message.partition(" must be ")[2]
            self.fault(2, place, f"{_key_label(place)} must be {expected}", fault.hint)
            raise _Omitted
        return value

    def alternative(self, kind: Any, data: Any, path: DocPath, owner: str) -> Any:
        """Reads the alternative that has the shape of the data, so that only the faults of that one are reported."""
        kinds = [inner for inner in get_args(kind) if inner is not type(None)]
        shape = "map" if isinstance(data, Mapping) else "list" if isinstance(data, list) else "text"
        matching = next((inner for inner in kinds if shape in _shapes(inner)), None)
        if matching is not None or len(kinds) == 1:
            return self.value(matching or kinds[0], data, path, owner)
        shapes = dict.fromkeys(name for inner in kinds for name in _shapes(inner))
        self.fault(
            2, path, f"{_key_label(path)} must be {join_words([_SHAPE_WORDS[s] for s in shapes], 'or')}"
        )
        raise _Omitted

    def entries(self, kind: Any, data: Any, path: DocPath) -> dict[str, Any]:
        if not isinstance(data, Mapping):
            self.fault(2, path, f"{_key_label(path)} must be a map", key=True)
            raise _Omitted
        entries: dict[str, Any] = {}
        for name, item in data.items():
            if not isinstance(name, str):
                self.unknown_key(Raw, name, (*path, name), "")
                continue
            for value in self.read_value(kind, item, (*path, name), ""):
                entries[name] = value
        return entries

    def elements(self, kind: Any, data: Any, path: DocPath, owner: str) -> tuple[Any, ...]:
        """Reads a list; one bad element omits the whole list, so that the indexes of the others stay correct."""
        if not isinstance(data, list):
            hint = (
                f"write [{data}]"
                if isinstance(data, str | int | float)
                else f"write it in brackets: {'[a, b]' if kind is str else '[{...}, {...}]'}"
            )
            self.fault(2, path, f"{_key_label(path)} must be a list", hint)
            raise _Omitted
        elements: list[Any] = []
        for number, item in enumerate(data):
            if item is None and kind is not Any:
                # A key without a value counts as missing, but a list element without one is a mistake.
                self.fault(2, (*path, number), f"{_key_label(path)} has an empty element")
                continue
            elements += self.read_value(kind, item, (*path, number), owner)
        if len(elements) < len(data):
            raise _Omitted
        return tuple(elements)

    def word(self, words: tuple[Any, ...], data: Any, path: DocPath) -> Any:
        if not isinstance(data, bool) and data in words:
            return data
        choices = [str(word) for word in words]
        choices_text = choices[0] if len(choices) == 1 else f"{', '.join(choices[:-1])} or {choices[-1]}"
        hint = did_you_mean(data, choices) if isinstance(data, str) else ""
        self.fault(2, path, f"{_key_label(path)} must be {choices_text}", hint)
        raise _Omitted

    def plain(self, kind: type, data: Any, path: DocPath) -> Any:
        if type(data) is kind or (kind is float and type(data) is int):
            return data
        if kind is str and isinstance(data, bool | int | float):
            expected = f'text; write "{self.source(path) or _as_written(data)}"'
        else:
            expected = _TYPE_NAMES[kind]
        self.fault(2, path, f"{_key_label(path)} must be {expected}")
        raise _Omitted


def _makes_map_useless(key: Key, data: Mapping[str, Any], path: DocPath, broken: set[DocPath]) -> bool:
    """Whether this required key is missing or broken; a missing version is assumed to be 1."""
    name = key.name.removesuffix("_")
    return name != "podium" and (name not in data or (*path, name) in broken)


MOST_KEYS: Final = 16
"""A longer list of keys is harder to read than the reference."""


def _list_of_keys(model: type[Raw]) -> str:
    keys = known_keys(model)
    return f"its keys: {', '.join(keys)}" if 0 < len(keys) <= MOST_KEYS else ""


_SHAPE_WORDS: Final = {"text": "text", "list": "a list", "map": "a map"}


def _shapes(kind: Any) -> tuple[str, ...]:
    """The shapes that a type can have in a file."""
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
    """The name of a map in messages: its kind and name, or else its key."""
    if not model.noun or not path:
        return _key_label(path)
    if isinstance(path[-1], int):
        return f"a {model.noun} of {owner}" if owner else _key_label(path)
    return f'{model.noun} "{path[-1]}"'


def _key_label(path: DocPath) -> str:
    """The last key, followed by the index for a list element."""
    key = next((part for part in reversed(path) if isinstance(part, str)), "")
    return f'"{key}[{path[-1]}]"' if isinstance(path[-1], int) else f'"{key}"'


def _as_written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_or_raise(model: type[Model], document: Document, *, under: str | None = None) -> Model:
    """Reads a document or raises all its problems; `under` is a key that a file with only that list may omit."""
    is_bare_list = under is not None and isinstance(document.value, list)
    data: Any = {under: document.value} if is_bare_list else document.value or {}
    problems = list(document.problems)
    if not problems:
        reading = read(model, data, source=lambda path: document.source(path[1:] if is_bare_list else path))
        for fault in reading.faults:
            at = document.position(fault.path[1:] if is_bare_list else fault.path, key=fault.key)
            problems.append(Problem(document.name, at.line, at.col, fault.rule, fault.message, fault.hint))
        if reading.value is not None and not problems:
            return reading.value
    raise mistakes(problems)
