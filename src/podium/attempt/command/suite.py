"""A command that runs tests counts as passed only if it executed some, and passes with the tests from before the work.

The judged work may change tests. So where it changed any, or a file that decides which tests run, the command runs once
more on the new code with these files as they were; tests that the work added are left out there.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from podium.attempt.command import evidence
from podium.attempt.command.result import CommandResult
from podium.attempt.command.test_reports import RED, Report, UnreadableReport, read_tests, shown, suite_fault
from podium.attempt.host import Host
from podium.attempt.launch import declared_env
from podium.attempt.workspace.workspace import Workspace
from podium.core.expressions.nodes import Names
from podium.core.expressions.templates import fill_argv
from podium.core.fast_dataclass import dataclass
from podium.core.globs import glob_matches
from podium.core.model import Command, Step
from podium.core.types import Tree
from podium.git.repository import Repository, trees
from podium.git.trees.diff import changed_paths
from podium.git.trees.listing import files, read_listing
from podium.workflow.test_gates import (
    executed_tests,
    files_without_tests,
    is_test_file,
    runner_of,
    shadows_module,
    steers_tests,
)

REPORT: Final = "podium-tests.xml"
"""The report that pytest writes into the attempt's folder for temporary files."""
_ADDOPTS: Final = "PYTEST_ADDOPTS"
_OWN_REPORT: Final = ("--junitxml", "--junit-xml", "no:junitxml")
_NODE_REPORTER: Final = "--test-reporter"
SHOWN_OUTPUT: Final = 3_000
NO_TESTS: Final = 5
"""The exit code of pytest, and of unittest since Python 3.12, if there were no tests."""


@dataclass(frozen=True, slots=True)
class SuiteCommand:
    """A command that runs tests, with its values filled in."""

    runner: str
    words: tuple[str, ...]
    script: str
    has_report: bool
    """Whether the file declares its report."""
    files: tuple[str, ...]
    may_change: tuple[str, ...]

    def mentions(self, *options: str) -> bool:
        return any(option in text for option in options for text in (*self.words, self.script))

    def names_file(self, path: str, earlier: Mapping[str, object]) -> bool:
        """Whether the command names a new file, its module, or a folder that only has new files."""
        words = {
            word.partition("::")[0].rstrip("/").removeprefix("./")
            for word in (*self.words, *self.script.split())
        }
        module = path.rpartition(".")[0].replace("/", ".")
        folders = {str(folder) for folder in PurePosixPath(path).parents if str(folder) not in earlier}
        is_module = path.endswith(".py") and any(
            word == module or word.startswith(f"{module}.") for word in words
        )
        return is_module or path in words or bool(words & (folders - {"."}))

    @property
    def asks_pytest(self) -> bool:
        """Whether Podium asks the runner for a report."""
        return self.runner == "pytest" and not self.has_report and not self.mentions(*_OWN_REPORT)


def suite_command(verb: Command, names: Names) -> SuiteCommand | None:
    """None for a command that runs no tests, as far as can be seen."""
    words = fill_argv(verb.argv, names)
    runner = runner_of(words, verb.script)
    is_declared = verb.junit is not None or verb.tests is not None
    if (runner is None and not is_declared) or (verb.tests is not None and not verb.tests.counts):
        return None
    files = () if verb.tests is None else fill_argv(verb.tests.files, names)
    may_change = () if verb.tests is None else fill_argv(verb.tests.may_change, names)
    return SuiteCommand(
        runner or "other", words, verb.script or "", verb.junit is not None, files, may_change
    )


def report_env(
    suite: SuiteCommand | None, host: Host, step: Step, names: Names, tmp: Path
) -> Mapping[str, str]:
    """The variable that makes pytest write a report, besides what the step sets there itself."""
    if suite is None or not suite.asks_pytest:
        return {}
    passed, own = declared_env(step, names)
    before = own.get(_ADDOPTS) or (host.host_env.get(_ADDOPTS, "") if _ADDOPTS in passed else "")
    return {_ADDOPTS: f"{before} --junitxml={shlex.quote(str(tmp / REPORT))}".strip()}


def suite_problem(suite: SuiteCommand, outcome: CommandResult, workspace: Workspace) -> str | None:
    """Why a passed command proves nothing: it executed no tests, or its process ended before its runner did."""
    if suite.asks_pytest:
        content = evidence.read_bytes(workspace.tmp, REPORT)
        if content is None:
            return "the command passed, but pytest wrote no report: its process ended before pytest did"
        try:
            tests = read_tests(content)
        except UnreadableReport as error:
            return f"the command passed, but the report of pytest cannot be used: {error}"
        return suite_fault(tests, None) or _red(tests)
    if suite.has_report or (suite.runner == "node" and suite.mentions(_NODE_REPORTER)):
        return None
    executed = executed_tests(suite.runner, _output(outcome))
    return f"the command passed, but {suite.runner} executed no tests" if executed == 0 else None


def executed_none(suite: SuiteCommand, outcome: CommandResult, workspace: Workspace) -> bool:
    """Whether the runner says that there was no test to execute."""
    if outcome.finished.exit_code == NO_TESTS and suite.runner in ("pytest", "unittest"):
        return True
    if not suite.asks_pytest:
        return executed_tests(suite.runner, _output(outcome)) == 0
    try:
        return not read_tests(evidence.read_bytes(workspace.tmp, REPORT) or b"").cases
    except UnreadableReport:
        return False


def _output(outcome: CommandResult) -> str:
    return "\n".join(stream.text() for stream in (outcome.finished.stdout, outcome.finished.stderr))


def files_ended_early(suite: SuiteCommand, outcome: CommandResult, workspace: Workspace) -> frozenset[str]:
    """Files that may have ended before their tests ran, relative to the workspace; a helper looks the same."""
    folder = f"{workspace.mount_path}/"
    return frozenset(
        path.removeprefix(folder) for path in files_without_tests(suite.runner, _output(outcome))
    )


def _red(tests: Report) -> str | None:
    red = [name for name, status in tests.cases.items() if status in RED]
    return f"the command passed, but pytest reports {len(red)} failed tests: {shown(red)}" if red else None


def changed_test_files(repository: Repository, before: Tree, now: Tree, suite: SuiteCommand) -> list[str]:
    """Changed, removed and new files that are tests or decide which tests run, without those that may change.

    New tests that the command itself names are left out: without them it would have nothing to run.
    """
    listing = read_listing(trees(repository), before)
    earlier = {path for path, _ in files(listing)}
    return [
        path
        for path in changed_paths(repository, before, now)
        if (is_test_file(path, suite.files) or steers_tests(path) or _is_shadow(path, listing.get("", {})))
        and not any(glob_matches(pattern, path) for pattern in suite.may_change)
        and (path in earlier or not (is_test_file(path, suite.files) and suite.names_file(path, listing)))
    ]


def _is_shadow(path: str, top: Mapping[str, object]) -> bool:
    """A folder or file of that name that was there before is the project's own code."""
    return shadows_module(path) and path.partition("/")[0] not in top


def dispute(paths: list[str], outcome: CommandResult, why: str | None) -> str:
    """The feedback if the command does not pass with the earlier tests."""
    how = why or outcome.first_line
    output = "" if why else outcome.result.get("message", "").partition("\n")[2][-SHOWN_OUTPUT:]
    return (
        f"with the tests and settings from before this work the command does not pass: {how}\n"
        f"{output}\n".rstrip("\n")
        + f"\nthe work changed: {shown(paths)}\n"
        "make the earlier tests pass on the new code; add tests, but do not change or remove what a test requires"
    )
