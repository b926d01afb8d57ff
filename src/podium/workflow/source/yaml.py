"""Reads YAML strictly: plain values, the place of each, and every problem at once.

Scalars follow a subset of the YAML 1.2 core schema: only true, false, null, decimal integers and floats are typed.
Duplicate keys, anchors, aliases, tags, merge keys and further documents are problems. Values are built from
the parser's events without recursion, so a file of nothing but brackets fails at the nesting limit.
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import yaml

from podium.core.expressions.values import MAX_INT, MIN_INT
from podium.fast_dataclass import dataclass
from podium.workflow.problems import Problem, did_you_mean, in_order

if TYPE_CHECKING:
    from podium.workflow.source.yaml_errors import Explanation

MAX_BYTES: Final = 2**20
MAX_NESTING: Final = 50
MAX_VALUES: Final = 60_000
"""Keys and values of a file; a megabyte of the shortest ones would take several seconds."""
MAX_PROBLEMS: Final = 100
RULE: Final = 1

Loader: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's parser where PyYAML has it; the parser in Python is about twenty times slower and otherwise the same."""

Key: TypeAlias = str | int

_INT: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT: Final = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_KEYWORDS: Final = {"true": True, "false": False, "null": None, "~": None, "": None}
_COLON: Final = re.compile(r"\s*:")


class Position(NamedTuple):
    """A place in a text; lines and columns count from 1."""

    line: int
    col: int


class ValuePositions(NamedTuple):
    """The positions of a value and its key and of the values inside it; `source` is how a number or word was written."""

    at: Position
    key: Position
    inner: dict[Key, ValuePositions]
    source: str | None = None


START: Final = Position(1, 1)


@dataclass(frozen=True, slots=True)
class Document:
    """`value` consists of dicts, lists and scalars; it is None if the file cannot be read, and `problems` then say why."""

    name: str
    value: Any
    problems: tuple[Problem, ...]
    root: ValuePositions

    def position(self, path: tuple[Key, ...], *, key: bool = False) -> Position:
        """The position of the value at a path, or of its key; for a missing value, that of the nearest one around it."""
        positions, _ = self._positions_at(path)
        return positions.key if key else positions.at

    def source(self, path: tuple[Key, ...]) -> str | None:
        """How a number, boolean or null was written, so that a message can suggest quotes around exactly that."""
        positions, exists = self._positions_at(path)
        return positions.source if exists else None

    def _positions_at(self, path: tuple[Key, ...]) -> tuple[ValuePositions, bool]:
        positions = self.root
        for step in path:
            if step not in positions.inner:
                return positions, False
            positions = positions.inner[step]
        return positions, True


def read(path: Path, *, name: str | None = None) -> Document:
    """Reads a file; an unreadable file is reported as a problem in the document."""
    file_name = str(path) if name is None else name
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return _unreadable(file_name, "file not found", _meant(path))
    except OSError as error:
        return _unreadable(file_name, f"cannot read this file: {(error.strerror or str(error)).lower()}")
    if len(data) > MAX_BYTES:
        return _unreadable(file_name, f"this file is larger than {MAX_BYTES} bytes")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _unreadable(file_name, "this file is UTF-16", "save it as UTF-8")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return _unreadable(file_name, "this file is not UTF-8", "save it as UTF-8", line=line)
    return load(text, name=file_name)


def _meant(path: Path) -> str:
    """A hint with a file that is there: of the same name, or with nearly the same path."""
    folder = path.parent if path.parent.is_dir() else path.parent.parent
    if not folder.is_dir():
        return ""
    files = {_typed(file): file for each in (".", "workflows") for file in (folder / each).glob("*.y*ml")}
    same = next((name for name, file in files.items() if file.stem == path.stem), "")
    return f'did you mean "{same}"?' if same else did_you_mean(_typed(path), files)


