"""Records why a command failed, for the one line that people read: failed tests, or the printed line with the error."""

from __future__ import annotations

import re
from typing import Final

from podium.attempt.command import evidence
from podium.attempt.command.checkout import CommandAttempt
from podium.attempt.command.printed.failures import MAX_LINE_CHARS, printed_failure
from podium.attempt.command.report_xml import UnreadableReport
from podium.attempt.command.result import CommandResult
from podium.attempt.command.runner_reports import REPORT
from podium.attempt.command.suite_command import SuiteCommand, suite_command
from podium.attempt.command.test_reports import RED, Report, read_tests
from podium.attempt.workspace.workspace import Workspace
from podium.core.model import Command
from podium.tasks.report import AttemptResult, FailedTests
from podium.workflow.test_gates.runners import runner_of

MAX_CHARS: Final = 256 << 10
_TRACEBACK: Final = "Traceback (most recent call last):"
_ERROR: Final = re.compile(
    r"""(?x) \s* (?:
        \S+?:\d+(?::\d+)?:?\s+\S         # file:line:column: message
      | \S+\(\d+,\d+\):\s+error\b        # file(line,column): error TS2322: message
      | \d+:\d+\s+error\s                # below the name of a file, as eslint prints it
      | (?:error|fatal|panic)(?:\[\w+\])?:\s
      | [\w.]*(?:Error|Exception)(?:\s\[\w+\])?:\s
    )"""
)
_HARMLESS: Final = re.compile(r"(?i)\b(?:warning|note|info|deprecated):")
_ARROW: Final = re.compile(r"\s*--> (\S+:\d+(?::\d+)?)$")


def failure_facts(attempt: CommandAttempt, workspace: Workspace, outcome: CommandResult) -> AttemptResult:
    """The fields of the result that say why a command which ran to its end did not pass."""
    if outcome.kind != "failed":
        return {}
    suite = suite_command(attempt.verb, attempt.names)
    streams = tuple(stream.tail(MAX_CHARS) for stream in (outcome.finished.stdout, outcome.finished.stderr))
    runner = runner_of(outcome.argv, attempt.verb.script) if suite is None else suite.runner
    printed = None if runner is None and suite is None else printed_failure(runner, "\n".join(streams))
    report = _report(attempt, suite, workspace)
    if report is not None and report.first_red is not None:
        return {"failed_tests": _reported(report, printed)}
    if printed is not None:
        return {"failed_tests": printed}
    cause = telling_line(*streams)
    return {"cause": cause} if cause else {}


def _report(attempt: CommandAttempt, suite: SuiteCommand | None, workspace: Workspace) -> Report | None:
    verb: Command = attempt.verb
    if verb.junit is not None:
        return evidence.read_report(verb, attempt.names, workspace.folder)
    if suite is None or not suite.asks_pytest:
        return None
    try:
        return read_tests(evidence.read_bytes(workspace.tmp, REPORT) or b"")
    except UnreadableReport:
        return None


def _reported(report: Report, printed: FailedTests | None) -> FailedTests:
    """The facts of a report. A runner prints the name by which the test can be run again."""
    assert report.first_red is not None
    name, assertion = report.first_red
    if printed is not None:
        last = name.rpartition("::")[2]
        name = printed["first"] if last in printed["first"] else name
        assertion = assertion or printed["assertion"]
    failed = sum(status in RED for status in report.cases.values())
    total = 0 if printed is not None and printed["total"] == 0 else len(report.cases)
    return {"failed": failed, "total": total, "first": name, "assertion": assertion}


def telling_line(stdout: str, stderr: str) -> str:
    """The line of an output that names the error: of a traceback, of a compiler or linter, or the last one."""
    streams = [text[-MAX_CHARS:].splitlines() for text in (stderr, stdout)]
    named = next((line for stream in streams if (line := _raised(stream) or _error_line(stream))), "")
    last = next((line for stream in streams for line in reversed(stream) if line.strip()), "")
    return " ".join((named or last).split())[:MAX_LINE_CHARS]


def _raised(lines: list[str]) -> str:
    """The exception below the last traceback."""
    starts = [number for number, line in enumerate(lines) if line.strip() == _TRACEBACK]
    below = lines[starts[-1] + 1 :] if starts else []
    return next((line for line in below if line.strip() and not line.startswith(" ")), "")


def _error_line(lines: list[str]) -> str:
    for number, line in enumerate(lines):
        below = _ARROW.match(lines[number + 1]) if number + 1 < len(lines) else None
        if below is not None and not _HARMLESS.search(line):
            return f"{line} ({below[1]})"
        if _ERROR.match(line) and not _HARMLESS.search(line):
            return line
    return ""
