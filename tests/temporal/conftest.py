"""One Temporal server for all tests of a process."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.temporal.kit import Server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    pytest.importorskip("temporalio")
    started = Server(tmp_path_factory.mktemp("server"))
    started.start()
    yield started
    started.kill()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """With `make cluster-torture`: how often each cell of the matrix was tried, and passed."""
    if not os.environ.get("PODIUM_TORTURE"):
        return
    reports = [
        report
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, ())
        if report.when == "call" and "test_failures" in report.nodeid
    ]
    names = [report.nodeid.partition("::")[2].partition("[")[0] for report in reports]
    passed = Counter(name for name, report in zip(names, reports, strict=True) if report.outcome == "passed")
    for name, tried in sorted(Counter(names).items()):
        terminalreporter.write_line(
            f"{passed[name]:>4} of {tried:<4} {name.removeprefix('test_').replace('_', ' ')}"
        )