def _typed(path: Path) -> str:
    """The path as it can be typed here."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def load(text: str, *, name: str) -> Document:
    text = text.removeprefix("\ufeff")
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        return _unreadable(
            name,
            "this file contains half a character (a lone surrogate)",
            line=text.count("\n", 0, error.start) + 1,
        )
    if size > MAX_BYTES:
        return _unreadable(name, f"this file is larger than {MAX_BYTES} bytes")
    builder = _Builder(text, name)
    try:
        for event in yaml.parse(text, Loader=Loader):
            builder.add_event(event)
    except yaml.YAMLError as error:
        from podium.workflow.source.yaml_errors import explain

        builder.stop(explain(error, text))
    except _Stop:
        pass
    return Document(name, builder.value, in_order(builder.problems), builder.root)


def _unreadable(name: str, message: str, hint: str = "", *, line: int = 1) -> Document:
    return Document(
        name, None, (Problem(name, line, 1, RULE, message, hint),), ValuePositions(START, START, {})
    )


class _Stop(Exception):
    """Raised when the rest of the file cannot be understood."""


@dataclass(slots=True)
class _Frame:
    """A list or map that is being read; `key` is None while the next value is dropped because its key was refused."""

    value: dict[str, Any] | list[Any]
    at: Position
    index: int
    flow: bool
    inner: dict[Key, ValuePositions] = field(default_factory=dict)
    wants_key: bool = True
    key: str | None = None
    key_at: Position = START
    key_end: int = 0
    as_key: bool = False


@dataclass(slots=True)
class _Builder:
    """Builds values from the parser's events."""

    text: str
    name: str
    value: Any = None
    root: ValuePositions = ValuePositions(START, START, {})
    problems: list[Problem] = field(default_factory=list)
    frames: list[_Frame] = field(default_factory=list)
    documents: int = 0
    values: int = 0

    def add_event(self, event: Any) -> None:
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self._check_marks(event)
            self._scalar(event)
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            self._check_marks(event)
            self._open(event)
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self._close()
        elif isinstance(event, yaml.AliasEvent):
            self._problem(event.start_mark, "aliases are not allowed", self._quotes_for("*"))
            self._put(None, ValuePositions(_position(event.start_mark), START, {}))
        elif isinstance(event, yaml.DocumentStartEvent):
            self._document(event)

    def stop(self, explained: Explanation) -> None:
        self.problems.append(
            Problem(self.name, explained.line, explained.col, RULE, explained.message, explained.hint)
        )

    def _problem(self, mark: Any, message: str, hint: str = "", rule: int = RULE) -> None:
        self._problem_at(_position(mark), message, hint, rule)

    def _problem_at(self, at: Position, message: str, hint: str, rule: int = RULE) -> None:
        self.problems.append(Problem(self.name, at.line, at.col, rule, message, hint))
        # A file with this many problems is probably not YAML, and more messages would not help.
        if len(self.problems) >= MAX_PROBLEMS:
            raise _Stop

    def _quotes_for(self, sign: str) -> str:
        return f'a value that begins with "{sign}" needs quotes'

    def _document(self, event: Any) -> None:
        self.documents += 1
        if self.documents > 1:
            self._problem(event.start_mark, "this file has a second document", 'remove the second "---"')
            raise _Stop
        if event.version or event.tags:
            self._problem(event.start_mark, 'directives ("%...") are not allowed')

    def _check_marks(self, event: Any) -> None:
        self.values += 1
        if self.values > MAX_VALUES:
            message = f"this file has more than {MAX_VALUES} keys and values"
            self._problem(event.start_mark, message, "split it into several files")
            raise _Stop
        if event.anchor is not None:
            hint = "to use a part twice, give it a name under gates, roles, policies or retries"
            self._problem(event.start_mark, "anchors are not allowed", hint)
        if event.tag is not None:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")[:40]
            self._problem(event.start_mark, f'tag "{tag}" is not allowed', self._quotes_for("!"))

    def _scalar(self, event: Any) -> None:
        frame = self.frames[-1] if self.frames else None
        plain = event.implicit[0]
        value, source = self._resolve(event) if plain else (event.value, None)
        if frame is not None and frame.flow and plain and not frame.as_key:
            self._check_flow_text(frame, event)
        if frame is not None and isinstance(frame.value, dict) and frame.wants_key:
            self._key(frame, event, value)
        else:
            self._put(value, ValuePositions(_position(event.start_mark), START, {}, source))

    def _resolve(self, event: Any) -> tuple[Any, str | None]:
        text: str = event.value
        if text in _KEYWORDS:
            return _KEYWORDS[text], text
        if text[0] not in "+-.0123456789":
            return text, None
        if _INT.fullmatch(text):
            # Python refuses to convert numbers with thousands of digits, and 20 digits already exceed the limit.
            if len(text) <= 20 and MIN_INT <= int(text) <= MAX_INT:
                return int(text), text
        elif not _FLOAT.fullmatch(text):
            return text, None
        elif math.isfinite(float(text)):
            return float(text), text
        self._problem(event.start_mark, "this number is too big", "write it in quotes if it is text", 2)
        return None, text

    def _check_flow_text(self, frame: _Frame, event: Any) -> None:
        """Reports a value that was cut at a sign which needs quotes inside {...} and [...]."""
        if isinstance(frame.value, dict) and frame.wants_key:
            return
        for sign in "?:":
            if sign in event.value:
                self._problem(
                    event.start_mark, f'a value with "{sign}" needs quotes inside {{...}} and [...]'
                )
                return
        if frame.key and not event.value and not _COLON.match(self.text, frame.key_end):
            cut = 'a value with "," needs quotes inside {...} and [...]'
            hint = 'put a space after ":"' if ":" in frame.key else cut
            self._problem_at(frame.key_at, f'"{frame.key}" has no value', hint)

    def _key(self, frame: _Frame, event: Any, value: Any) -> None:
        frame.wants_key = False
        frame.key, frame.key_at, frame.key_end = None, _position(event.start_mark), event.end_mark.index
        if not isinstance(value, str):
            key_text = event.value or "null"
            self._problem(event.start_mark, f"the key {key_text} must be text", f'write "{key_text}"')
        elif value == "<<" and event.implicit[0]:
            self._problem(event.start_mark, "merge keys are not allowed")
        elif value in frame.value:
            first = frame.inner[value].key.line
            self._problem(event.start_mark, f'duplicate key "{value}"', f"it is already in line {first}")
        else:
            frame.key = value

    def _open(self, event: Any) -> None:
        if len(self.frames) >= MAX_NESTING:
            self._problem(event.start_mark, f"values are nested more than {MAX_NESTING} deep")
            raise _Stop
        parent = self.frames[-1] if self.frames else None
        is_map = isinstance(event, yaml.MappingStartEvent)
        mark = event.start_mark
        frame = _Frame({} if is_map else [], _position(mark), mark.index, bool(event.flow_style))
        if parent is not None and isinstance(parent.value, dict) and parent.wants_key:
            frame.as_key = True
            braces = self.text.startswith("{{", parent.index)
            message = 'a value with "{{" needs quotes' if braces else "a key must be text"
            self._problem(mark, message)
        elif is_map and frame.flow and not self.text.startswith("{", mark.index):
            self._problem(
                mark,
                'a value with ":" needs quotes inside [...]',
                "write a map inside a list with braces: [{a: b}]",
            )
        self.frames.append(frame)

    def _close(self) -> None:
        frame = self.frames.pop()
        if frame.as_key:
            self.frames[-1].wants_key = False
            self.frames[-1].key = None
        else:
            self._put(frame.value, ValuePositions(frame.at, START, frame.inner))

    def _put(self, value: Any, positions: ValuePositions) -> None:
        """Adds the value to the current list or map, or makes it the whole document."""
        if not self.frames:
            self.value, self.root = value, positions._replace(key=positions.at)
            return
        frame = self.frames[-1]
        if isinstance(frame.value, list):
            frame.inner[len(frame.value)] = positions._replace(key=positions.at)
            frame.value.append(value)
        elif frame.wants_key:
            # Only an alias gets here: as a key it has no name.
            frame.wants_key, frame.key = False, None
        else:
            if frame.key is not None:
                frame.inner[frame.key] = positions._replace(key=frame.key_at)
                frame.value[frame.key] = value
            frame.wants_key = True


def _position(mark: Any) -> Position:
    return Position(mark.line + 1, mark.column + 1)
