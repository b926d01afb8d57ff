"""Judges a passed command by the earlier tests: it runs again on the new code with the tests from before the work.

Tests inside the code under test cannot be run as they were; only their names are compared.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from dataclasses import field
from posixpath import normpath

from anyio import to_thread

from podium.attempt.activity import note_command
from podium.attempt.command import disputes, evidence
from podium.attempt.command.changed_tests import Judged, changed_inline_tests, changed_test_files
from podium.attempt.command.checkout import CommandAttempt, open_checkout, run_in
from podium.attempt.command.disputes import ChangedSources, DisputedTest, TestsOfTree
from podium.attempt.command.installed_modules import installed_modules
from podium.attempt.command.judge_tree import with_paths
from podium.attempt.command.printed.totals import executed_by_any
from podium.attempt.command.result import CommandResult
from podium.attempt.command.runner_reports import unread_results
from podium.attempt.command.suite import (
    executed_none,
    files_ended_early,
    output_of,
    results_or_none,
    suite_problem,
)
from podium.attempt.command.suite_command import SuiteCommand, suite_command
from podium.attempt.command.test_reports import Report, shown
from podium.attempt.launch import declared_env
from podium.attempt.workspace.workspace import Workspace
from podium.core.expressions.templates import fill, fill_argv
from podium.core.expressions.values import Meter, as_text
from podium.core.types import Reason, Tree
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass
from podium.git.trees.diff import changed_paths
from podium.tasks.report import AttemptResult
from podium.workflow.test_gates.files import MODULE_FOLDERS
from podium.workflow.test_gates.listing import runs_tests
from podium.workflow.test_gates.runners import MIXED


@dataclass(frozen=True, slots=True)
class JudgedTests:
    """Whether a passed command counts, and what it leaves to a judge."""

    reason: Reason = ""
    message: str = ""
    result: AttemptResult = field(default_factory=AttemptResult)


@dataclass(frozen=True, slots=True)
class _Rerun:
    """How the command ended with the earlier tests."""

    tests: Sequence[DisputedTest] = ()
    outcome: CommandResult | None = None


async def judge_tests(attempt: CommandAttempt, workspace: Workspace, outcome: CommandResult) -> JudgedTests:
    """A command that runs tests does not count if it executed none, or if earlier tests do not pass on the new code."""
    suite = suite_command(attempt.verb, attempt.names)
    if suite is None:
        return JudgedTests()
    problem = await to_thread.run_sync(suite_problem, suite, outcome, workspace)
    if problem is None and suite.runs_tests:
        problem = await _ended_early(attempt, suite, outcome, workspace)
    if problem is not None:
        return JudgedTests("reports", problem)
    host, base, now = attempt.host, attempt.untouched, attempt.started.start
    if host.repository is None or base is None or now is None or base == now:
        return JudgedTests()
    tests = await to_thread.run_sync(results_or_none, suite, outcome, workspace)
    setup = tuple(fill_argv(argv, attempt.names) for argv in attempt.step.settings.workspace.setup)
    judged = Judged(host.repository, base, now, tests, setup)
    waived = (*suite.may_change, *attempt.waived)
    changed = await to_thread.run_sync(
        changed_test_files, judged, suite, waived, _python_folders(attempt), _installed(attempt, suite)
    )
    inside = await to_thread.run_sync(changed_inline_tests, host.repository, base, now, suite)
    inline = tuple(dict.fromkeys((*inside, *changed.mixed)))
    # A test that is skipped may be skipped by the code, and a file that is gone may have had tests.
    is_needed = changed.has_earlier or changed.has_removed or bool(inline) or _has_skipped(tests)
    before = await _earlier_results(attempt, base, suite, is_needed=suite.runs_tests and is_needed)
    trees = TestsOfTree(host.repository, base, now, tuple(changed.judged))
    comparison = _Comparison(attempt, suite, trees, before, has_waived=bool(changed.waived))
    if changed.judged:
        rerun = await comparison.rerun()
    else:
        rerun = _Rerun(await to_thread.run_sync(comparison.lost, tests, inline))
    if not rerun.tests and tests is not None:
        evidence.save_report(evidence.report_file(host, attempt.step, attempt.names, now), tests)
    return await to_thread.run_sync(_judged, attempt, trees, rerun, inline)


def _python_folders(attempt: CommandAttempt) -> tuple[str, ...]:
    """The folders of modules that the step itself names: where it runs, and those of PYTHONPATH."""
    step, names = attempt.step, attempt.names
    start = as_text(fill(step.settings.dir or ".", names), Meter())
    paths = declared_env(step, names)[1].get("PYTHONPATH", "").split(":")
    folders = (normpath(posixpath.join(start, folder)) for folder in (*MODULE_FOLDERS, *paths))
    return tuple(dict.fromkeys("" if folder == "." else folder for folder in folders))


def _installed(attempt: CommandAttempt, suite: SuiteCommand) -> Callable[[str], bool]:
    host = attempt.host
    return installed_modules(suite.words, host.host_env, host.project, host.toolchain)


def _has_skipped(tests: Report | None) -> bool:
    return tests is not None and "skipped" in tests.cases.values()


def _judged(attempt: CommandAttempt, trees: TestsOfTree, rerun: _Rerun, inline: Sequence[str]) -> JudgedTests:
    rows = disputes.rows_of(rerun.tests, attempt.claims, trees)
    pending = [row for row in rows if row["id"] not in attempt.accepted]
    if all(row["why"] for row in pending) and (attempt.has_judge or not pending):
        marked: AttemptResult = {"not_rerun": list(inline)} if inline else {}
        return JudgedTests(result={**marked, **disputes.pending_result(pending, trees)})
    open_rows = [row for row in pending if not row["why"]] or pending
    message = disputes.feedback(
        open_rows,
        rerun.outcome,
        paths=trees.paths,
        has_judge=attempt.has_judge,
        runs_tests=runs_tests(attempt.verb),
    )
    return JudgedTests("disputed_tests", message)


@dataclass(frozen=True, slots=True)
class _Comparison:
    attempt: CommandAttempt
    suite: SuiteCommand
    trees: TestsOfTree
    before: Report | None
    """The tests on the base tree, if they are known."""
    has_waived: bool
    """Whether files changed that may change: tests that are gone may have been in them."""

    async def rerun(self) -> _Rerun:
        """Run the command on the new code with the earlier tests; twice, because a test may fail by chance."""
        attempt, suite = self.attempt, self.suite
        host = attempt.host
        note_command(host, attempt.started, "also running with the tests and settings from before the work")
        trees = self.trees
        tree = await to_thread.run_sync(with_paths, trees.repository, trees.now, trees.base, trees.paths)
        result = _Rerun()
        for _ in range(2):
            async with open_checkout(attempt, tree) as earlier:
                outcome = await run_in(host, attempt.started, attempt.step, attempt.names, earlier)
                tests = await to_thread.run_sync(results_or_none, suite, outcome, earlier)
                why = await to_thread.run_sync(suite_problem, suite, outcome, earlier)
                has_none = executed_none(suite, outcome, earlier)
            is_good = outcome.kind == "ok" and why is None
            if is_good and tests is None and self.before is not None and self.before.cases:
                is_good, why = False, disputes.NOT_LISTED
            problems = self._problems(tests)
            if is_good and not problems:
                return _Rerun()
            if has_none and not await self._had_tests():
                return _Rerun()
            whole = [DisputedTest("", why or disputes.NOT_PASSED, self.trees.paths)]
            result = _Rerun(disputes.disputed(problems, trees.paths, was_rerun=True) or whole, outcome)
        return result

    def _problems(self, tests: Report | None) -> dict[str, str]:
        problems = disputes.compare(self.before, tests)
        if not self.has_waived:
            return problems
        sources = ChangedSources(self.trees.paths)
        return {
            name: problem
            for name, problem in problems.items()
            if problem != disputes.GONE or sources.of(name)
        }

    async def _had_tests(self) -> bool:
        """Whether the command found tests on the base tree, so that the work could take some away."""
        before = self.before or await _earlier_results(
            self.attempt, self.trees.base, self.suite, is_needed=True
        )
        return before is None or bool(before.cases)

    def lost(self, tests: Report | None, inline: Sequence[str]) -> Sequence[DisputedTest]:
        """Earlier tests that the command no longer runs, although no file with tests of its own changed.

        A report that the file declares is compared with that of the base tree in any case.
        """
        if self.before is None or self.has_waived or self.suite.report is not None:
            return ()
        if tests is None:
            unknown = DisputedTest("", disputes.NOT_LISTED, tuple(inline or self._code()), was_rerun=False)
            return (unknown,) if self.before.cases else ()
        problems = disputes.compare(self.before, tests)
        gone = disputes.moved(self.before, tests, problems)
        left = {name: problem for name, problem in problems.items() if name not in gone}
        return disputes.disputed(left, inline or self._code(), was_rerun=False)

    def _code(self) -> tuple[str, ...]:
        return changed_paths(self.trees.repository, self.trees.base, self.trees.now)


async def _ended_early(
    attempt: CommandAttempt, suite: SuiteCommand, outcome: CommandResult, workspace: Workspace
) -> str | None:
    """Why a passed command ran fewer tests than it seems, judged by how it ends on the base tree."""
    base, now = attempt.untouched, attempt.started.start
    early = files_ended_early(suite, outcome, workspace)
    is_silent = _is_silent(suite, outcome)
    unread = await to_thread.run_sync(unread_results, suite, outcome)
    if attempt.host.repository is None or base is None or base == now or not (early or is_silent or unread):
        return None
    async with open_checkout(attempt, base) as earlier:
        on_base = await run_in(attempt.host, attempt.started, attempt.step, attempt.names, earlier)
        early -= files_ended_early(suite, on_base, earlier)
    if early:
        return f"the command passed, but these files ended before their tests ran: {shown(sorted(early))}"
    if is_silent and not _is_silent(suite, on_base):
        return "the command passed, but tells of no executed tests; before the work it did"
    if unread and unread_results(suite, on_base) is None:
        return f"the command passed, but its results cannot be read: {unread}; before the work they could be"
    return None


def _is_silent(suite: SuiteCommand, outcome: CommandResult) -> bool:
    """Whether a command that starts an unnamed runner prints no summary of tests."""
    is_mixed = suite.runner == MIXED and suite.runs_tests and suite.report is None
    return is_mixed and not executed_by_any(output_of(outcome))


async def _earlier_results(
    attempt: CommandAttempt, base: Tree, suite: SuiteCommand, *, is_needed: bool
) -> Report | None:
    """The tests on the base tree: as an earlier run stored them, else by running the command there if needed."""
    host = attempt.host
    file = evidence.report_file(host, attempt.step, attempt.names, base)
    stored = evidence.load_report(file)
    if stored is not None or not is_needed:
        return stored
    note_command(host, attempt.started, "also running on the base tree, to compare test results")
    try:
        async with open_checkout(attempt, base) as workspace:
            outcome = await run_in(host, attempt.started, attempt.step, attempt.names, workspace)
            tests = await to_thread.run_sync(results_or_none, suite, outcome, workspace)
            has_none = executed_none(suite, outcome, workspace)
    except ConfigurationError:
        # The work may have created the folder or the input of the command.
        return None
    if outcome.kind == "timeout":
        return None
    if tests is None and has_none:
        tests = Report({})
    if tests is not None:
        evidence.save_report(file, tests)
    return tests
