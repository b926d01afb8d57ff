"""A command that runs tests counts as passed only if it executed some, and passes with the tests from before the work.

The judged work may change tests. So where it changed any, or a file that decides which tests run, the command runs once
more on the new code with these files as they were; tests that the work added are left out there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from podium.attempt.command.printed.results import MAX_PRINTED, TooMuchOutput, printed_results, result_text
from podium.attempt.command.report_xml import UnreadableReport
from podium.attempt.command.result import CommandResult
from podium.attempt.command.runner_reports import NODE_REPORTER, read_results, unread_results, writes_report
from podium.attempt.command.suite_command import SuiteCommand
from podium.attempt.command.test_reports import RED, Report, shown, suite_fault
from podium.attempt.workspace.workspace import Workspace
from podium.core.globs import glob_matches
from podium.core.types import Tree
from podium.git.repository import Repository, trees
from podium.git.trees.diff import changed_paths
from podium.git.trees.listing import FOLDER, Entry, files, read_listing
from podium.git.trees.snapshot import read_small_blobs
from podium.process.output import CapturedOutput
from podium.workflow.test_gates.files import (
    INLINE_RUNNERS,
    MODULE_FOLDERS,
    has_inline_tests,
    is_shadow,
    is_stub,
    is_test_file,
    matches_any,
    may_have_inline_tests,
)
from podium.workflow.test_gates.manifests import is_steered
from podium.workflow.test_gates.output import ended_early, executed_tests
from podium.workflow.test_gates.programs import programs_behind
from podium.workflow.test_gates.steering import LOCKS_OF, MANIFESTS

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
    return f"the command passed, but {suite.runner} executed no tests" if executed == 0 else None


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


class ChangedTests(NamedTuple):
    """Changed, removed and new files that are tests or decide which tests run."""

    judged: tuple[str, ...]
    waived: tuple[str, ...]
    """Those that may change."""
    has_earlier: bool
    """Whether one of the judged files was there before, or is more than a new test."""


def changed_test_files(
    repository: Repository,
    before: Tree,
    now: Tree,
    suite: SuiteCommand,
    may_change: Sequence[str],
    folders: Sequence[str] = MODULE_FOLDERS,
) -> ChangedTests:
    """New tests that the command itself names are left out: without them it would have nothing to run."""
    listing = read_listing(trees(repository), before)
    earlier = {path for path, _ in files(listing)}
    behind = programs_behind(
        suite.words, suite.script, earlier, lambda path: next(_contents(repository, path, (before,)), b"")
    )
    steering = _Steering(
        repository, (before, now), suite, (*MODULE_FOLDERS, *folders), listing, earlier, behind
    )

    def is_test(path: str) -> bool:
        return suite.runs_tests and is_test_file(path, suite.files)

    paths = [
        path
        for path in changed_paths(repository, before, now)
        if (is_test(path) or steering.has(path))
        and (path in earlier or not (is_test(path) and suite.names_file(path, listing)))
    ]
    waived = tuple(path for path in paths if any(glob_matches(pattern, path) for pattern in may_change))
    judged = tuple(path for path in (*paths, *_locks(paths)) if path not in waived)
    has_earlier = any(path in earlier or steering.has(path) for path in judged)
    return ChangedTests(judged, waived, has_earlier)


class _Steering(NamedTuple):
    """Decides whether a changed file, besides tests, can change what the command proves."""

    repository: Repository
    trees: tuple[Tree, Tree]
    suite: SuiteCommand
    folders: tuple[str, ...]
    listing: Mapping[str, object]
    earlier: frozenset[str] | set[str]
    programs: frozenset[str]
    """Those that the command starts behind make, npm and similar tools."""

    def has(self, path: str) -> bool:
        name = PurePosixPath(path).name
        if name in MANIFESTS:
            return matches_any(self.suite.steering, path) and self._is_manifest_changed(path)
        if "vendor" in PurePosixPath(path).parts[:-1]:
            # A library that the work adds is part of it, like its entry in the list of libraries.
            is_new = str(PurePosixPath(path).parent) not in self.listing or name == "modules.txt"
            return not is_new and matches_any(self.suite.steering, path)
        return (
            matches_any(self.suite.steering, path)
            or (self.suite.runs_tests and is_shadow(path, self._was_there, self.folders))
            or (self.suite.runner == "mypy" and path not in self.earlier and is_stub(path, self._was_there))
            or (name in self.suite.goals and path not in self.earlier)
            or path in self.programs
        )

    def _was_there(self, path: str) -> bool:
        return path in self.listing or path in self.earlier

    def _is_manifest_changed(self, path: str) -> bool:
        before, now = (next(_contents(self.repository, path, (tree,)), None) for tree in self.trees)
        return is_steered(path, before, now)


def _locks(paths: Sequence[str]) -> tuple[str, ...]:
    """The lock files of restored manifests: one without the other is refused."""
    places = (PurePosixPath(path) for path in paths)
    return tuple(str(place.with_name(LOCKS_OF[place.name])) for place in places if place.name in LOCKS_OF)


def changed_inline_tests(
    repository: Repository, before: Tree, now: Tree, suite: SuiteCommand
) -> tuple[str, ...]:
    """Changed files of code that have tests inside."""
    paths = [path for path in changed_paths(repository, before, now) if may_have_inline_tests(path)]
    if not paths or suite.runner not in INLINE_RUNNERS:
        return ()
    candidates = [path for path in paths if not is_test_file(path, suite.files)]
    places = [(path, entry) for path in candidates for entry in _entries(repository, path, (before, now))]
    # Read together, because the work may have changed thousands of files.
    contents = read_small_blobs(trees(repository), [entry.name for _, entry in places], MAX_SOURCE)
    inline = {
        path
        for (path, _), content in zip(places, contents, strict=True)
        if content is None or has_inline_tests(path, content)
    }
    return tuple(path for path in candidates if path in inline)


def _contents(repository: Repository, path: str, of: tuple[Tree, ...]) -> Iterator[bytes]:
    names = [entry.name for entry in _entries(repository, path, of)]
    return (content or b"" for content in read_small_blobs(trees(repository), names, MAX_SOURCE))


def _entries(repository: Repository, path: str, of: tuple[Tree, ...]) -> Iterator[Entry]:
    folder, _, name = path.rpartition("/")
    for tree in of:
        entry = read_listing(trees(repository), tree).get(folder, {}).get(name)
        if entry is not None and entry.mode != FOLDER:
            yield entry
