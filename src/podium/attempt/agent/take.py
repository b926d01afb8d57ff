"""An attempt that a person does in the agent's own program, at a terminal, and that is judged like any other.

The workspace, the sandbox and the broker are those of the agent. The person continues where the step's last attempt ended:
with its files, and in its conversation if that was recorded. No time limit applies: a person may think for long.
"""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import anyio
from anyio import CancelScope, get_cancelled_exc_class, to_thread

from podium.attempt.agent import assess
from podium.attempt.agent.agent_attempt import AgentAttempt
from podium.attempt.agent.answer import priced_and_masked
from podium.attempt.agent.guide import unguided
from podium.attempt.agent.program import ProgramEnd, run_program
from podium.attempt.agent.request import request_of
from podium.attempt.agent.resolve import ResolvedAgent
from podium.attempt.agent.sessions import keep_session, read_session_files, session_in
from podium.attempt.agent.transcript import write_request
from podium.attempt.resources import explain_resources
from podium.attempt.taking import Taking
from podium.attempt.workspace.memory import open_memory, with_memory
from podium.attempt.workspace.workspace import Workspace, capture_change, open_workspace
from podium.core.events import AttemptEnded, AttemptTaken
from podium.core.types import MicroUsd, Tree
from podium.errors import ConfigurationError, PodiumError
from podium.git.repository import attempt_ref, commit_of, has_tree, refs, tree_of
from podium.ports.agent import AgentResult, InteractiveAgent, PriorSession, ProgramSpec, Usage
from podium.process.launch import Finished, Launch
from podium.process.run import EXIT_NOT_EXECUTABLE, EXIT_NOT_FOUND
from podium.workflow.contracts.single_json import NotOneValue, one_json

SAVE_S: Final = 2.0
"""How much of a person's work may be lost if Podium is killed."""
SAVE_SHARE: Final = 20
"""Saving takes at most one part in so many of the time."""
TERMINAL_VARIABLES: Final = ("TERM", "COLORTERM")


async def take(attempt: AgentAttempt, worker: ResolvedAgent, taking: Taking) -> AttemptEnded:
    host, started = attempt.host, attempt.started
    adapter = worker.adapter
    if attempt.verb.judge or not isinstance(adapter, InteractiveAgent):
        raise ConfigurationError(f'agent "{worker.agent}" has no program that a person can use for this step')
    taking.is_used = True
    await to_thread.run_sync(write_request, attempt, attempt.work.config.record)
    tree = await to_thread.run_sync(_tree_to_open, attempt, taking)
    async with (
        open_workspace(
            host,
            started,
            attempt.step,
            kind="clone",
            names=attempt.names,
            tree=tree,
            hidden=attempt.exchange.hidden,
        ) as opened,
        open_memory(host, started, attempt.step, attempt.exchange.memory, opened) as workspace,
    ):
        session = await to_thread.run_sync(_last_conversation, attempt, worker, taking)
        request = attempt.exchange.request = request_of(attempt, worker, workspace, session)
        taking.announce(AttemptTaken(host.now(), started.path, started.attempt, taking.by, worker.agent))
        finished = await _use_program(attempt, worker, workspace, taking, adapter, adapter.open(request))
        end = await assess.assess(attempt, workspace, finished)
        end = await with_memory(host, attempt.step, workspace, started, end)
    return end if _start_problem(finished) else replace(end, result={**(end.result or {}), "by": taking.by})


async def _use_program(
    attempt: AgentAttempt,
    worker: ResolvedAgent,
    workspace: Workspace,
    taking: Taking,
    adapter: InteractiveAgent,
    program: ProgramSpec,
) -> Finished:
    def at_terminal(launch: Launch) -> Launch:
        env = {**launch.env, **_terminal_env(attempt.host.host_env)}
        return replace(launch, env=env, terminal=taking.terminal, timeout_s=math.inf)

    async def save() -> None:
        await _keep(attempt, worker, workspace, adapter, program, None)
        # The links of the toolchain are in use.
        await capture_change(attempt.host, replace(workspace, links=()), attempt.started)

    request = attempt.exchange.request
    assert request is not None
    try:
        notice = _notice(attempt, worker, is_continued=request.session is not None)
        with unguided(attempt, f"{taking.by} does this attempt"), taking.open_terminal(notice):
            running = partial(run_program, attempt, worker, workspace, program, adjust=at_terminal)
            end = await (running() if workspace.snapshot is None else _with_saves(running, save))
    except get_cancelled_exc_class():
        # The terminal may have been closed by mistake: the work is there when the person takes the step again.
        with CancelScope(shield=True):
            await _keep(attempt, worker, workspace, adapter, program, None)
            await capture_change(attempt.host, workspace, attempt.started)
        raise
    await _keep(attempt, worker, workspace, adapter, program, end)
    return end.finished


