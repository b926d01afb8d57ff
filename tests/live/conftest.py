"""Collects the rows of the table of faults, prints it at the end, and keeps it where PODIUM_FAULTS says."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not rows:
        return
    terminalreporter.section("what the real programs made of each fault")
    for row in rows:
        what = f"{row.program:7} {row.fault:24} {row.kind:12} {row.reason:12} {row.action:30}"
        terminalreporter.write_line(f"{what} {row.seconds:5.1f} s {row.calls:2} calls  {row.used}")
    place = os.environ.get("PODIUM_FAULTS")
    if place:
        Path(place).write_text(json.dumps([asdict(row) for row in rows], indent=1), "utf-8")
