"""Asks test runners for their results, test by test, and reads them.

Runners that list their tests in the output (go, cargo, unittest, node) are at most made to list all of them; the others
write a report into the attempt's folder for temporary files.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

from podium.attempt.command import evidence
from podium.attempt.command.printed.results import TooMuchOutput, printed_results
from podium.attempt.command.report_xml import UnreadableReport
from podium.attempt.command.result import CommandResult
from podium.attempt.command.suite_command import SuiteCommand
from podium.attempt.command.test_reports import Report, Status, read_tests
from podium.attempt.host import Host
from podium.attempt.launch import declared_env
from podium.attempt.workspace.workspace import Workspace
from podium.core.expressions.nodes import Names
from podium.core.model import Step
from podium.files import bounded_json
from podium.process.output import CapturedOutput

REPORT: Final = "podium-tests.xml"
"""The report of pytest and vitest."""
NODE_REPORTER: Final = "--test-reporter"
MAX_VALUES: Final = 600_000
"""Of a report of jest: fifty thousand tests."""
JSON_REPORT: Final = "podium-tests.json"
"""The report of jest."""
_VARIABLES: Final = {"pytest": "PYTEST_ADDOPTS", "go": "GOFLAGS"}
_FIXED_SNAPSHOTS: Final = {"vitest": ("CI", "true"), "jest": ("CI", "true"), "cargo": ("INSTA_UPDATE", "no")}
"""The variable by which a runner, or its library for snapshots, compares snapshots and writes none."""
_UPDATES: Final = {
    "vitest": ("-u", "--update"),
    "jest": ("-u", "--updateSnapshot", "--ci=false", "--no-ci"),
    "pytest": ("--snapshot-update", "--inline-snapshot=fix", "--inline-snapshot=update", "--force-regen"),
    "node": ("--test-update-snapshots",),
}
"""Options that let a runner write the snapshots that it should compare with."""
_JEST_STATUS: Final[Mapping[str, Status]] = {"passed": "passed", "failed": "failed"}


def report_words(suite: SuiteCommand | None, argv: tuple[str, ...], tmp: Path) -> tuple[str, ...]:
    """The command with the options that make its runner report each test."""
    if suite is None or not suite.is_extendable:
        return argv
    argv = tuple(word for word in argv if word not in _UPDATES.get(suite.runner, ()))
    match suite.runner:
        case "unittest":
            return (*argv, "-v")
        case "vitest" if not suite.mentions("--outputFile"):
            shown = () if suite.mentions("--reporter") else ("--reporter=default",)
            return (*argv, *shown, "--reporter=junit", f"--outputFile.junit={tmp / REPORT}")
        case "jest" if not suite.mentions("--outputFile", "--json"):
            return (*argv, "--json", f"--outputFile={tmp / JSON_REPORT}")
        case "node" if suite.mentions(NODE_REPORTER):
            return _with_node_report(argv, tmp)
        case "cargo":
            return tuple(word for word in argv if word not in ("-q", "--quiet"))
        case _:
            return argv


def _with_node_report(argv: tuple[str, ...], tmp: Path) -> tuple[str, ...]:
    """Node takes several reporters, each with its destination, in this order, and before the names of files."""
    destination = f"{NODE_REPORTER}-destination"
    destinations = sum(word.startswith(destination) for word in argv)
    reporters = sum(word.startswith(NODE_REPORTER) for word in argv) - destinations
    own = () if destinations == reporters else (f"{destination}=stdout",) * (reporters - destinations)
    added = (*own, f"{NODE_REPORTER}=junit", f"{destination}={tmp / REPORT}")
    last = max(at for at, word in enumerate(argv) if word.startswith(NODE_REPORTER))
    end = last + 1 if "=" in argv[last] else last + 2
    return (*argv[:end], *added, *argv[end:])


def report_env(
    suite: SuiteCommand | None, host: Host, step: Step, names: Names, tmp: Path
) -> Mapping[str, str]:
    """The variables that make a runner report each test and write no snapshots, besides what the step sets itself."""
    if suite is None:
        return {}
    passed, own = declared_env(step, names)
    variables: dict[str, str] = {}
    snapshots = _FIXED_SNAPSHOTS.get(suite.runner)
    if snapshots is not None and snapshots[0] not in (*own, *passed):
        variables[snapshots[0]] = snapshots[1]
    option = {"pytest": f"--junitxml={shlex.quote(str(tmp / REPORT))}", "go": "-v"}.get(suite.runner)
    if option is not None and (suite.runner == "go" or suite.asks_pytest):
        name = _VARIABLES[suite.runner]
        before = own.get(name) or (host.host_env.get(name, "") if name in passed else "")
        variables[name] = f"{before} {option}".strip()
    return variables


def writes_report(suite: SuiteCommand) -> bool:
    """Whether Podium made the runner write a file, so that a missing one means that its process ended early."""
    if suite.runner == "pytest":
        return suite.asks_pytest
    if suite.runner == "node":
        return suite.is_extendable and suite.mentions(NODE_REPORTER)
    options = {"vitest": ("--outputFile",), "jest": ("--outputFile", "--json")}.get(suite.runner)
    return options is not None and suite.is_extendable and not suite.mentions(*options)


def read_results(suite: SuiteCommand, outcome: CommandResult, workspace: Workspace) -> Report | None:
    """The result of each test; None if the runner does not tell. Raises UnreadableReport."""
    if suite.report is not None:
        content = evidence.read_bytes(workspace.folder, suite.report)
        return None if content is None else read_tests(content)
    if writes_report(suite):
        return _read_file(suite, workspace)
    if suite.own_report is not None:
        content = evidence.read_bytes(workspace.folder, suite.own_report)
        return None if content is None else _read_any(content, workspace)
    finished = outcome.finished
    if suite.runner == "jest" and suite.mentions("--json") and not finished.stdout.dropped:
        return _read_jest(finished.stdout.text().encode(), workspace.mount_path)
    try:
        listed = printed_results(suite.runner, _result_stream(suite, outcome))
    except TooMuchOutput:
        return None
    return Report(listed) if listed else None


def unread_results(suite: SuiteCommand, outcome: CommandResult) -> str | None:
    """Why the printed results could not be read, although the runner lists them."""
    if (
        not suite.runs_tests
        or suite.report is not None
        or suite.own_report is not None
        or writes_report(suite)
    ):
        return None
    try:
        printed_results(suite.runner, _result_stream(suite, outcome))
    except TooMuchOutput as error:
        return str(error)
    return None


def _result_stream(suite: SuiteCommand, outcome: CommandResult) -> CapturedOutput:
    return outcome.finished.stderr if suite.runner == "unittest" else outcome.finished.stdout


def _read_file(suite: SuiteCommand, workspace: Workspace) -> Report | None:
    content = evidence.read_bytes(workspace.tmp, JSON_REPORT if suite.runner == "jest" else REPORT)
    if content is None:
        return None
    return _read_jest(content, workspace.mount_path) if suite.runner == "jest" else read_tests(content)


def _read_any(content: bytes, workspace: Workspace) -> Report:
    """A report whose kind the command chose: XML, or JSON as jest and vitest write it."""
    is_json = content.lstrip().startswith(b"{")
    return _read_jest(content, workspace.mount_path) if is_json else read_tests(content)


def _read_jest(content: bytes, folder: PurePosixPath | Path | str) -> Report:
    try:
        files: Any = bounded_json.loads(content, MAX_VALUES)["testResults"]
        cases: dict[str, Status] = {}
        for file in files:
            name = str(file["name"]).removeprefix(f"{folder}/")
            if not file["assertionResults"] and file["status"] == "failed":
                cases[name] = "error"
            for test in file["assertionResults"]:
                cases[f"{name}::{test['fullName']}"] = _JEST_STATUS.get(test["status"], "skipped")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UnreadableReport("it is not a report of jest") from error
    return Report(cases)
