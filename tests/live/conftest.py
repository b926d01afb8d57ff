"""Collects the rows of the table of faults, prints it at the end, and keeps it where PODIUM_FAULTS says."""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import pytest


@dataclass(frozen=True, slots=True)
class Row:
    program: str
    fault: str
    kind: str
    reason: str
    action: str
    seconds: float
    calls: int
    used: str
    message: str


rows: list[Row] = []
"""Those of the test that is running."""
PROPERTY: Final = "row of the table of faults"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Rows travel with the report, since a worker has no terminal to print them at."""
    report = yield
    report.user_properties.extend((PROPERTY, asdict(row)) for row in rows)
    rows.clear()
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, ())]
    rows = [Row(**row) for report in reports for name, row in report.user_properties if name == PROPERTY]
    if not rows:
        return
    terminalreporter.section("what the real programs made of each fault")
    for row in rows:
        what = f"{row.program:7} {row.fault:24} {row.kind:12} {row.reason:12} {row.action:30}"
        terminalreporter.write_line(f"{what} {row.seconds:5.1f} s {row.calls:2} calls  {row.used}")
    place = os.environ.get("PODIUM_FAULTS")
    if place:
        Path(place).write_text(json.dumps([asdict(row) for row in rows], indent=1), "utf-8")
