"""Runs a `run` step or a command gate in a checkout of exactly one tree.

Whether it passed depends on its exit code, the reports it wrote and the values it printed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from anyio import to_thread

from podium.attempt import artifacts
from podium.attempt.change_policy import objection, protected
from podium.attempt.command import evidence
from podium.attempt.command.baseline import baseline_tests, remember_pass, with_known_failures
from podium.attempt.command.checkout import CommandAttempt, keeps_changes, open_checkout, run_in
from podium.attempt.command.earlier_tests import judge_tests
from podium.attempt.command.failure_facts import failure_facts
from podium.attempt.command.result import CommandResult
from podium.attempt.file_facts import known_names
from podium.attempt.host import Host
from podium.attempt.result import attempt_ended
from podium.attempt.reuse import reuse_or
from podium.attempt.workspace.memory import open_memory, tree_of_memory, with_memory
from podium.attempt.workspace.workspace import CapturedChange, CaptureRefused, Workspace, capture_change
from podium.core.events import AttemptEnded, AttemptStarted
from podium.core.expressions.nodes import Names
from podium.core.expressions.templates import Value, fill, fill_argv
from podium.core.model import Command, Step
from podium.core.step_settings import written_values
from podium.core.types import Address, Reason, Tree
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass, replace
from podium.tasks.prior_results import request_key
from podium.tasks.report import AttemptResult
from podium.tasks.task import AttemptTask, CommandWork
from podium.views.run.why import result_text
from podium.workflow.contracts.contract import OutputFault, value_of

MAX_VALUE: Final = 8 << 20
"""Bytes of an output that is parsed as a value."""


async def work(task: AttemptTask, host: Host) -> AttemptEnded:
    assert isinstance(task.work, CommandWork)
    before = task.work.before
    attempt = await _command_attempt(task, host)
    # Without disputed tests the key is the one that earlier versions have stored.
    judging = (attempt.claims, attempt.has_judge, attempt.accepted, attempt.waived)
    parts = (
        *(judging if any((attempt.claims, attempt.accepted, attempt.waived)) else ()),
        *_request_parts(attempt.step, attempt.names),
        *(() if attempt.memory is None else (attempt.memory,)),
    )
    key = request_key(task.started, before, attempt.untouched, *parts)
    return await reuse_or(host, task, key, lambda: _run_and_check(attempt, before))


async def judge(task: AttemptTask, host: Host) -> AttemptEnded:
    """Runs a command again on another tree; `must_fail_before` is not checked again."""
    assert isinstance(task.work, CommandWork)
    return await _run_and_check(await _command_attempt(task, host), task.work.before, is_recheck=True)


@dataclass(frozen=True, slots=True)
class FailedRecheck:
    """The first command that did not pass on the merged tree."""

    path: Address
    message: str


async def rerun(host: Host, rechecks: Iterable[AttemptTask], tree: Tree) -> FailedRecheck | None:
    """Runs the commands one after another until one fails. Raises what a command raises."""
    for recheck in rechecks:
        started = replace(recheck.started, at=host.now(), start=tree)
        ended = await judge(replace(recheck, started=started), host)
        if ended.kind != "ok":
            return FailedRecheck(started.path, _why(ended))
    return None


def _why(ended: AttemptEnded) -> str:
    """The reason in one line, then the message."""
    result = ended.result or {}
    message = str(result.get("message") or f"it ended as {ended.kind}")
    reason = result_text(result)
    return message if message.startswith(reason) else f"{reason}\n{message}"


async def _command_attempt(task: AttemptTask, host: Host) -> CommandAttempt:
    step, work = task.step, task.work
    assert isinstance(step.verb, Command)
    assert isinstance(work, CommandWork)
    names = await known_names(host, task.names(), values_of(step), task.view)
    return CommandAttempt(
        host,
        task.started,
        step,
        step.verb,
        names,
        work.protected_from,
        work.is_gate,
        work.declared,
        claims=work.claims,
        has_judge=work.has_judge,
        accepted=work.accepted,
        waived=work.waived,
        memory=await tree_of_memory(host, task.memory),
    )


async def _run_and_check(
    attempt: CommandAttempt, before: Tree | None, *, is_recheck: bool = False
) -> AttemptEnded:
    """Runs the command on its tree, and on the base tree if the results have to be compared."""
    host, started, step, verb, names = (
        attempt.host,
        attempt.started,
        attempt.step,
        attempt.verb,
        attempt.names,
    )
    if verb.must_fail_before and not is_recheck:
        unmet = await _check_fails_before(attempt, before)
        if unmet is not None:
            return unmet
    async with (
        open_checkout(attempt, started.start) as opened,
        open_memory(host, started, step, attempt.memory, opened) as workspace,
    ):
        outcome = await run_in(host, started, step, names, workspace)
        if verb.junit is not None or verb.coverage is not None or attempt.is_gate:
            kept_output = await to_thread.run_sync(
                evidence.keep, host, started, verb, names, workspace, outcome.shown
            )
            outcome = replace(outcome, result={**outcome.result, evidence.EVIDENCE: kept_output})
        if outcome.kind != "ok":
            facts = await to_thread.run_sync(failure_facts, attempt, workspace, outcome)
            result = await with_known_failures(
                attempt, workspace, replace(outcome, result={**outcome.result, **facts}), before
            )
            return attempt_ended(
                host, started, outcome.kind, outcome.reason, result=result, tree=started.start
            )
        ended = await _verified(attempt, workspace, outcome, before)
        if ended.kind == "ok" and attempt.is_gate:
            await to_thread.run_sync(remember_pass, attempt, workspace)
        return await with_memory(host, step, workspace, started, ended)


async def _verified(
    attempt: CommandAttempt, workspace: Workspace, outcome: CommandResult, before: Tree | None
) -> AttemptEnded:
    """After exit code 0, check the declared reports, output and files."""
    host, started, step, verb, names = (
        attempt.host,
        attempt.started,
        attempt.step,
        attempt.verb,
        attempt.names,
    )
    check = evidence.ReportCheck()
    if verb.junit is not None or verb.coverage is not None:
        base = await baseline_tests(attempt, before)
        check = await to_thread.run_sync(evidence.check_reports, verb, names, workspace.folder, base)
        if check.message is None and base.unknown and workspace.snapshot is not None:
            now = workspace.snapshot.tree
            check = await to_thread.run_sync(
                evidence.check_without_baseline, check, base, host, evidence.Trees(before, now)
            )
    if check.message is None and check.tests is not None and started.start is not None:
        evidence.save_report(evidence.report_file(host, step, names, started.start), check.tests)
    result: AttemptResult = {**outcome.result, **check.result}
    if check.message is not None:
        return _refused(host, started, "reports", check.message, result)
    judged = await judge_tests(attempt, workspace, outcome)
    if judged.message:
        return _refused(host, started, judged.reason, judged.message, result)
    result = {**result, **judged.result}
    value = value_of(step.output, _answer(step, outcome), (False, None))
    if isinstance(value, OutputFault):
        return _refused(host, started, "contract", value.message, result)
    change = await _captured_change(host, started, step, names, workspace)
    if isinstance(change, CaptureRefused):
        return _refused(host, started, change.reason, change.message, result)
    result = {**result, "output": value.value, "files": list(change.files)}
    refusal = objection(host, step, names, change) if keeps_changes(step, names) else None
    if refusal is not None:
        return _refused(host, started, *refusal, result, tree=change.tree)
    promised = fill_argv(step.output.files, names)
    missing = None
    if promised:
        missing = await to_thread.run_sync(
            artifacts.missing_files, host, promised, change.tree or started.start, workspace.folder
        )
    if missing is not None:
        return _refused(host, started, "contract", missing, result, tree=change.tree)
    if step.output.file is not None:
        content = _printed(step, outcome) if step.output.kind == "text" else value.value
        artifact = await to_thread.run_sync(artifacts.keep_output, host, step, names, content)
        result[artifacts.ARTIFACTS] = [artifact]
    end = attempt_ended(
        host, started, "ok", result=result, tree=change.tree or started.start, change=change.change or None
    )
    if not change.judged_files:
        return end
    # It may call git, which blocks.
    guarded = await to_thread.run_sync(protected, host, step, names, change, started.base)
    return replace(end, protected=guarded)


async def _captured_change(
    host: Host, started: AttemptStarted, step: Step, names: Names, workspace: Workspace
) -> CapturedChange | CaptureRefused:
    """The change if the step declares `touches`; otherwise changes are discarded with the checkout."""
    if not keeps_changes(step, names):
        return CapturedChange(started.start, {}, ())
    return await capture_change(host, workspace, started)


async def _check_fails_before(attempt: CommandAttempt, before: Tree | None) -> AttemptEnded | None:
    """The end of the attempt if the changed tests do not fail on the earlier code; None if they do."""
    host, started = attempt.host, attempt.started
    tree = await to_thread.run_sync(evidence.old_code_new_tests, host, evidence.Trees(before, started.start))
    if isinstance(tree, evidence.NoBaseline):
        return _refused(host, started, "must_fail_before", tree.why, {"text": "", "exit_code": 0})
    async with open_checkout(attempt, tree) as workspace:
        outcome = await run_in(host, started, attempt.step, attempt.names, workspace)
    if outcome.kind == "ok":
        message = "the new and changed tests also pass on the earlier code, so they do not prove the change"
        return _refused(host, started, "must_fail_before", message, outcome.result)
    if outcome.kind == "failed":
        return None
    return attempt_ended(
        host, started, outcome.kind, outcome.reason, result=outcome.result, tree=started.start
    )


def _request_parts(step: Step, names: Names) -> tuple[Any, ...]:
    """Everything the result depends on besides the trees."""
    verb = step.verb
    assert isinstance(verb, Command)
    plain = (verb.script, verb.shell, verb.must_fail_before, verb.exit_codes, dict(verb.coverage or {}))
    contract = (step.output.kind, step.output.schema, step.output.choices)
    filled = (fill(value, names) for value in values_of(step))
    return ("command", *plain, *contract, step.settings.network or None, *filled)


def values_of(step: Step) -> tuple[Value, ...]:
    """All values of a command that may contain expressions, so that their facts can be looked up first."""
    verb = step.verb
    assert isinstance(verb, Command)
    report = dict(verb.coverage or {}).get("report")
    settings = written_values(step.settings, ("dir", "env", "sandbox", "workspace", "protect"))
    touches = step.touches if isinstance(step.touches, tuple) else (step.touches,)
    tests = () if verb.tests is None else (*verb.tests.files, *verb.tests.may_change)
    return (
        *verb.argv,
        verb.stdin,
        verb.junit,
        report,
        *settings,
        *touches,
        *artifacts.written_output(step.output),
        *tests,
    )


def _answer(step: Step, outcome: CommandResult) -> str:
    """The logged, shortened output for text; the full output for a value that is parsed."""
    if step.output.kind == "text":
        return str(outcome.result["text"]).rstrip("\n")
    _check_size(step, outcome)
    return outcome.finished.stdout.text()


def _printed(step: Step, outcome: CommandResult) -> str:
    """The full output, for a file, to its last newline."""
    _check_size(step, outcome)
    return outcome.finished.stdout.text()


def _check_size(step: Step, outcome: CommandResult) -> None:
    if outcome.finished.stdout.size > MAX_VALUE:
        raise ConfigurationError(
            f'step "{step.name}" printed {outcome.finished.stdout.size} bytes, too many for its output',
            hint="print less; a file that the command writes itself may be larger",
        )


def _refused(
    host: Host,
    started: AttemptStarted,
    reason: Reason,
    message: str,
    result: AttemptResult,
    *,
    tree: Tree | None = None,
) -> AttemptEnded:
    return attempt_ended(
        host, started, "failed", reason, result={**result, "message": message}, tree=tree or started.start
    )
