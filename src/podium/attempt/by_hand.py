"""A step done by a person: Podium writes the task and a clone, and checks the result like that of an agent (R006).

The folder is kept until the run is deleted, so that a crash does not lose the person's work.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from anyio import to_thread

from podium.attempt.agent import assess
from podium.attempt.agent.agent_attempt import AgentAttempt, make_attempt
from podium.attempt.change_policy import globs_of
from podium.attempt.file_facts import known_names
from podium.attempt.host import Host
from podium.attempt.prompt import build
from podium.attempt.reuse import find_prior
from podium.attempt.wait import wait_until
from podium.attempt.workspace.workspace import Workspace, clone_at_start, start_of
from podium.core.events import AttemptEnded, AttemptStarted
from podium.core.expressions.templates import fill_argv
from podium.core.types import MicroUsd
from podium.git.repository import Repository, read_outer_rules, trees
from podium.git.trees.snapshot import Snapshot, read_snapshot
from podium.ports.agent import AgentResult
from podium.tasks.prior_results import request_key
from podium.tasks.task import AttemptTask, CollectTask
from podium.views.plain import encode_utf8, visible

TASK: Final = "TASK.md"
WORK: Final = "work"


def folder_of(host: Host, started: AttemptStarted) -> Path:
    return host.run_dir / "by_hand" / started.path.replace("/", "+") / str(started.attempt)


async def prepare_manual_work(task: AttemptTask, host: Host) -> AttemptEnded | None:
    """Writes the task and its files for a person. Returns at once, or when the condition `done` of the step holds."""
    attempt = await _attempt_of(task, host)
    text = await to_thread.run_sync(_task_text, attempt)
    prior = await find_prior(host, task, _key(attempt, text))
    if prior is not None:
        return prior
    await to_thread.run_sync(_write_task, attempt, text)
    wait = attempt.verb.done
    if wait is None:
        return None
    observed = await wait_until(wait, attempt.names, attempt.work.run_branch, host)
    return await collect_manual_work(
        CollectTask(task, text=str(observed.get("text", "")), answer=observed.get("output")), host
    )


async def collect_manual_work(collect: CollectTask, host: Host) -> AttemptEnded:
    """Captures the person's work and checks it against the step's contract and its `touches`."""
    attempt = await _attempt_of(collect.task, host)
    started, text, answer = attempt.started, collect.text, collect.answer
    folder = folder_of(host, started) / WORK
    snapshot = None
    if host.repository is not None and folder.is_dir():
        snapshot = await to_thread.run_sync(_snapshot, host, host.repository, started)
    home = folder.parent
    workspace = Workspace(folder if snapshot is not None else host.project, home, home, snapshot, "clone")
    result = AgentResult(
        text=text,
        value=answer,
        has_value=answer is not None,
        cost=MicroUsd(0),
        trouble="failed" if collect.failed else None,
        detail=text or "the person who was asked could not do it" if collect.failed else "",
    )
    attempt.exchange.result = result
    key = _key(attempt, await to_thread.run_sync(_task_text, attempt))
    return replace(await assess.assess_work(attempt, workspace, result), key=key)


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
    if host.repository is not None and not (folder / WORK).exists():
        clone_at_start(host, host.repository, started, folder / WORK)
    where = f"The files are in {WORK}/, a clone of its own." if host.repository is not None else ""
    done = f"When it is done: podium approve {host.run} {started.path}"
    # A person prints it on a terminal, and agents may have written parts of it.
    (folder / TASK).write_bytes(encode_utf8(visible(f"{task}\n---\n{where}\n{done}\n")))


def _snapshot(host: Host, repository: Repository, started: AttemptStarted) -> Snapshot:
    tree = start_of(host, repository, started)
    return read_snapshot(trees(repository), tree, read_outer_rules(repository))
