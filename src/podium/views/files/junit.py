"""Test results as JUnit XML, for CI services."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple
from xml.sax.saxutils import escape, quoteattr

# Characters that XML cannot contain, not even escaped.
_FORBIDDEN: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class JUnitCase(NamedTuple):
    suite: str
    name: str
    line: int
    seconds: float
    failures: tuple[str, ...]


def junit(cases: Iterable[JUnitCase]) -> str:
    suites: dict[str, list[JUnitCase]] = {}
    for case in cases:
        suites.setdefault(case.suite, []).append(case)
    lines = ['<?xml version="1.0" encoding="utf-8"?>', "<testsuites>"]
    for name, cases_of_suite in suites.items():
        failed = sum(bool(case.failures) for case in cases_of_suite)
        seconds = sum(case.seconds for case in cases_of_suite)
        lines.append(
            f'<testsuite name={_attribute(name)} tests="{len(cases_of_suite)}" failures="{failed}" errors="0" '
            f'skipped="0" time="{seconds:.3f}">'
        )
        for case in cases_of_suite:
            lines += _case(case)
        lines.append("</testsuite>")
    return "\n".join((*lines, "</testsuites>", ""))


def _case(case: JUnitCase) -> list[str]:
    head = (
        f"<testcase classname={_attribute(case.suite)} name={_attribute(case.name)} "
        f'file={_attribute(case.suite)} line="{case.line}" time="{case.seconds:.3f}"'
    )
    if not case.failures:
        return [head + "/>"]
    bad = [
        f"<failure message={_attribute(text.splitlines()[0])}>{escape(_clean(text))}</failure>"
        for text in case.failures
    ]
    return [head + ">", *bad, "</testcase>"]


def _attribute(text: str) -> str:
    return quoteattr(_clean(text))


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("?", text)
