"""What was tried, in numbers, at the end of the report."""

from __future__ import annotations

from collections import Counter

import pytest

COUNTS: Counter[str] = Counter()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if COUNTS:
        terminalreporter.section("crashes")
        for what, count in COUNTS.items():
            terminalreporter.write_line(f"{count:>6} {what}")
