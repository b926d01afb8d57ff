"""Runs the command of a step once, in a checkout of one tree."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from anyio import to_thread

from podium.attempt.activity import CommandActivity, note_command
from podium.attempt.change_policy import globs_of
from podium.attempt.command import evidence
from podium.attempt.command.judge_tree import restore_files, with_paths
from podium.attempt.command.result import CommandResult, command_result
from podium.attempt.command.runner_reports import report_env, report_words
from podium.attempt.command.stdin import files_in, stdin_of
from podium.attempt.command.suite_command import suite_command
from podium.attempt.host import Host
from podium.attempt.launch import build_launch, sandbox_record
from podium.attempt.network import EgressLog
from podium.attempt.resources import resource_hint
from podium.attempt.workspace.setup import SetupFailed
from podium.attempt.workspace.toolchain import check_editable
from podium.attempt.workspace.workspace import Workspace, open_workspace
from podium.core.events import AttemptStarted
from podium.core.expressions.nodes import Names
from podium.core.expressions.templates import fill_argv
from podium.core.model import Command, Step
from podium.core.types import Tree
from podium.fast_dataclass import dataclass, replace
from podium.git.repository import trees
from podium.git.trees.listing import files, read_listing
from podium.git.trees.names import escape_path
from podium.git.workdir.folder import give_ownership
from podium.git.workdir.restore import restore_changed
from podium.process.launch import Finished
from podium.tasks.report import AttemptResult
from podium.views.format import first_of
from podium.workflow.test_gates.programs import gate_programs

SCRIPT: Final = "script"
STDERR: Final = "stderr.log"
SHOWN_PATHS: Final = 20


@dataclass(frozen=True, slots=True)
class CommandAttempt:
    """The data of one command attempt."""

    host: Host
    started: AttemptStarted
    step: Step
    verb: Command
    names: Names
    untouched: Tree | None
    """The tree that protected files are restored from."""
    is_gate: bool
    declared: tuple[str, ...] = ()
    """The globs by which the judged step declares what it changes."""
    claims: tuple[Mapping[str, Any], ...] = ()
    has_judge: bool = False
    accepted: tuple[str, ...] = ()
    waived: tuple[str, ...] = ()
    """As in CommandWork."""
    memory: Tree | None = None
    """What the folder of its memory holds at the start."""


@asynccontextmanager
async def open_checkout(attempt: CommandAttempt, tree: Tree | None) -> AsyncIterator[Workspace]:
    """A checkout with protected files restored, unless the step keeps its changes."""
    host = attempt.host
    protected = fill_argv(attempt.step.settings.protect, attempt.names)
    is_changed = tree is not None and attempt.untouched not in (None, tree)
    if host.repository is not None and is_changed and not keeps_changes(attempt.step, attempt.names):
        assert tree is not None
        tree = await to_thread.run_sync(restore_files, host.repository, tree, attempt.untouched, protected)
        if attempt.is_gate:
            tree = await to_thread.run_sync(_with_own_programs, attempt, tree)
    async with open_workspace(
        host, attempt.started, attempt.step, kind="checkout", names=attempt.names, tree=tree
    ) as workspace:
        if attempt.is_gate and attempt.step.settings.workspace.setup:
            await to_thread.run_sync(_undo_setup, attempt, workspace)
        # A gate runs what an agent wrote, which must not change the programs of later gates.
        is_lent = attempt.is_gate and workspace.kind == "project"
        yield replace(workspace, links=host.toolchain) if is_lent else workspace


def _undo_setup(attempt: CommandAttempt, workspace: Workspace) -> None:
    """Undo what `workspace.setup` has changed in the judged files: it may run what the judged work has put there."""
    repository, snapshot = attempt.host.repository, workspace.snapshot
    if repository is None or snapshot is None:
        return
    owner = attempt.host.sandbox_of(attempt.step).owner
    try:
        restored = restore_changed(trees(repository), workspace.folder, snapshot, owner)
    except OSError as error:
        raise SetupFailed(f"the set-up has replaced a folder of the judged files: {error}") from error
    if restored:
        paths = first_of([escape_path(path) for path in restored], SHOWN_PATHS)
        note_command(
            attempt.host, attempt.started, f"the set-up changed judged files, which were restored: {paths}"
        )


def _with_own_programs(attempt: CommandAttempt, tree: Tree) -> Tree:
    """The tree in which the programs of the gate are those from before the judged work."""
    repository, before = attempt.host.repository, attempt.untouched
    programs = gate_programs(attempt.step, attempt.declared)
    if repository is None or before is None or not programs:
        return tree
    earlier = {path for path, _ in files(read_listing(trees(repository), before))}
    return with_paths(repository, tree, before, [path for path in programs if path in earlier])


async def run_in(
    host: Host, started: AttemptStarted, step: Step, names: Names, workspace: Workspace
) -> CommandResult:
    """Runs the command of a step in a workspace. Raises what launching raises."""
    verb = step.verb
    assert isinstance(verb, Command)
    suite = suite_command(verb, names)
    argv = report_words(suite, _argv(host, step, verb, names, workspace), workspace.tmp)
    stdin = None
    if verb.stdin is not None:
        source = (verb.stdin, names, files_in(workspace.folder), host.run_dir, host.artifacts_dir)
        stdin = await to_thread.run_sync(stdin_of, *source)
    timeout_s = float("inf") if started.timeout is None else started.timeout / 1000
    launch, policy = build_launch(
        host,
        step,
        names,
        workspace,
        argv=argv,
        extra_env=report_env(suite, host, step, names, workspace.tmp),
        stdin=stdin,
        timeout_s=timeout_s,
        on_decision=EgressLog(host, started.path, started.attempt),
        plain=True,
    )
    host_env = {**launch.env, "PATH": host.host_env.get("PATH", launch.env["PATH"])}
    sandbox = host.sandbox_of(step)
    check_editable(host.project, sandbox.level, argv, host_env, verb.script or "")
    own_report = None if suite is None else suite.own_report
    evidence.delete_old_reports(verb, names, workspace.folder, *filter(None, (own_report,)))
    with CommandActivity(host, started) as activity:
        finished = await sandbox.run(launch, policy, on_output=activity.output)
    hint = resource_hint(finished, policy)
    outcome = command_result(host, argv, finished, timeout_s, hint=hint)
    stderr: AttemptResult = {}
    if finished.stderr.size:
        stderr = await to_thread.run_sync(_keep_stderr, host, started, finished)
    return replace(outcome, result={**outcome.result, **stderr, **sandbox_record(sandbox, policy)})


def _keep_stderr(host: Host, started: AttemptStarted, finished: Finished) -> AttemptResult:
    """Where the command's stderr is; the log has only stdout."""
    file = finished.stderr.path or host.log_dir(started.path, started.attempt) / STDERR
    if finished.stderr.path is None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(finished.stderr.read())
    return {"stderr_log": str(file.relative_to(host.run_dir))}


def keeps_changes(step: Step, names: Names) -> bool:
    return globs_of(step, names) != ()


def _argv(host: Host, step: Step, verb: Command, names: Names, workspace: Workspace) -> tuple[str, ...]:
    if verb.script is None:
        return fill_argv(verb.argv, names)
    # Outside the tree, so that the script is neither judged nor captured.
    file = workspace.tmp / SCRIPT
    file.write_text(verb.script, "utf-8")
    give_ownership(workspace.tmp, host.sandbox_of(step).owner)
    return (verb.shell or "bash", str(file))
