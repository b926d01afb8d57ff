"""Runs a command on other trees than the judged one: on the base tree, and with its tests on the new code."""

from __future__ import annotations

from anyio import to_thread

from podium.attempt.command import evidence
from podium.attempt.command.checkout import CommandAttempt, open_checkout, run_in
from podium.attempt.command.judge_tree import with_paths
from podium.attempt.command.result import CommandResult
from podium.attempt.command.suite import (
    SuiteCommand,
    changed_test_files,
    dispute,
    executed_none,
    files_ended_early,
    suite_command,
    suite_problem,
)
from podium.attempt.command.test_reports import Report, describe_known_failures, shown
from podium.attempt.launch import note
from podium.attempt.workspace.workspace import Workspace
from podium.core.types import Reason, Tree
from podium.errors import ConfigurationError
from podium.tasks.report import AttemptResult


async def baseline_tests(attempt: CommandAttempt, before: Tree | None) -> evidence.BaselineTests:
    """The tests that the command reports on the base tree, run once; it need not pass there."""
    host = attempt.host
    if (
        attempt.verb.junit is None
        or host.repository is None
        or before is None
        or before == attempt.started.start
    ):
        return evidence.BaselineTests()
    file = evidence.report_file(host, attempt.step, attempt.names, before)
    stored = evidence.load_report(file)
    if stored is not None:
        return evidence.BaselineTests(stored)
    host.on_progress(attempt.started.path, note("also running on the base tree, to compare test results"))
    base = await _run_on_base(attempt, before)
    if base.unknown:
        host.on_progress(attempt.started.path, note(f"no tests to compare with: {base.unknown}"))
    elif base.tests is not None:
        evidence.save_report(file, base.tests)
    return base


async def _run_on_base(attempt: CommandAttempt, before: Tree) -> evidence.BaselineTests:
    """A missing report means that there are no tests only if the command passes."""
    try:
        async with open_checkout(attempt, before) as workspace:
            outcome = await run_in(attempt.host, attempt.started, attempt.step, attempt.names, workspace)
            tests = evidence.read_report(attempt.verb, attempt.names, workspace.folder)
    except ConfigurationError as error:
        # The work may have created the folder or the input of the command.
        return evidence.BaselineTests(unknown=str(error))
    if outcome.kind == "timeout":
        # The report may be incomplete.
        return evidence.BaselineTests(tests, unknown=outcome.first_line)
    if tests is None and outcome.kind != "ok":
        return evidence.BaselineTests(unknown=f"{outcome.first_line}, without a report that can be read")
    return evidence.BaselineTests(tests or Report({}))


async def with_known_failures(
    attempt: CommandAttempt, workspace: Workspace, outcome: CommandResult, before: Tree | None
) -> AttemptResult:
    """Say which tests failed already on the base tree, so that the work is not blamed for them (X13)."""
    verb, names, result = attempt.verb, attempt.names, outcome.result
    if outcome.kind != "failed" or verb.junit is None:
        return result
    tests = await to_thread.run_sync(evidence.read_report, verb, names, workspace.folder)
    base = None if tests is None else await baseline_tests(attempt, before)
    if tests is None or base is None or base.tests is None:
        return result
    known_failures = describe_known_failures(tests, base.tests)
    message = "\n".join(filter(None, (known_failures, result["message"])))
    return {**result, "tests": tests.counts(), "message": message}


async def disputed_tests(
    attempt: CommandAttempt, workspace: Workspace, outcome: CommandResult
) -> tuple[Reason, str] | None:
    """Why a passed command that runs tests does not count: it executed none, or fails with the earlier tests."""
    host, base, now = attempt.host, attempt.untouched, attempt.started.start
    suite = suite_command(attempt.verb, attempt.names)
    if suite is None:
        return None
    problem = await to_thread.run_sync(suite_problem, suite, outcome, workspace)
    if problem is not None:
        return "reports", problem
    if host.repository is None or base is None or now is None or base == now:
        return None
    early = files_ended_early(suite, outcome, workspace)
    if early:
        async with open_checkout(attempt, base) as earlier:
            on_base = await run_in(host, attempt.started, attempt.step, attempt.names, earlier)
            early -= files_ended_early(suite, on_base, earlier)
    if early:
        return (
            "reports",
            f"the command passed, but these files ended before their tests ran: {shown(sorted(early))}",
        )
    paths = await to_thread.run_sync(changed_test_files, host.repository, base, now, suite)
    if not paths:
        return None
    host.on_progress(
        attempt.started.path, note("also running with the tests and settings from before the work")
    )
    tree = await to_thread.run_sync(with_paths, host.repository, now, base, paths)
    message = None
    # Twice, because a test may fail by chance.
    for _ in range(2):
        async with open_checkout(attempt, tree) as earlier:
            repeated = await run_in(host, attempt.started, attempt.step, attempt.names, earlier)
            why = (
                await to_thread.run_sync(suite_problem, suite, repeated, earlier)
                if repeated.kind == "ok"
                else None
            )
            has_none = executed_none(suite, repeated, earlier)
        if repeated.kind == "ok" and why is None:
            return None
        if has_none and await _has_no_tests(attempt, base, suite):
            return None
        message = dispute(paths, repeated, why)
    return "disputed_tests", message or ""


async def _has_no_tests(attempt: CommandAttempt, base: Tree, suite: SuiteCommand) -> bool:
    """Whether the command finds no tests on the base tree either, so that the work could not take any away."""
    async with open_checkout(attempt, base) as earlier:
        outcome = await run_in(attempt.host, attempt.started, attempt.step, attempt.names, earlier)
        return executed_none(suite, outcome, earlier)