async def _with_saves(
    running: Callable[[], Awaitable[ProgramEnd]], save: Callable[[], Awaitable[None]]
) -> ProgramEnd:
    """Run the program, and save files and conversation again and again: Podium may be killed, and its folders cleared."""

    async def keep_saving() -> None:
        pause = SAVE_S
        while True:
            await anyio.sleep(pause)
            begun = time.monotonic()
            with suppress(PodiumError, OSError):
                await save()
            # In a large tree a save takes a while.
            pause = max(SAVE_S, SAVE_SHARE * (time.monotonic() - begun))

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(keep_saving)
            end = await running()
            group.cancel_scope.cancel()
    except ExceptionGroup as failed:
        # What saving raises is suppressed, so there is exactly one.
        raise failed.exceptions[0] from None
    return end


def _terminal_env(host_env: Mapping[str, str]) -> dict[str, str]:
    """What the program has to know about the person's terminal; other processes get `dumb`."""
    return {name: host_env[name] for name in TERMINAL_VARIABLES if host_env.get(name)}


async def _keep(
    attempt: AgentAttempt,
    worker: ResolvedAgent,
    workspace: Workspace,
    adapter: InteractiveAgent,
    program: ProgramSpec,
    end: ProgramEnd | None,
) -> None:
    """Read the conversation that the program has written, as the answer and for the next person."""
    request = attempt.exchange.request
    assert request is not None
    files = await to_thread.run_sync(read_session_files, workspace.home, program.session_files)
    answer = adapter.read_conversation(files, request)
    if end is not None:
        answer = explain_resources(_with_calls(_with_value(answer), end, program), end.finished, end.policy)
        if problem := _start_problem(end.finished):
            answer = AgentResult(
                trouble="unavailable", detail=problem, usage=Usage(calls=0), cost=MicroUsd(0)
            )
    result = attempt.exchange.result = await priced_and_masked(attempt, worker, answer)
    store = partial(
        keep_session, attempt, worker, result, home=workspace.home, patterns=program.session_files
    )
    await to_thread.run_sync(store)


def _start_problem(finished: Finished) -> str:
    """Why the program did not start; empty if it did."""
    if finished.not_started is not None:
        return finished.not_started
    is_missing = finished.exit_code in (EXIT_NOT_EXECUTABLE, EXIT_NOT_FOUND)
    return "its program could not be started in the sandbox" if is_missing else ""


def _with_value(answer: AgentResult) -> AgentResult:
    try:
        return replace(answer, value=one_json(answer.text), has_value=True)
    except NotOneValue:
        return answer


def _with_calls(answer: AgentResult, end: ProgramEnd, program: ProgramSpec) -> AgentResult:
    """The usage counts only if the broker has seen exactly the calls that the conversation shows."""
    if program.service is None:
        return replace(answer, usage_incomplete=True)
    calls = end.egress.answered_calls
    if not calls:
        return replace(answer, usage=Usage(calls=0), cost=MicroUsd(0), cost_source="no calls")
    complete = calls == answer.usage.calls
    return replace(answer, usage=replace(answer.usage, calls=calls), usage_incomplete=not complete)


def _tree_to_open(attempt: AgentAttempt, taking: Taking) -> Tree | None:
    """The files that a person left in this attempt before, or those of the last attempt in the earlier run."""
    host, started = attempt.host, attempt.started
    if host.repository is None or host.is_inplace(attempt.step):
        return None
    left = commit_of(refs(host.repository), attempt_ref(host.run, started.path, started.attempt))
    if left is not None:
        return tree_of(host.repository, left)
    earlier = taking.earlier
    if earlier is None or started.attempt > 1 or earlier.tree is None or earlier.base != started.base:
        return None
    return earlier.tree if has_tree(host.repository, earlier.tree) else None


def _last_conversation(attempt: AgentAttempt, worker: ResolvedAgent, taking: Taking) -> PriorSession | None:
    sessions = (session_in(folder, worker) for folder in _log_dirs(attempt, taking))
    return next((session for session in sessions if session is not None), None)


def _log_dirs(attempt: AgentAttempt, taking: Taking) -> Iterator[Path]:
    started = attempt.started
    for number in range(started.attempt, 0, -1):
        yield attempt.host.log_dir(started.path, number)
    if taking.earlier is not None:
        yield taking.earlier.log_dir


def _notice(attempt: AgentAttempt, worker: ResolvedAgent, *, is_continued: bool) -> str:
    host, started = attempt.host, attempt.started
    level = host.sandbox_of(attempt.step).level
    log = host.log_dir(started.path, started.attempt).relative_to(host.project)
    conversation = (
        "in the agent's conversation" if is_continued else "in a new conversation, which knows the task"
    )
    return (
        f"{started.path}, attempt {started.attempt}: {worker.agent}, {conversation}; sandbox {level}\n"
        f"the task: {log}/prompt.md\n"
        "Leave the program to hand the work in; it is then judged like any attempt."
    )
