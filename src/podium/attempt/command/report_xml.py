"""Parses the XML of test reports, which the code under judgement writes, with bounds.

No tree is built: it can take twenty times the room of the text, and removing elements from it takes longer than parsing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any, Final, cast
from xml.etree import ElementTree as ET

from podium.fast_dataclass import dataclass

MAX_BYTES: Final = 16 << 20
MAX_CASES: Final = 100_000
MAX_ELEMENTS: Final = 400_000
MAX_DEPTH: Final = 100
PIECE: Final = 256 << 10
FAULTS: Final = ("failure", "error")
_DOCTYPE: Final = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)


class UnreadableReport(Exception):
    """A report cannot be used; the message says why."""


@dataclass(slots=True)
class ReportedTest:
    """A `testcase` element, as far as it is used."""

    name: str
    depth: int
    kinds: set[str] = field(default_factory=set)
    """The tags of the elements directly in it, without their namespace."""
    is_todo: bool = False
    has_fault: bool = False
    fault_message: str = ""
    """The `message` of the first failure or error."""
    fault_text: list[str] = field(default_factory=list)


def parse_cases(content: bytes, add: Callable[[ReportedTest], None]) -> None:
    """Call `add` with each test when it is complete. Raises UnreadableReport."""
    _check(content)
    parser: Any = ET.XMLParser(target=_Target(add))  # noqa: S314 (_check refuses entities)
    try:
        for start in range(0, len(content), PIECE):
            parser.feed(content[start : start + PIECE])
        parser.close()
    except (ET.ParseError, ValueError, LookupError) as error:
        raise UnreadableReport(f"it is not XML: {error}") from error


def root_of(content: bytes) -> ET.Element:
    """The first element with its attributes; what is in it may be missing. Raises UnreadableReport."""
    _check(content)
    parser: ET.XMLPullParser[Any] = ET.XMLPullParser(events=("start",))
    try:
        for start in range(0, len(content), PIECE):
            parser.feed(content[start : start + PIECE])
            events = cast("Iterator[tuple[str, ET.Element]]", parser.read_events())
            for _, element in events:
                return element
        parser.close()
    except (ET.ParseError, ValueError, LookupError) as error:
        raise UnreadableReport(f"it is not XML: {error}") from error
    raise UnreadableReport("it is not XML: it has no element")


class _Target:
    """Receives the elements from the parser in their order."""

    def __init__(self, add: Callable[[ReportedTest], None]) -> None:
        self._add = add
        self._open: list[ReportedTest] = []
        self._depth = self._elements = self._cases = 0
        self._text: list[str] | None = None
        """Collects the text directly in a fault, up to its first element."""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self._elements += 1
        self._text = None
        if self._depth > MAX_DEPTH:
            raise UnreadableReport(f"its elements are nested more than {MAX_DEPTH} deep")
        if self._elements > MAX_ELEMENTS:
            raise UnreadableReport(f"it has more than {MAX_ELEMENTS} elements")
        if self._open:
            self._inside(self._open[-1], tag, attributes)
        if tag == "testcase":
            self._case(attributes)

    def end(self, tag: str) -> None:
        self._depth -= 1
        self._text = None
        if tag == "testcase":
            self._add(self._open.pop())

    def data(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _case(self, attributes: dict[str, str]) -> None:
        self._cases += 1
        if self._cases > MAX_CASES:
            raise UnreadableReport(f"it has more than {MAX_CASES} tests")
        parts = (attributes.get("classname") or attributes.get("file"), attributes.get("name"))
        self._open.append(ReportedTest("::".join(part for part in parts if part), self._depth))

    def _inside(self, case: ReportedTest, tag: str, attributes: dict[str, str]) -> None:
        if tag == "skipped" and attributes.get("type") == "todo":
            for outer in self._open:
                outer.is_todo = True
        if self._depth != case.depth + 1:
            return
        kind = tag.rpartition("}")[2]
        case.kinds.add(kind)
        if kind in FAULTS and not case.has_fault:
            case.has_fault = True
            case.fault_message = attributes.get("message") or ""
            self._text = case.fault_text


def _check(content: bytes) -> None:
    """Refuse what could take more room than its text: a large file, another encoding, entities."""
    if len(content) > MAX_BYTES:
        raise UnreadableReport(f"it is larger than {MAX_BYTES >> 20} MB")
    # The parser also reads UTF-16, in which the search below would not find a declaration.
    if b"\0" in content:
        raise UnreadableReport("it is not UTF-8")
    doctype = _DOCTYPE.search(content)
    # Cobertura reports have a DTD without entities; entities can expand a small file into a huge one.
    if doctype is not None and b"[" in content[doctype.start() : content.find(b">", doctype.start()) + 1]:
        raise UnreadableReport("it declares entities")
