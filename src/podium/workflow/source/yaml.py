"""Reads YAML strictly: plain values, the place of each one, and everything that is wrong, all at once.

Scalars follow the YAML 1.2 core schema, narrowed: only true, false, null, decimal integers and floats are typed.
Duplicate keys, anchors, aliases, tags, merge keys and further documents are problems. Values are built from
the parser's events without recursion, so that a file of nothing but brackets fails at the fifty-first.
"""

from __future__ import annotations

import math
import re
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import yaml

from podium.core.expressions.values import MAX_INT, MIN_INT
from podium.core.fast_dataclass import dataclass
from podium.workflow.problems import Problem, in_order

if TYPE_CHECKING:
    from podium.workflow.source.yaml_errors import Explained

MAX_BYTES: Final = 2**20
MAX_NESTING: Final = 50
MAX_PROBLEMS: Final = 100
RULE: Final = 1

Loader: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's parser where it was built in; the one in Python is some twenty times slower and else the same."""

Key: TypeAlias = str | int

_INT: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT: Final = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_WORDS: Final = {"true": True, "false": False, "null": None, "~": None, "": None}
_COLON: Final = re.compile(r"\s*:")


class Position(NamedTuple):
    """Counted from 1."""

    line: int
    col: int


class Spot(NamedTuple):
    """Where a value and its key stand, what lies inside, and how a number or word was spelled."""

    at: Position
    key: Position
    inner: dict[Key, Spot]
    source: str | None = None


START: Final = Position(1, 1)


@dataclass(frozen=True, slots=True)
class Document:
    """`value` is made of dict, list and scalars; None if the file cannot be read, and then `problems` say why."""

    name: str
    value: Any
    problems: tuple[Problem, ...]
    root: Spot

    def position(self, path: tuple[Key, ...], *, key: bool = False) -> Position:
        """Where the value at this path stands, or its key; of what does not exist, the nearest thing around it."""
        spot, _ = self._spot(path)
        return spot.key if key else spot.at

    def source(self, path: tuple[Key, ...]) -> str | None:
        """How a number, boolean or null was written, to ask for quotes around exactly that."""
        spot, found = self._spot(path)
        return spot.source if found else None

    def _spot(self, path: tuple[Key, ...]) -> tuple[Spot, bool]:
        spot = self.root
        for step in path:
            if step not in spot.inner:
                return spot, False
            spot = spot.inner[step]
        return spot, True


def read(path: Path, *, name: str | None = None) -> Document:
    """The document of a file; that it cannot be read is a problem like any other."""
    shown = str(path) if name is None else name
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        return _unreadable(shown, "this file cannot be read", (error.strerror or str(error)).lower())
    if len(data) > MAX_BYTES:
        return _unreadable(shown, f"a file has at most {MAX_BYTES} bytes")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _unreadable(shown, "this file is UTF-16", "save it as UTF-8")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return _unreadable(shown, "this file is not UTF-8", "save it as UTF-8", line=line)
    return load(text, name=shown)


def load(text: str, *, name: str) -> Document:
    text = text.removeprefix("\ufeff")
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        return _unreadable(
            name, "half a character (a lone surrogate)", line=text.count("\n", 0, error.start) + 1
        )
    if size > MAX_BYTES:
        return _unreadable(name, f"a file has at most {MAX_BYTES} bytes")
    builder = _Builder(text, name)
    try:
        for event in yaml.parse(text, Loader=Loader):
            builder.take(event)
    except yaml.YAMLError as error:
        from podium.workflow.source.yaml_errors import explain

        builder.stop(explain(error, text))
    except _Stop:
        pass
    return Document(name, builder.value, in_order(builder.problems), builder.root)


def _unreadable(name: str, message: str, hint: str = "", *, line: int = 1) -> Document:
    return Document(name, None, (Problem(name, line, 1, RULE, message, hint),), Spot(START, START, {}))


class _Stop(Exception):
    """Nothing after this point can be understood."""


@dataclass(slots=True)
class _Frame:
    """A list or map that is being read. `key` is None while the next value belongs nowhere: its key was refused."""

    value: dict[str, Any] | list[Any]
    at: Position
    index: int
    flow: bool
    inner: dict[Key, Spot] = field(default_factory=dict)
    wants_key: bool = True
    key: str | None = None
    key_at: Position = START
    key_end: int = 0
    as_key: bool = False


