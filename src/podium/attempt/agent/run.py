"""Runs one attempt of an agent: in a sandbox, with its files captured and its answer validated by the host.

A failure of the agent is returned as a value. An error in the request (a path, a setting, an expression) is raised;
perform.py turns it into a value, as for every other verb.
"""

from __future__ import annotations

import math
import os
import shlex
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal

import anyio
from anyio import to_thread

from podium.attempt import artifacts, network
from podium.attempt.activity import prompt_lines
from podium.attempt.agent import assess
from podium.attempt.agent.agent_attempt import AgentAttempt, make_attempt, output_listener
from podium.attempt.agent.answer import priced_and_masked
from podium.attempt.agent.guide import guided, unguided
from podium.attempt.agent.packing_command import packing_output
from podium.attempt.agent.program import run_program
from podium.attempt.agent.recorder import write_recording
from podium.attempt.agent.request import request_of, schema_of
from podium.attempt.agent.resolve import NoAgent, ResolvedAgent, resolve_agent
from podium.attempt.agent.sessions import continues_session, keep_session, last_session
from podium.attempt.agent.signal import signal_of, watch_while, with_signal
from podium.attempt.agent.stall import explain_rate_limit, explain_silence, with_silence_limits
from podium.attempt.agent.take import take
from podium.attempt.agent.transcript import write_request, write_transcript
from podium.attempt.change_policy import globs_of
from podium.attempt.command.judge_tree import strip_agent_instructions, with_paths
from podium.attempt.file_facts import known_names
from podium.attempt.host import Host
from podium.attempt.launch import note
from podium.attempt.prompt import build
from podium.attempt.prompt.token_counts import model_key, note_usage
from podium.attempt.resources import explain_resources
from podium.attempt.result import attempt_ended
from podium.attempt.reuse import reuse_or
from podium.attempt.step_tools.open import offers_tools, open_tools
from podium.attempt.workspace.memory import folder_of, open_memory, tree_of_memory, with_memory
from podium.attempt.workspace.workspace import Workspace, open_workspace, start_of
from podium.context.manifest import pack_hash
from podium.core.events import AttemptEnded
from podium.core.expressions.templates import Value, fill_argv
from podium.core.model import Agent, Step
from podium.core.step_settings import written_values
from podium.core.types import Millis, Tree
from podium.errors import PathViolation
from podium.files.inside import open_inside
from podium.ports.agent import (
    AgentRequest,
    AgentResult,
    Progress,
    ReportParser,
    ServiceAgent,
    ToolServer,
    Usage,
)
from podium.process.launch import Finished, Launch
from podium.tasks.prior_results import request_key
from podium.tasks.report import AttemptResult
from podium.tasks.task import AttemptTask

MAX_REPORT_BYTES: Final = 2 * 1024 * 1024


async def work(task: AttemptTask, host: Host) -> AttemptEnded:
    attempt = await agent_attempt_of(task, host)
    with attempt.activity:
        end = await _run_or_reuse(attempt)
    if end.reused:
        return end
    await to_thread.run_sync(write_transcript, attempt, attempt.work.config.record, end)
    if attempt.exchange.request is not None:
        await to_thread.run_sync(write_recording, attempt, attempt.exchange.request, end)
    log = host.log_dir(attempt.started.path, attempt.started.attempt).relative_to(host.run_dir).as_posix()
    message = host.mask.text(str((end.result or {}).get("message", "")))
    packed = attempt.exchange.packed
    extra = {
        "message": message,
        "removed": dict(attempt.exchange.removed),
        "packed": {} if packed is None else {"hash": pack_hash(packed), "tokens": packed.tokens},
    }
    return replace(
        end,
        result={
            **(end.result or {}),
            **{key: value for key, value in extra.items() if value},
            **attempt.exchange.sandbox_facts,
            "log": log,
        },
    )


async def agent_attempt_of(task: AttemptTask, host: Host) -> AgentAttempt:
    names = await known_names(host, task.names(), _values(task.step), task.started.start)
    return make_attempt(host, task, names)


def _values(step: Step) -> tuple[Value, ...]:
    """The values of the step that may contain expressions about files."""
    verb = step.verb
    assert isinstance(verb, Agent)
    keys = ("dir", "env", "sandbox", "workspace", "protect", "context")
    touches = step.touches if isinstance(step.touches, tuple) else (step.touches,)
    settings = written_values(step.settings, keys)
    return (
        verb.role,
        verb.agent,
        verb.model,
        *(() if verb.stdin is None else (verb.stdin,)),
        *artifacts.written_output(step.output),
        *settings,
        *touches,
    )


