"""Reads reports of test tools: JUnit, and coverage as Cobertura XML, lcov or coverage.py JSON.

The code under judgement writes these reports, so they are read with bounds, and one that existed before the command
ran does not count.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias, cast
from xml.etree import ElementTree as ET

from podium.core.fast_dataclass import dataclass
from podium.views.format import first_of

Status: TypeAlias = Literal["passed", "failed", "error", "skipped"]

RED: Final = ("failed", "error")
MAX_BYTES: Final = 16 << 20
MAX_CASES: Final = 100_000
MAX_DEPTH: Final = 100
PIECE: Final = 256 << 10
SHOWN: Final = 10
NO_LINES: Final = "it covers no lines, which its tool counts as full coverage"
_DOCTYPE: Final = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)


class UnreadableReport(Exception):
    """A report cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Report:
    """The status of every test, by class and name."""

    cases: Mapping[str, Status]

    def counts(self) -> dict[str, int]:
        ended = list(self.cases.values())
        return {
            "total": len(ended),
            "passed": ended.count("passed"),
            "failed": ended.count("failed"),
            "errors": ended.count("error"),
            "skipped": ended.count("skipped"),
        }


def read_tests(content: bytes) -> Report:
    cases: dict[str, Status] = {}
    duplicates: Counter[str] = Counter()
    for element in _elements(content, "testcase"):
        name = "::".join(filter(None, (element.get("classname") or element.get("file"), element.get("name"))))
        key = name
        while key in cases:
            duplicates[name] += 1
            key = f"{name} ({duplicates[name] + 1})"
        cases[key] = _status(element)
        if len(cases) > MAX_CASES:
            raise UnreadableReport(f"it has more than {MAX_CASES} tests")
    return Report(cases)


def suite_fault(tests: Report, base: Report | None) -> str | None:
    """What is wrong with the set of tests: none, some lost or some newly skipped; None if nothing is."""
    if not tests.cases:
        return "the report contains no tests"
    if all(status == "skipped" for status in tests.cases.values()):
        return "all tests of the report were skipped"
    if base is None:
        return None
    lost = [name for name in base.cases if name not in tests.cases]
    if lost:
        return f"{len(lost)} tests of the base tree are gone: {shown(lost)}"
    skipped = [
        name
        for name, status in tests.cases.items()
        if status == "skipped" and base.cases.get(name, "skipped") != "skipped"
    ]
    if skipped:
        return f"{len(skipped)} tests are skipped that ran before: {shown(skipped)}"
    return None


def describe_known_failures(tests: Report, base: Report) -> str:
    """Which failing tests failed already on the base tree; empty if none did."""
    red = [name for name, status in tests.cases.items() if status in RED]
    old = {name: None for name in red if base.cases.get(name) in RED}
    if not old:
        return ""
    new = [name for name in red if name not in old]
    by_this = f"red by this work: {shown(new)}" if new else "this work made none red"
    return f"{len(old)} of {len(red)} red tests were red before this work: {shown(list(old))}; {by_this}"


def read_coverage(content: bytes) -> float:
    """Line coverage in percent, from any of the three formats."""
    text = content.lstrip()
    if text.startswith(b"{"):
        return _coverage_json(text)
    if text.startswith(b"<"):
        return _cobertura(next(_elements(content, None)))
    return _lcov(content.decode("utf-8", "replace"))


def to_json(tests: Report) -> str:
    return json.dumps(dict(tests.cases), ensure_ascii=False)


def from_json(text: str) -> Report:
    return Report(json.loads(text))


def _status(element: ET.Element) -> Status:
    kinds = {child.tag.rpartition("}")[2] for child in element}
    if any(child.get("type") == "todo" for child in element.iter("skipped")):
        # node --test: a todo test may fail; it then has a failure element as well.
        return "skipped"
    if "error" in kinds:
        return "error"
    if "failure" in kinds:
        return "failed"
    return "skipped" if "skipped" in kinds else "passed"


def _elements(content: bytes, tag: str | None) -> Iterator[ET.Element]:
    """The elements with a tag, each complete; without one, only the root, of which no more is read than its attributes.

    They are read one after another, because a tree of all of them can take twenty times the room of the text.
    """
    _check_xml(content)
    above: list[ET.Element] = []
    try:
        for event, element in _parsed(content):
            if event == "start":
                if tag is None:
                    yield element
                    return
                above.append(element)
                if len(above) > MAX_DEPTH:
                    raise UnreadableReport(f"its elements are nested more than {MAX_DEPTH} deep")
                continue
            above.pop()
            if element.tag == tag:
                yield element
            if above and not any(outer.tag == tag for outer in above):
                above[-1].remove(element)
    except (ET.ParseError, ValueError, LookupError) as error:
        raise UnreadableReport(f"it is not XML: {error}") from error


def _parsed(content: bytes) -> Iterator[tuple[str, ET.Element]]:
    """The starts and ends of elements. In pieces: small enough for few events at once, large enough for long attributes."""
    parser: ET.XMLPullParser[Any] = ET.XMLPullParser(events=("start", "end"))
    for start in range(0, len(content), PIECE):
        parser.feed(content[start : start + PIECE])
        yield from cast("Iterator[tuple[str, ET.Element]]", parser.read_events())
    parser.close()
    yield from cast("Iterator[tuple[str, ET.Element]]", parser.read_events())


def _check_xml(content: bytes) -> None:
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


def _cobertura(root: ET.Element) -> float:
    rate = root.get("line-rate")
    if root.tag != "coverage" or rate is None:
        raise UnreadableReport("it has no <coverage line-rate=...> at its top")
    if root.get("lines-valid") == "0":
        raise UnreadableReport(NO_LINES)
    return _percent(float(rate) * 100 if _is_number(rate) else -1.0)


def _coverage_json(content: bytes) -> float:
    try:
        totals: Any = json.loads(content)["totals"]
        covered = float(totals["percent_covered"])
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadableReport("it has no totals.percent_covered") from error
    if totals.get("num_statements") == 0:
        raise UnreadableReport(NO_LINES)
    return _percent(covered)


def _lcov(text: str) -> float:
    total = hit = 0
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key == "LF" and value.strip().isdecimal():
            total += int(value)
        elif key == "LH" and value.strip().isdecimal():
            hit += int(value)
    if not total:
        raise UnreadableReport("it is neither Cobertura XML, nor lcov, nor the JSON of coverage.py")
    return _percent(100 * hit / total)


def _percent(value: float) -> float:
    if not 0 <= value <= 100:
        raise UnreadableReport(f"{value} is not a percentage")
    # Round down, since 79.996 is less than 80; the epsilon makes up for floating-point loss.
    return math.floor(value * 100 + 1e-6) / 100


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\d+(?:\.\d+)?(?:[eE]-?\d+)?", text) is not None


def shown(names: list[str]) -> str:
    return first_of(names, SHOWN)
