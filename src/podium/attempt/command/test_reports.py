"""Reads reports of test tools: JUnit, and coverage as Cobertura XML, lcov or coverage.py JSON.

The code under judgement writes these reports, so they are read with bounds, and one that existed before the command
ran does not count.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias
from xml.etree import ElementTree as ET

from podium.attempt.command.printed.failures import assertion
from podium.attempt.command.report_xml import ReportedTest, UnreadableReport, parse_cases, root_of
from podium.fast_dataclass import dataclass
from podium.files import bounded_json
from podium.views.format import first_of

Status: TypeAlias = Literal["passed", "failed", "error", "skipped"]

RED: Final = ("failed", "error")
MAX_ASSERTION: Final = 16 << 10
SHOWN: Final = 10
NO_LINES: Final = "it covers no lines, which its tool counts as full coverage"


@dataclass(frozen=True, slots=True)
class Report:
    """The status of every test, by class and name."""

    cases: Mapping[str, Status]
    first_red: tuple[str, str] | None = None
    """The name of the first failed test and its assertion; not stored."""

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
    first_red: tuple[str, str] | None = None

    def add(case: ReportedTest) -> None:
        nonlocal first_red
        key = case.name
        while key in cases:
            duplicates[case.name] += 1
            key = f"{case.name} ({duplicates[case.name] + 1})"
        cases[key] = status = _status(case)
        if first_red is None and status in RED:
            first_red = key, _assertion(case)

    parse_cases(content, add)
    return Report(cases, first_red)


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
        return _cobertura(root_of(content))
    return _lcov(content.decode("utf-8", "replace"))


def to_json(tests: Report) -> str:
    return json.dumps(dict(tests.cases), ensure_ascii=False)


def from_json(text: str) -> Report:
    return Report(json.loads(text))


def _status(case: ReportedTest) -> Status:
    if case.is_todo:
        # node --test: a todo test may fail; it then has a failure element as well.
        return "skipped"
    if "error" in case.kinds:
        return "error"
    if "failure" in case.kinds:
        return "failed"
    return "skipped" if "skipped" in case.kinds else "passed"


_PLAIN_MESSAGES: Final = ("", "failed", "failure", "error", "test failed", "collection failure")
"""Messages of reports that say no more than the status; the text below them has the assertion."""
_NO_ASSERTION: Final = re.compile(r"\s*(?:=== |--- |at |File |Traceback |>? *\d+ \||[\w./-]+:\d+: in )")


def _assertion(case: ReportedTest) -> str:
    """The assertion of a failed test: the message of the report, or the first telling lines of its text."""
    if case.fault_message.strip().lower() not in _PLAIN_MESSAGES:
        return assertion(case.fault_message[:MAX_ASSERTION].splitlines())
    lines = "".join(case.fault_text)[-MAX_ASSERTION:].splitlines()
    marked = [line[4:] for line in lines if line.startswith("E   ")]
    return assertion(marked or [line for line in lines if not _NO_ASSERTION.match(line)])


def _cobertura(root: ET.Element) -> float:
    rate = root.get("line-rate")
    if root.tag != "coverage" or rate is None:
        raise UnreadableReport("it has no <coverage line-rate=...> at its top")
    if root.get("lines-valid") == "0":
        raise UnreadableReport(NO_LINES)
    return _percent(float(rate) * 100 if _is_number(rate) else -1.0)


def _coverage_json(content: bytes) -> float:
    try:
        totals: Any = bounded_json.loads(content)["totals"]
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