async def _run_or_reuse(attempt: AgentAttempt) -> AttemptEnded:
    host, started = attempt.host, attempt.started
    worker = resolve_agent(host, attempt.work.config, attempt.step, started, attempt.names)
    if isinstance(worker, NoAgent):
        result: AttemptResult = {"message": worker.message}
        return attempt_ended(host, started, "unavailable", "unavailable", result=result, tree=started.start)
    attempt.exchange.worker = worker
    if attempt.step.settings.approve.patterns and not worker.installed.type.capabilities.asks:
        result = {
            "message": f"{worker.agent} cannot ask before it uses a tool, and the step has approve_tools"
        }
        return attempt_ended(host, started, "unavailable", "unavailable", result=result, tree=started.start)
    attempt.exchange.has_tools = offers_tools(attempt)
    attempt.exchange.memory = await tree_of_memory(host, attempt.task.memory)
    attempt.exchange.command_output = await packing_output(attempt)
    rendered = await to_thread.run_sync(build.render_prompt, attempt, worker)
    exchange = attempt.exchange
    exchange.system, exchange.prompt, exchange.removed = rendered.system, rendered.prompt, rendered.removed
    exchange.files, exchange.images, exchange.packed = rendered.files, rendered.images, rendered.packed
    exchange.hidden = None if isinstance(worker.adapter, ServiceAgent) else rendered.hidden
    if not attempt.work.config.record.get("prompts", True):
        attempt.activity.hide(prompt_lines(rendered.system, rendered.prompt))
    taking = host.taking
    if taking is not None and taking.takes(started):
        end = await take(attempt, worker, taking)
        return replace(end, key=request_key(started, *_request_parts(attempt, worker)))
    if continues_session(attempt):
        # The answer depends on a conversation that no other run has, so it cannot be reused.
        return await _run_in_workspace(attempt, worker)
    return await reuse_or(
        host,
        attempt.task,
        request_key(started, *_request_parts(attempt, worker)),
        lambda: _run_in_workspace(attempt, worker),
    )


def _request_parts(attempt: AgentAttempt, worker: ResolvedAgent) -> tuple[Any, ...]:
    """Everything the answer depends on besides the trees, without the values that differ from run to run."""
    step, exchange = attempt.step, attempt.exchange
    place = str(folder_of(attempt.host, attempt.started))
    prompts = (
        text.replace(attempt.nonce, "").replace(place, "").replace(attempt.host.run, "")
        for text in (exchange.system, exchange.prompt)
    )
    output = (step.output.kind, step.output.choices, fill_argv(step.output.files, attempt.names))
    limits = written_values(step.settings, ("tools", "network", "env", "dir"))
    images = tuple((image.path, sha256(image.content).hexdigest()) for image in exchange.images)
    agent = (worker.agent, worker.type, worker.model, worker.config, *images)
    files = tuple(exchange.files.items())
    parts = ("agent", *agent, *prompts, *((files,) if files else ()))
    hidden = () if exchange.hidden is None else (tuple(sorted(exchange.hidden.paths)),)
    remembered = () if exchange.memory is None else (exchange.memory,)
    return (*parts, schema_of(attempt), globs_of(step, attempt.names), *output, *limits, *remembered, *hidden)


async def _run_in_workspace(attempt: AgentAttempt, worker: ResolvedAgent) -> AttemptEnded:
    host, started = attempt.host, attempt.started
    if attempt.exchange.removed:
        rules = ", ".join(f"{name} ({count})" for name, count in attempt.exchange.removed.items())
        attempt.activity.report([note(f"redacted from the prompt (looks like a secret): {rules}")])
    await to_thread.run_sync(write_request, attempt, attempt.work.config.record)
    kind: Literal["clone", "checkout"] = "checkout" if attempt.drops_changes else "clone"
    tree = await to_thread.run_sync(_review_tree, attempt, worker) if attempt.verb.judge else None
    await host.write_files()
    async with (
        open_workspace(
            host,
            started,
            attempt.step,
            kind=kind,
            names=attempt.names,
            tree=tree,
            hidden=attempt.exchange.hidden,
        ) as opened,
        open_memory(host, started, attempt.step, attempt.exchange.memory, opened) as workspace,
    ):
        async with open_tools(attempt) as server:
            finished = await _run(attempt, worker, workspace, server)
        end = await assess.assess(attempt, workspace, finished)
        return await with_memory(host, attempt.step, workspace, started, end)


