"""Runs a command that declares a report on the base tree, to compare the tests."""

from __future__ import annotations

from anyio import to_thread

from podium.attempt.activity import note_command
from podium.attempt.base_results import load_result, result_file, save_result
from podium.attempt.command import evidence
from podium.attempt.command.checkout import CommandAttempt, open_checkout, run_in
from podium.attempt.command.result import CommandResult
from podium.attempt.command.test_reports import Report, describe_known_failures
from podium.attempt.command.trial import Trial
from podium.attempt.workspace.workspace import Workspace
from podium.core.types import Tree
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
    note_command(host, attempt.started, "also running on the base tree, to compare test results")
    base = await _run_on_base(attempt, before)
    if base.unknown:
        note_command(host, attempt.started, f"no tests to compare with: {base.unknown}")
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
    if outcome.kind != "failed":
        return result
    if verb.junit is None:
        return await to_thread.run_sync(_with_red_base, attempt, result, before)
    tests = await to_thread.run_sync(evidence.read_report, verb, names, workspace.folder)
    base = None if tests is None else await baseline_tests(attempt, before)
    if tests is None or base is None or base.tests is None:
        return result
    known_failures = describe_known_failures(tests, base.tests)
    message = "\n".join(filter(None, (known_failures, result["message"])))
    return {**result, "tests": tests.counts(), "message": message}


def _with_red_base(attempt: CommandAttempt, result: AttemptResult, before: Tree | None) -> AttemptResult:
    """Say that the command failed already on the base tree, if that was found out before."""
    if before == attempt.started.start or attempt.step.settings.baseline == "ignore":
        return result
    file = result_file(attempt.host, attempt.step, attempt.names, before)
    trial = None if file is None else load_result(file)
    if trial is None or trial.status != "red":
        return result
    known_failure = f"this command failed on the base tree as well, before any change: {trial.message}"
    return {**result, "message": "\n".join(filter(None, (result["message"], known_failure)))}


def remember_pass(attempt: CommandAttempt, workspace: Workspace) -> None:
    """A run that starts from this tree, after it has landed, need not try the gate on it again."""
    tree = attempt.started.start
    if workspace.snapshot is None or workspace.snapshot.tree != tree:
        return  # It judged the tree with protected files of an earlier one.
    file = result_file(attempt.host, attempt.step, attempt.names, tree)
    if file is not None:
        save_result(file, Trial("passed"))