@dataclass(slots=True)
class _Builder:
    """Turns events into values. It is fed by a parser that ends when the text does."""

    text: str
    name: str
    value: Any = None
    root: Spot = Spot(START, START, {})
    problems: list[Problem] = field(default_factory=list)
    frames: list[_Frame] = field(default_factory=list)
    documents: int = 0

    def take(self, event: Any) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self._check_marks(event)
            self._scalar(event)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._check_marks(event)
            self._open(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close()
        elif isinstance(event, yaml.AliasEvent):
            self._problem(event.start_mark, "aliases are not allowed", self._quotes_for("*"))
            self._put(None, Spot(_position(event.start_mark), START, {}))
        elif isinstance(event, yaml.DocumentStartEvent):
            self._document(event)

    def stop(self, explained: Explained) -> None:
        self.problems.append(
            Problem(self.name, explained.line, explained.col, RULE, explained.message, explained.hint)
        )

    def _problem(self, mark: Any, message: str, hint: str = "", rule: int = RULE) -> None:
        self._problem_at(_position(mark), message, hint, rule)

    def _problem_at(self, at: Position, message: str, hint: str, rule: int = RULE) -> None:
        self.problems.append(Problem(self.name, at.line, at.col, rule, message, hint))
        # Nobody reads more; a file with so many is not what its name says.
        if len(self.problems) >= MAX_PROBLEMS:
            raise _Stop

    def _quotes_for(self, sign: str) -> str:
        return f'a text that begins with "{sign}" needs quotes'

    def _document(self, event: Any) -> None:
        self.documents += 1
        if self.documents > 1:
            self._problem(event.start_mark, "a file holds one document", 'leave out the second "---"')
            raise _Stop
        if event.version or event.tags:
            self._problem(event.start_mark, 'directives ("%...") are not allowed')

    def _check_marks(self, event: Any) -> None:
        if event.anchor is not None:
            hint = "what is used twice gets a name in gates, roles, policies or retries"
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
            self._put(value, Spot(_position(event.start_mark), START, {}, source))

    def _resolve(self, event: Any) -> tuple[Any, str | None]:
        text: str = event.value
        if text in _WORDS:
            return _WORDS[text], text
        if text[0] not in "+-.0123456789":
            return text, None
        if _INT.fullmatch(text):
            # Python refuses to read numbers of thousands of digits; those of twenty are too big already.
            if len(text) <= 20 and MIN_INT <= int(text) <= MAX_INT:
                return int(text), text
        elif not _FLOAT.fullmatch(text):
            return text, None
        elif math.isfinite(float(text)):
            return float(text), text
        self._problem(event.start_mark, "this number is too big", "write it in quotes if it is a text", 2)
        return None, text

    def _check_flow_text(self, frame: _Frame, event: Any) -> None:
        """What a person meant as one text may have been cut at one of the signs that need quotes here."""
        if isinstance(frame.value, dict) and frame.wants_key:
            return
        for sign in "?:":
            if sign in event.value:
                self._problem(event.start_mark, f'a text with "{sign}" needs quotes inside {{...}} and [...]')
                return
        if frame.key and not event.value and not _COLON.match(self.text, frame.key_end):
            cut = 'a text with "," needs quotes inside {...} and [...]'
            hint = 'a ":" is followed by a space' if ":" in frame.key else cut
            self._problem_at(frame.key_at, f'"{frame.key}" has no value', hint)

    def _key(self, frame: _Frame, event: Any, value: Any) -> None:
        frame.wants_key = False
        frame.key, frame.key_at, frame.key_end = None, _position(event.start_mark), event.end_mark.index
        if not isinstance(value, str):
            shown = event.value or "null"
            self._problem(event.start_mark, f"the key {shown} must be text", f'write "{shown}"')
        elif value == "<<" and event.implicit[0]:
            self._problem(event.start_mark, "merge keys are not allowed")
        elif value in frame.value:
            first = frame.inner[value].key.line
            self._problem(event.start_mark, f'duplicate key "{value}"', f"the first is in line {first}")
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
            message = 'a text with "{{" needs quotes' if braces else "a key must be text"
            self._problem(mark, message)
        elif is_map and frame.flow and not self.text.startswith("{", mark.index):
            self._problem(
                mark, 'a text with ":" needs quotes inside [...]', "a map in a list needs braces: [{a: b}]"
            )
        self.frames.append(frame)

    def _close(self) -> None:
        frame = self.frames.pop()
        if frame.as_key:
            self.frames[-1].wants_key = False
            self.frames[-1].key = None
        else:
            self._put(frame.value, Spot(frame.at, START, frame.inner))

    def _put(self, value: Any, spot: Spot) -> None:
        """Where the value belongs: the whole document, a list, or the map whose key was read last."""
        if not self.frames:
            self.value, self.root = value, spot._replace(key=spot.at)
            return
        frame = self.frames[-1]
        if isinstance(frame.value, list):
            frame.inner[len(frame.value)] = spot._replace(key=spot.at)
            frame.value.append(value)
        elif frame.wants_key:
            # Only an alias comes here: as a key it names nothing.
            frame.wants_key, frame.key = False, None
        else:
            if frame.key is not None:
                frame.inner[frame.key] = spot._replace(key=frame.key_at)
                frame.value[frame.key] = value
            frame.wants_key = True


def _position(mark: Any) -> Position:
    return Position(mark.line + 1, mark.column + 1)