def _review_tree(attempt: AgentAttempt, worker: ResolvedAgent) -> Tree | None:
    """The tree under review, without files that a reviewer would follow as instructions, and with its own program.

    A reviewer that is a program of the tree comes from the tree that the run started from: an author must not write it.
    """
    repository, before = attempt.host.repository, attempt.work.run_start
    if repository is None:
        return None
    tree = strip_agent_instructions(repository, start_of(attempt.host, repository, attempt.started))
    command = worker.config.get("command") if worker.type == "command" else None
    words = shlex.split(command) if isinstance(command, str) else [str(word) for word in command or ()]
    named = [word.removeprefix("./") for word in words if not word.startswith(("/", "-", "../"))]
    return tree if before is None else with_paths(repository, tree, before, named)


async def _run(
    attempt: AgentAttempt, worker: ResolvedAgent, workspace: Workspace, server: ToolServer | None
) -> Finished | None:
    """How the agent's process ended; None for a service, which has no process."""
    session = await to_thread.run_sync(last_session, attempt, worker)
    request = attempt.exchange.request = request_of(attempt, worker, workspace, session, server)
    if isinstance(worker.adapter, ServiceAgent):
        attempt.activity.report([Progress("wait", worker.model or worker.agent)])
        with unguided(attempt, f"{worker.agent} answers in one call"):
            answer = (
                await call_service(worker.adapter, request, attempt.started.timeout)
                if attempt.verb.done is None
                else AgentResult(trouble="unavailable", detail=NO_SIGNAL, usage=Usage(calls=0))
            )
        result = attempt.exchange.result = await priced_and_masked(attempt, worker, answer)
        if attempt.exchange.packed is not None and not session:
            await to_thread.run_sync(_note_usage, attempt, worker, answer.usage)
        store_session = partial(keep_session, attempt, worker, result, home=workspace.home, patterns=())
        await to_thread.run_sync(store_session)
        return None
    program, parser = worker.adapter.prepare(request)
    signal = signal_of(attempt, workspace)
    on_output = output_listener(attempt, parser)
    if program.streams_progress:
        attempt.activity.announce()

    def adjust(launch: Launch) -> Launch:
        launch = replace(launch, stop=None if signal is None else signal.stop)
        launch = launch if live is None else live.attach(launch)
        return with_silence_limits(launch, program, worker.config)

    with guided(attempt, worker, program, parser, on_output) as live:
        listener = on_output if live is None else live.on_output
        running = run_program(attempt, worker, workspace, program, adjust=adjust, on_output=listener)
        end = await (running if signal is None else watch_while(running, signal, attempt))
    finished = end.finished
    if program.report is not None and isinstance(parser, ReportParser):
        parser.read_report(await to_thread.run_sync(_read_report, workspace.home, program.report))
    answer = explain_rate_limit(parser.finish(finished), end.egress.last_call)
    answer = explain_silence(answer, finished, attempt.exchange.last_progress)
    answer = explain_resources(answer, finished, end.policy)
    answer = network.name_service(answer, program.service)
    answer = answer if signal is None else with_signal(answer, signal, finished)
    result = attempt.exchange.result = await priced_and_masked(attempt, worker, answer)
    store_session = partial(
        keep_session, attempt, worker, result, home=workspace.home, patterns=program.session_files
    )
    await to_thread.run_sync(store_session)
    return finished


def _note_usage(attempt: AgentAttempt, worker: ResolvedAgent, usage: Usage) -> None:
    """What the model counted for this prompt; later packs for it are counted by that."""
    exchange = attempt.exchange
    if usage.calls != 1 or exchange.images:
        return
    with attempt.host.open_facts() as cache:
        text = f"{exchange.system or ''}{exchange.prompt}"
        note_usage(cache, model_key(worker), text, usage.input + usage.cached)


def _read_report(home: Path, name: str) -> bytes:
    """The end of the program's report; empty if there is none. Tools of the agent may have replaced the file."""
    try:
        with open_inside(home, name, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - MAX_REPORT_BYTES))
            return file.read(MAX_REPORT_BYTES)
    except (OSError, PathViolation):
        return b""


NO_SIGNAL = "it answers in text and cannot give the signal of this step; give the step to another agent"
TEXT_ONLY = (
    "it answers in text and cannot change files, and this step must change {what}; give the step to another agent, "
    "or write its answer with output: {{file: ...}}"
)


async def call_service(service: ServiceAgent, request: AgentRequest, limit: Millis | None) -> AgentResult:
    """A timeout is returned as a result; a cancellation from outside is raised."""
    if request.must_touch:
        detail = TEXT_ONLY.format(what=", ".join(request.must_touch))
        return AgentResult(trouble="unavailable", detail=detail, usage=Usage(calls=0))
    with anyio.move_on_after(math.inf if limit is None else limit / 1000):
        return await service.call(request)
    return AgentResult(trouble="timeout", detail="its time ran out")
