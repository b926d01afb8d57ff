"""A step done by a person: Podium writes the task and a worktree, and checks the result like that of an agent (R006).

The folder is kept until the run is deleted, so that a crash does not lose the person's work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from anyio import to_thread

from podium.attempt.agent import assess
from podium.attempt.agent.agent_attempt import AgentAttempt, make_attempt
from podium.attempt.change_policy import globs_of
from podium.attempt.file_facts import known_names
from podium.attempt.host import Host
from podium.attempt.persons_work import PROJECT_TREE, WORK, SignalCommit, branch_of, folder_of, work_of
from podium.attempt.prompt import build
from podium.attempt.result import attempt_ended
from podium.attempt.reuse import find_prior
from podium.attempt.wait import SignalPlace, watch_for_person
from podium.attempt.workspace.workspace import CaptureRefused, Workspace, commit_at_start, start_of
from podium.core.events import AttemptEnded, AttemptStarted
from podium.core.expressions.templates import fill_argv
from podium.core.types import MicroUsd
from podium.git.branches.user_worktree import add_worktree, is_worktree
from podium.git.repository import read_outer_rules, tree_with_uncommitted, trees
from podium.git.trees.snapshot import read_snapshot
from podium.ports.agent import AgentResult
from podium.tasks.prior_results import request_key
from podium.tasks.report import AttemptResult
from podium.tasks.task import AttemptTask, CollectTask
from podium.views.plain import encode_utf8, visible

TASK: Final = "TASK.md"
SEEN: Final = "seen.json"
"""The signals that were there before the person began."""


async def prepare_manual_work(task: AttemptTask, host: Host) -> AttemptEnded | None:
    """Writes the task and its files for a person. Returns at once, or when the condition `done` of the step holds."""
    attempt = await _attempt_of(task, host)
    text = await to_thread.run_sync(_task_text, attempt)
    prior = await find_prior(host, task, _key(attempt, text))
    if prior is not None:
        return prior
    wait, watch = attempt.verb.done, None
    # A signal comes as a command to the run, like the word of a person.
    if wait is not None and wait.what != "signal":
        folder = folder_of(host, attempt.started)
        branches = (branch_of(host, attempt.started), attempt.work.run_branch)
        place = SignalPlace(folder / WORK, branches, folder / SEEN, attempt.started, attempt.step)
        # Before the task is there: what a person does from then on counts.
        watch = await to_thread.run_sync(watch_for_person, wait, attempt.names, place, host)
    await to_thread.run_sync(_write_task, attempt, text)
    if watch is None:
        return None
    observed = await watch()
    return await collect_manual_work(
        CollectTask(
            task,
            text=str(observed.get("text", "")),
            answer=observed.get("output"),
            failed=observed.get("failed") is True,
        ),
        host,
    )


async def collect_manual_work(collect: CollectTask, host: Host) -> AttemptEnded:
    """Captures the person's work and checks it against the step's contract and its `touches`."""
    attempt = await _attempt_of(collect.task, host)
    started, text, answer = attempt.started, collect.text, collect.answer
    folder = folder_of(host, started) / WORK
    workspace = await to_thread.run_sync(_workspace, host, started, folder, _signal_commit(attempt, answer))
    if isinstance(workspace, CaptureRefused):
        result: AttemptResult = {"text": text, "message": workspace.message}
        return attempt_ended(host, started, "failed", workspace.reason, result=result, tree=started.start)
    answered = AgentResult(
        text=text,
        value=answer,
        has_value=answer is not None,
        cost=MicroUsd(0),
        trouble="failed" if collect.failed else None,
        detail=text or "the person who was asked could not do it" if collect.failed else "",
    )
    attempt.exchange.result = answered
    key = _key(attempt, await to_thread.run_sync(_task_text, attempt))
    return replace(await assess.assess_work(attempt, workspace, answered), key=key)


def _signal_commit(attempt: AgentAttempt, answer: Any) -> SignalCommit | None:
    done = attempt.verb.done
    is_commit = done is not None and done.what == "commit" and isinstance(answer, Mapping)
    return (
        SignalCommit(str(answer["commit"]), answer.get("since")) if is_commit and "commit" in answer else None
    )


def _workspace(
    host: Host, started: AttemptStarted, folder: Path, commit: SignalCommit | None
) -> Workspace | CaptureRefused:
    home, repository = folder.parent, host.repository
    if repository is None:
        return Workspace(host.project, home, home, None, "clone")
    if folder.is_dir() and not is_worktree(folder):
        # A private clone, as earlier versions made it.
        tree = start_of(host, repository, started)
        snapshot = read_snapshot(trees(repository), tree, read_outer_rules(repository))
        return Workspace(folder, home, home, snapshot, "clone")
    work = work_of(host, repository, started, folder, commit)
    return (
        work
        if isinstance(work, CaptureRefused)
        else Workspace(folder, home, home, None, "clone", captured=work)
    )


async def _attempt_of(task: AttemptTask, host: Host) -> AgentAttempt:
    step = task.step
    touches = step.touches if isinstance(step.touches, tuple) else (step.touches,)
    names = await known_names(host, task.names(), (*step.output.files, *touches), task.started.start)
    return make_attempt(host, task, names)


def _task_text(attempt: AgentAttempt) -> str:
    return build.render_prompt(attempt, None).prompt


def _key(attempt: AgentAttempt, task: str) -> str:
    """The request key of the task, which does not depend on the person who does it."""
    step = attempt.step
    words = task.replace(attempt.nonce, "").replace(attempt.host.run, "")
    output = (step.output.kind, step.output.schema, step.output.choices)
    files = fill_argv(step.output.files, attempt.names)
    return request_key(attempt.started, "by_hand", words, *output, files, globs_of(step, attempt.names))


def _write_task(attempt: AgentAttempt, task: str) -> None:
    host, started = attempt.host, attempt.started
    folder = folder_of(host, started)
    if (folder / TASK).exists():
        return  # Written before a crash; the person may have worked in it since.
    folder.mkdir(parents=True, exist_ok=True)
    where = ""
    if host.repository is not None:
        branch = branch_of(host, started)
        if not (folder / WORK).exists():
            (folder / PROJECT_TREE).write_text(tree_with_uncommitted(host.repository), "utf-8")
            commit = commit_at_start(host, host.repository, started)
            add_worktree(host.repository, commit, folder / WORK, branch)
        where = f"The files are in {WORK}/, a git worktree on the branch {branch}. Work in the project's own checkout counts if nothing was changed there."
    done = f"When it is done: podium approve {host.run} {started.path}"
    # A person prints it on a terminal, and agents may have written parts of it.
    (folder / TASK).write_bytes(encode_utf8(visible(f"{task}\n---\n{where}\n{done}\n")))
