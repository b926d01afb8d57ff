"""Prints what was attacked and how often, by the file that attacks it."""

from __future__ import annotations

from collections import Counter

import pytest

WORDS = ("passed", "failed", "error", "skipped")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    counts: dict[str, Counter[str]] = {}
    for word in WORDS:
        for report in terminalreporter.stats.get(word, ()):
            test = report.nodeid.split("[")[0].removeprefix("tests/security/")
            counts.setdefault(test, Counter())[word] += 1
    terminalreporter.section("attacks")
    for test, found in sorted(counts.items()):
        told = ", ".join(f"{found[word]} {word}" for word in WORDS if found[word])
        terminalreporter.write_line(f"{told:>24}  {test.replace('::', '  ')}")
