"""A `run` step or a command gate: a program on a checkout of exactly one tree, and what its end means.

Whether it passed is decided here by what was seen: the exit code, the reports it wrote, the values it printed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from anyio import to_thread

from podium.attempt import artifacts
from podium.attempt.change_policy import globs_of, objection, protected
from podium.attempt.command import evidence
from podium.attempt.command.judge_tree import restore_files
from podium.attempt.command.result import CommandResult, ran_of
from podium.attempt.command.stdin import stdin_of
from podium.attempt.command.test_reports import Report, told_apart
from podium.attempt.file_facts import known_names
from podium.attempt.host import Host
from podium.attempt.launch import build_launch, forward_output, note, sandbox_record
from podium.attempt.network import decided
from podium.attempt.result import attempt_ended
from podium.attempt.reuse import reuse_or
from podium.attempt.workspace.ownership import give_ownership
from podium.attempt.workspace.toolchain import check_editable
from podium.attempt.workspace.workspace import CapturedChange, CaptureRefused, Workspace, captured, opened
from podium.core.events import AttemptEnded, AttemptStarted
from podium.core.expressions.nodes import Names
from podium.core.expressions.templates import Value, fill, fill_argv
from podium.core.expressions.values import Meter, as_text
from podium.core.model import Command, Step
from podium.core.settings import written_values
from podium.core.types import Path, Reason, Tree
from podium.errors import ConfigurationError
from podium.tasks.prior_results import request_key
from podium.tasks.report import AttemptResult
from podium.tasks.task import AttemptTask, CommandWork
from podium.workflow.contracts.contract import OutputFault, value_of

SCRIPT: Final = "script"


@dataclass(frozen=True, slots=True)
class CommandAttempt:
    """One command before its judge."""

    host: Host
    asked: AttemptStarted
    step: Step
    verb: Command
    names: Names
    untouched: Tree | None
    """Where the protected files come from."""
    is_gate: bool


async def work(task: AttemptTask, host: Host) -> AttemptEnded:
    assert isinstance(task.work, CommandWork)
    before = task.work.before
    case = await _case(task, host)
    key = request_key(task.started, before, case.untouched, *_asked_of(case.step, case.names))
    return await reuse_or(host, task, key, lambda: _judged(case, before))


async def judge(task: AttemptTask, host: Host) -> AttemptEnded:
    """Runs a command that has passed before on another tree; it need not fail on the base tree again."""
    assert isinstance(task.work, CommandWork)
    return await _judged(await _case(task, host), task.work.before, again=True)


@dataclass(frozen=True, slots=True)
class FailedRecheck:
    """The first command that did not pass on the merged tree."""

    path: Path
    message: str


async def rerun(host: Host, rechecks: Iterable[AttemptTask], tree: Tree) -> FailedRecheck | None:
    """Runs them on a tree one after another, until one fails. Raises what a command raises."""
    for recheck in rechecks:
        started = replace(recheck.started, at=host.now(), start=tree)
        ended = await judge(replace(recheck, started=started), host)
        if ended.kind != "ok":
            return FailedRecheck(started.path, _why(ended))
    return None


def _why(ended: AttemptEnded) -> str:
    return str((ended.result or {}).get("message") or f"it ended as {ended.kind}")


async def _case(task: AttemptTask, host: Host) -> CommandAttempt:
    step, work = task.step, task.work
    assert isinstance(step.verb, Command)
    assert isinstance(work, CommandWork)
    names = await known_names(host, task.names(), values_of(step), task.view)
    return CommandAttempt(host, task.started, step, step.verb, names, work.protected_from, work.is_gate)


async def _judged(case: CommandAttempt, before: Tree | None, *, again: bool = False) -> AttemptEnded:
    """Runs the command on a tree, beside the one it has to be compared with."""
    host, asked, step, verb, names = case.host, case.asked, case.step, case.verb, case.names
    if verb.must_fail_before and not again:
        unmet = await _passes_before(case, before)
        if unmet is not None:
            return unmet
    async with _laid_out(case, asked.start) as workspace:
        ran = await run_in(host, asked, step, names, workspace)
        if verb.junit is not None or verb.coverage is not None or case.is_gate:
            kept = await to_thread.run_sync(evidence.keep, host, asked, verb, names, workspace, ran.shown)
            ran = replace(ran, result={**ran.result, evidence.EVIDENCE: kept})
        if ran.kind != "ok":
            result = await _told_apart(case, workspace, ran, before)
            return attempt_ended(host, asked, ran.kind, ran.reason, result=result, tree=asked.start)
        return await _verified(case, workspace, ran, before)


@asynccontextmanager
async def _laid_out(case: CommandAttempt, tree: Tree | None) -> AsyncIterator[Workspace]:
    """A checkout with the protected files as they were before the work; of what is kept, none may be exchanged."""
    host = case.host
    protected = fill_argv(case.step.settings.protect, case.names)
    if host.repository is not None and tree is not None and not _keeps(case.step, case.names):
        tree = await to_thread.run_sync(restore_files, host.repository, tree, case.untouched, protected)
    async with opened(host, case.asked, case.step, kind="checkout", names=case.names, tree=tree) as workspace:
        yield workspace


async def run_in(
    host: Host, asked: AttemptStarted, step: Step, names: Names, workspace: Workspace
) -> CommandResult:
    """Runs the command of a step in a workspace. Raises what launching raises."""
    verb = step.verb
    assert isinstance(verb, Command)
    argv = _argv(host, step, verb, names, workspace)
    stdin = None
    if verb.stdin is not None:
        given = (verb.stdin, names, workspace.folder, host.artifacts_dir)
        stdin = await to_thread.run_sync(stdin_of, *given)
    timeout_s = float("inf") if asked.timeout is None else asked.timeout / 1000
    launch, walls = build_launch(
        host,
        step,
        names,
        workspace,
        argv=argv,
        stdin=stdin,
        timeout_s=timeout_s,
        on_decision=decided(host, asked.path, asked.attempt),
        plain=True,
    )
    host_env = {**launch.env, "PATH": host.host_env.get("PATH", launch.env["PATH"])}
    sandbox = host.sandbox_of(step)
    check_editable(host.project, sandbox.level, argv, host_env, verb.script or "")
    evidence.forget_reports(verb, names, workspace.folder)
    finished = await sandbox.run(launch, walls, on_output=forward_output(host, asked.path))
    seen = ran_of(host, argv, finished, timeout_s)
    return replace(seen, result={**seen.result, **sandbox_record(sandbox, walls)})


async def _verified(
    case: CommandAttempt, workspace: Workspace, ran: CommandResult, before: Tree | None
) -> AttemptEnded:
    """An exit code of 0 is a claim; what was declared besides must be there as well."""
    host, asked, step, verb, names = case.host, case.asked, case.step, case.verb, case.names
    seen = evidence.ReportCheck()
    if verb.junit is not None or verb.coverage is not None:
        base = await _report_before(case, before)
        seen = await to_thread.run_sync(evidence.look, verb, names, workspace.folder, base)
        if seen.message is None and base.unknown and workspace.snapshot is not None:
            now = workspace.snapshot.tree
            seen = await to_thread.run_sync(
                evidence.uncompared, seen, base, host, evidence.Trees(before, now)
            )
    if seen.message is None and seen.tests is not None and asked.start is not None:
        evidence.remember(evidence.place_of(host, step, names, asked.start), seen.tests)
    result: AttemptResult = {**ran.result, **seen.result}
    if seen.message is not None:
        return _refused(host, asked, "reports", seen.message, result)
    value = value_of(step.output, _answer(step, ran), (False, None))
    if isinstance(value, OutputFault):
        return _refused(host, asked, "contract", value.message, result)
    taken = await _taken(host, asked, step, names, workspace)
    if isinstance(taken, CaptureRefused):
        return _refused(host, asked, taken.reason, taken.message, result)
    result = {**result, "output": value.value, "files": list(taken.files)}
    refusal = objection(host, step, names, taken) if _keeps(step, names) else None
    if refusal is not None:
        return _refused(host, asked, *refusal, result, tree=taken.tree)
    promised = fill_argv(step.output.files, names)
    missing = None
    if promised:
        missing = await to_thread.run_sync(
            artifacts.missing_files, host, promised, taken.tree or asked.start, workspace.folder
        )
    if missing is not None:
        return _refused(host, asked, "contract", missing, result, tree=taken.tree)
    if step.output.file is not None:
        file = as_text(fill(step.output.file, names), Meter())
        whole = _printed(ran) if step.output.kind == "text" else value.value
        result[artifacts.ARTIFACTS] = [await to_thread.run_sync(artifacts.keep, host, file, whole)]
    end = attempt_ended(
        host, asked, "ok", result=result, tree=taken.tree or asked.start, change=taken.change or None
    )
    return replace(end, protected=protected(step, names, taken))


async def _taken(
    host: Host, asked: AttemptStarted, step: Step, names: Names, workspace: Workspace
) -> CapturedChange | CaptureRefused:
    """What `touches` says to keep; without it every change is thrown away with the checkout."""
    if not _keeps(step, names):
        return CapturedChange(asked.start, {}, ())
    return await captured(host, workspace, asked)


def _keeps(step: Step, names: Names) -> bool:
    return globs_of(step, names) != ()


async def _report_before(case: CommandAttempt, before: Tree | None) -> evidence.BaselineTests:
    """What the command says of the tests on the tree from before, found out once; it need not pass there."""
    host = case.host
    if case.verb.junit is None or host.repository is None or before is None or before == case.asked.start:
        return evidence.BaselineTests()
    place = evidence.place_of(host, case.step, case.names, before)
    known = evidence.known(place)
    if known is not None:
        return evidence.BaselineTests(known)
    host.on_progress(case.asked.path, note("also running on the base tree, to compare test results"))
    base = await _run_before(case, before)
    if base.unknown:
        host.on_progress(case.asked.path, note(f"no tests to compare with: {base.unknown}"))
    elif base.tests is not None:
        evidence.remember(place, base.tests)
    return base


async def _run_before(case: CommandAttempt, before: Tree) -> evidence.BaselineTests:
    """No report is no proof that there are no tests: only a command that passes without one says so."""
    try:
        async with _laid_out(case, before) as workspace:
            ran = await run_in(case.host, case.asked, case.step, case.names, workspace)
            tests = evidence.read_report(case.verb, case.names, workspace.folder)
    except ConfigurationError as error:
        # Its folder or its input may have come with the work.
        return evidence.BaselineTests(unknown=str(error))
    if ran.kind == "timeout":
        # What it has reported until then need not be all.
        return evidence.BaselineTests(tests, unknown=ran.last_words)
    if tests is None and ran.kind != "ok":
        return evidence.BaselineTests(unknown=f"{ran.last_words}, without a report that can be read")
    return evidence.BaselineTests(tests or Report({}))


async def _told_apart(
    case: CommandAttempt, workspace: Workspace, ran: CommandResult, before: Tree | None
) -> AttemptResult:
    """A red result says what was red before, so that nobody is blamed for it (X13)."""
    verb, names, result = case.verb, case.names, ran.result
    if ran.kind != "failed" or verb.junit is None:
        return result
    tests = await to_thread.run_sync(evidence.read_report, verb, names, workspace.folder)
    base = None if tests is None else await _report_before(case, before)
    if tests is None or base is None or base.tests is None:
        return result
    old = told_apart(tests, base.tests)
    return {**result, "tests": tests.counts(), "message": "\n".join(filter(None, (old, result["message"])))}


async def _passes_before(case: CommandAttempt, before: Tree | None) -> AttemptEnded | None:
    """Red before green: the tests that were changed must fail on the code from before. Says so if they do not."""
    host, asked = case.host, case.asked
    old = await to_thread.run_sync(evidence.old_code_new_tests, host, evidence.Trees(before, asked.start))
    if isinstance(old, evidence.NoBaseline):
        return _refused(host, asked, "must_fail_before", old.why, {"text": "", "exit_code": 0})
    async with _laid_out(case, old) as workspace:
        ran = await run_in(host, asked, case.step, case.names, workspace)
    if ran.kind == "ok":
        message = (
            "the new and changed tests pass on the code from before as well, so they do not prove the change"
        )
        return _refused(host, asked, "must_fail_before", message, ran.result)
    if ran.kind == "failed":
        return None
    return attempt_ended(host, asked, ran.kind, ran.reason, result=ran.result, tree=asked.start)


def _argv(host: Host, step: Step, verb: Command, names: Names, workspace: Workspace) -> tuple[str, ...]:
    if verb.script is None:
        return fill_argv(verb.argv, names)
    # Outside the tree: it is not part of what is judged or kept.
    file = workspace.tmp / SCRIPT
    file.write_text(verb.script, "utf-8")
    give_ownership(workspace.tmp, host.sandbox_of(step).owner)
    return (verb.shell or "bash", str(file))


def _asked_of(step: Step, names: Names) -> tuple[Any, ...]:
    """All that its answer depends on, besides the trees."""
    verb = step.verb
    assert isinstance(verb, Command)
    plain = (verb.script, verb.shell, verb.must_fail_before, verb.exit_codes, dict(verb.coverage or {}))
    contract = (step.output.kind, step.output.schema, step.output.choices)
    filled = (fill(value, names) for value in values_of(step))
    return ("command", *plain, *contract, step.settings.network or None, *filled)


def values_of(step: Step) -> tuple[Value, ...]:
    """All that is filled in for a command, so that the facts it asks for can be found first."""
    verb = step.verb
    assert isinstance(verb, Command)
    report = dict(verb.coverage or {}).get("report")
    settings = written_values(step.settings, ("dir", "env", "sandbox", "workspace", "protect"))
    touches = step.touches if isinstance(step.touches, tuple) else (step.touches,)
    output = (step.output.file, *step.output.files)
    return (*verb.argv, verb.stdin, verb.junit, report, *settings, *touches, *output)


def _answer(step: Step, ran: CommandResult) -> str:
    """Text is for the record and stays short; what is parsed is read whole."""
    if step.output.kind == "text":
        return str(ran.result["text"]).rstrip("\n")
    return ran.finished.stdout.text()


def _printed(ran: CommandResult) -> str:
    """All of it: a file is no record."""
    return ran.finished.stdout.text().rstrip("\n")


def _refused(
    host: Host,
    asked: AttemptStarted,
    reason: Reason,
    message: str,
    result: AttemptResult,
    *,
    tree: Tree | None = None,
) -> AttemptEnded:
    return attempt_ended(
        host, asked, "failed", reason, result={**result, "message": message}, tree=tree or asked.start
    )
