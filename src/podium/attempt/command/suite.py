"""A command that runs tests counts as passed only if it executed some, and passes with the tests from before the work.

The judged work may change tests. So where it changed any, or a file that decides which tests run, the command runs once
more on the new code with these files as they were; tests that the work added are left out there.
"""

from __future__ import annotations

import re
from typing import Final

from podium.attempt.command.printed.results import MAX_PRINTED, TooMuchOutput, printed_results, result_text
from podium.attempt.command.printed.totals import says_none
from podium.attempt.command.report_xml import UnreadableReport
from podium.attempt.command.result import CommandResult
from podium.attempt.command.runner_reports import NODE_REPORTER, read_results, unread_results, writes_report
from podium.attempt.command.suite_command import SuiteCommand
from podium.attempt.command.test_reports import RED, Report, shown, suite_fault
from podium.attempt.workspace.workspace import Workspace
from podium.process.output import CapturedOutput
from podium.workflow.test_gates.output import ended_early, executed_tests
from podium.workflow.test_gates.runners import MIXED

_SCRIPT: Final = re.compile(r"\.[cm]?[jt]sx?$")
"""Node reports a file without tests, or whose process ended early, as a test with the name of the file."""
MAX_SOURCE: Final = 4 << 20
"""Bytes of the longest file that is read; a longer one counts as one with tests inside."""
NO_TESTS: Final = 5
"""The exit code of pytest, and of unittest since Python 3.12, if there were no tests."""


def suite_problem(suite: SuiteCommand, outcome: CommandResult, workspace: Workspace) -> str | None:
    """Why a passed command proves nothing: it executed no tests, or its process ended before its runner did."""
    if not suite.runs_tests:
        return None
    try:
        tests = read_results(suite, outcome, workspace)
    except UnreadableReport as error:
        return f"the command passed, but the report of {suite.runner} cannot be used: {error}"
    if suite.report is not None:
        return None
    if tests is not None:
        return suite_fault(tests, None) or _red(suite, tests)
    if writes_report(suite):
        name = suite.runner
        return f"the command passed, but {name} wrote no report: its process ended before {name} did"
    executed = _executed(suite, outcome)
    name = "it" if suite.runner == MIXED else suite.runner
    return f"the command passed, but {name} executed no tests" if executed == 0 else None


def _executed(suite: SuiteCommand, outcome: CommandResult) -> int | None:
    """How many tests the output tells of; None if it does not."""
    if suite.runner == "node" and suite.mentions(NODE_REPORTER):
        return None
    if unread_results(suite, outcome) is not None:
        # The summary is behind what was dropped.
        return None
    if suite.runner == "go" and not printed_results("go", outcome.finished.stdout):
        # It was made to list its tests, so a package that is "ok" without one has run none.
        return 0
    if suite.runner == MIXED:
        return 0 if says_none(output_of(outcome)) else None
    return executed_tests(suite.runner, output_of(outcome))


def executed_none(suite: SuiteCommand, outcome: CommandResult, workspace: Workspace) -> bool:
    """Whether the runner says that there was no test to execute; a linter has none."""
    if not suite.runs_tests:
        return False
    if outcome.finished.exit_code == NO_TESTS and suite.runner in ("pytest", "unittest"):
        return True
    tests = results_or_none(suite, outcome, workspace)
    if tests is not None:
        return not tests.cases
    return not writes_report(suite) and _executed(suite, outcome) == 0


def results_or_none(suite: SuiteCommand, outcome: CommandResult, workspace: Workspace) -> Report | None:
    """The result of each test; None if the runner does not tell, or its report cannot be used."""
    try:
        return read_results(suite, outcome, workspace)
    except UnreadableReport:
        return None


def output_of(outcome: CommandResult) -> str:
    return "\n".join(
        stream.tail(MAX_PRINTED) for stream in (outcome.finished.stdout, outcome.finished.stderr)
    )


def files_ended_early(suite: SuiteCommand, outcome: CommandResult, workspace: Workspace) -> frozenset[str]:
    """Files that may have ended before their tests ran, relative to the workspace; a helper looks the same."""
    folder = f"{workspace.mount_path}/"
    streams = (outcome.finished.stdout, outcome.finished.stderr)
    names = {name for stream in streams for name in ended_early(suite.runner, _results(suite, stream))}
    if suite.runner == "node" and writes_report(suite):
        tests = results_or_none(suite, outcome, workspace)
        cases = () if tests is None else tests.cases
        names |= {name.rpartition("::")[2] for name in cases if _SCRIPT.search(name)}
    return frozenset(path.removeprefix(folder) for path in names)


def _results(suite: SuiteCommand, stream: CapturedOutput) -> str:
    try:
        return result_text(suite.runner, stream)
    except TooMuchOutput:
        return ""


def _red(suite: SuiteCommand, tests: Report) -> str | None:
    red = [name for name, status in tests.cases.items() if status in RED]
    if not red:
        return None
    return f"the command passed, but {suite.runner} reports {len(red)} failed tests: {shown(red)}"
