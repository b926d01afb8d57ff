"""Reads what test tools write: JUnit reports, and coverage as Cobertura XML, lcov or coverage.py JSON.

A report is written by the code that is judged. It is read with bounds, says what it says, and a report that was lying
there before the command ran is no report.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias
from xml.etree import ElementTree as ET

from podium.views.format import first_of

Status: TypeAlias = Literal["passed", "failed", "error", "skipped"]

RED: Final = ("failed", "error")
MAX_BYTES: Final = 64 << 20
SHOWN: Final = 10
NO_LINES: Final = "there are no lines in it, of which its tool says that all were run"
_DOCTYPE: Final = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)


class UnreadableReport(Exception):
    """The message says what is wrong with the file."""


@dataclass(frozen=True, slots=True)
class Report:
    """Every test of a report with how it ended, by class and name."""

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
    known: Counter[str] = Counter()
    for case in _xml(content).iter("testcase"):
        name = "::".join(filter(None, (case.get("classname") or case.get("file"), case.get("name"))))
        key = name
        while key in cases:
            known[name] += 1
            key = f"{name} ({known[name] + 1})"
        cases[key] = _status(case)
    return Report(cases)


def complaint(tests: Report, base: Report | None) -> str | None:
    """What is wrong with the tests themselves: none there, some lost, some no longer run. None: nothing."""
    if not tests.cases:
        return "the report contains no tests"
    if all(status == "skipped" for status in tests.cases.values()):
        return "all tests of the report were skipped"
    if base is None:
        return None
    lost = [name for name in base.cases if name not in tests.cases]
    if lost:
        return f"{len(lost)} tests are gone that were there before: {shown(lost)}"
    skipped = [
        name
        for name, status in tests.cases.items()
        if status == "skipped" and base.cases.get(name, "skipped") != "skipped"
    ]
    if skipped:
        return f"{len(skipped)} tests are skipped that ran before: {shown(skipped)}"
    return None


def told_apart(tests: Report, base: Report) -> str:
    """Which red tests were red already, for whoever has to mend the others; empty if none was."""
    red = [name for name, status in tests.cases.items() if status in RED]
    old = {name: None for name in red if base.cases.get(name) in RED}
    if not old:
        return ""
    new = [name for name in red if name not in old]
    by_this = f"red by this work: {shown(new)}" if new else "this work made none red"
    return f"{len(old)} of {len(red)} red tests were red before this work: {shown(list(old))}; {by_this}"


def read_coverage(content: bytes) -> float:
    """The share of lines that were run, in percent, whichever of the three formats it is."""
    text = content.lstrip()
    if text.startswith(b"{"):
        return _coverage_json(text)
    if text.startswith(b"<"):
        return _cobertura(_xml(content))
    return _lcov(content.decode("utf-8", "replace"))


def to_json(tests: Report) -> str:
    return json.dumps(dict(tests.cases), ensure_ascii=False)


def from_json(text: str) -> Report:
    return Report(json.loads(text))


def _status(case: ET.Element) -> Status:
    kinds = {child.tag.rpartition("}")[2] for child in case}
    if any(child.get("type") == "todo" for child in case.iter("skipped")):
        # node --test: a test that is still to be met; it may fail, and says so beside.
        return "skipped"
    if "error" in kinds:
        return "error"
    if "failure" in kinds:
        return "failed"
    return "skipped" if "skipped" in kinds else "passed"


def _xml(content: bytes) -> ET.Element:
    if len(content) > MAX_BYTES:
        raise UnreadableReport(f"it is larger than {MAX_BYTES >> 20} MB")
    # UTF-16, which the parser understands too, would hide the declarations that are looked for below.
    if b"\0" in content:
        raise UnreadableReport("it is not UTF-8")
    doctype = _DOCTYPE.search(content)
    # Cobertura names its DTD and nothing else; entities are how a small file becomes a huge one.
    if doctype is not None and b"[" in content[doctype.start() : content.find(b">", doctype.start()) + 1]:
        raise UnreadableReport("it declares entities")
    try:
        return ET.fromstring(content)  # noqa: S314 - no entities, no external ones, and bounded in size
    except (ET.ParseError, ValueError, LookupError) as error:
        raise UnreadableReport(f"it is no XML: {error}") from error


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
    found = hit = 0
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key == "LF" and value.strip().isdecimal():
            found += int(value)
        elif key == "LH" and value.strip().isdecimal():
            hit += int(value)
    if not found:
        raise UnreadableReport("it is neither Cobertura XML, nor lcov, nor the JSON of coverage.py")
    return _percent(100 * hit / found)


def _percent(value: float) -> float:
    if not 0 <= value <= 100:
        raise UnreadableReport(f"{value} is no percentage")
    # Never up: 79.996 is less than 80. A hair for what dividing and multiplying lose.
    return math.floor(value * 100 + 1e-6) / 100


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\d+(?:\.\d+)?(?:[eE]-?\d+)?", text) is not None


def shown(names: list[str]) -> str:
    return first_of(names, SHOWN)
