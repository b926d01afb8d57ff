"""One attempt of an agent: asked within walls, its files taken by the host, its answer held against the contract.

What happens to an agent is a value. What is raised could not be asked at all (a path, a setting, an expression); it
becomes a value in perform.py, as for every other verb.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import anyio
from anyio import CancelScope, to_thread

from podium.attempt import network
from podium.attempt.agent import assess, usage
from podium.attempt.agent.agent_attempt import AgentAttempt
from podium.attempt.agent.recorder import write_recording
from podium.attempt.agent.resolve import NoAgent, ResolvedAgent, worker_for
from podium.attempt.agent.sessions import goes_on, keep_session, last_session
from podium.attempt.agent.stall import bounded, stalled
from podium.attempt.agent.transcript import write_question, write_story
from podium.attempt.agent.verdict import echo_of, review_schema
from podium.attempt.change_policy import globs_of
from podium.attempt.command.judge_tree import strip_agent_instructions
from podium.attempt.file_facts import known_names
from podium.attempt.host import Host
from podium.attempt.launch import build_launch, folder_of, note, sandbox_record
from podium.attempt.prompt import build
from podium.attempt.result import attempt_ended
from podium.attempt.reuse import reuse_or
from podium.attempt.workspace.ownership import Owner, give_ownership
from podium.attempt.workspace.workspace import Workspace, opened, start_of
from podium.core.events import AttemptEnded
from podium.core.expressions.templates import Value, fill_argv
from podium.core.model import Agent, Step
from podium.core.settings import written_values
from podium.core.types import Millis, Tree
from podium.credentials import key_names, read_returned_login
from podium.errors import ConfigurationError
from podium.files.inside import inside
from podium.ports.agent import AgentRequest, AgentResult, OutputParser, PriorSession, ServiceAgent, Usage
from podium.process.launch import Finished
from podium.process.output import OnOutput, StreamName
from podium.recording import with_texts
from podium.tasks.prior_results import request_key
from podium.tasks.report import AttemptResult
from podium.tasks.task import AttemptTask

SEEN: Final = 2000
"""So many things an agent was seen doing are kept for the log."""


async def work(task: AttemptTask, host: Host) -> AttemptEnded:
    asking = await asking_of(task, host)
    end = await _worked(asking)
    if end.reused:
        return end
    await to_thread.run_sync(write_story, asking, asking.work.config.get("record") or {}, end)
    if asking.story.request is not None:
        await to_thread.run_sync(write_recording, asking, asking.story.request, end)
    log = host.log_dir(asking.asked.path, asking.asked.attempt).relative_to(host.run_dir).as_posix()
    message = host.mask.text(str((end.result or {}).get("message", "")))
    more = {"message": message, "removed": dict(asking.story.removed)}
    return replace(
        end,
        result={
            **(end.result or {}),
            **{key: value for key, value in more.items() if value},
            **asking.story.walls,
            "log": log,
        },
    )


async def asking_of(task: AttemptTask, host: Host) -> AgentAttempt:
    names = await known_names(host, task.names(), _values(task.step), task.started.start)
    return AgentAttempt(host, task, names, secrets.token_hex(8))


def _values(step: Step) -> tuple[Value, ...]:
    """All of the step that may ask about files."""
    verb = step.verb
    assert isinstance(verb, Agent)
    wanted = ("dir", "env", "sandbox", "workspace", "protect", "context")
    touches = step.touches if isinstance(step.touches, tuple) else (step.touches,)
    settings = written_values(step.settings, wanted)
    return (verb.role, verb.agent, verb.model, step.output.file, *step.output.files, *settings, *touches)


async def _worked(asking: AgentAttempt) -> AttemptEnded:
    host, asked = asking.host, asking.asked
    worker = worker_for(host, asking.work.config, asking.step, asked, asking.names)
    if isinstance(worker, NoAgent):
        result: AttemptResult = {"message": worker.message}
        return attempt_ended(host, asked, "unavailable", "unavailable", result=result, tree=asked.start)
    asking.story.worker = worker
    told = await to_thread.run_sync(build.render_prompt, asking, worker)
    asking.story.system, asking.story.prompt, asking.story.removed = told.system, told.prompt, told.removed
    if goes_on(asking):
        # What it answers depends on a conversation, which another run does not have.
        return await _answered(asking, worker)
    return await reuse_or(
        host, asking.task, request_key(asked, *_asked_of(asking, worker)), lambda: _answered(asking, worker)
    )


def _asked_of(asking: AgentAttempt, worker: ResolvedAgent) -> tuple[Any, ...]:
    """All that its answer depends on, besides the trees; without what only this run can know."""
    step, story = asking.step, asking.story
    words = (
        text.replace(asking.nonce, "").replace(asking.host.run, "") for text in (story.system, story.prompt)
    )
    output = (step.output.kind, step.output.choices, fill_argv(step.output.files, asking.names))
    limits = written_values(step.settings, ("tools", "network", "env", "dir"))
    who = (worker.agent, worker.type, worker.model, worker.config)
    return ("agent", *who, *words, _schema(asking), globs_of(step, asking.names), *output, *limits)


async def _answered(asking: AgentAttempt, worker: ResolvedAgent) -> AttemptEnded:
    host, asked = asking.host, asking.asked
    if asking.story.removed:
        what = ", ".join(f"{name} ({times})" for name, times in asking.story.removed.items())
        host.on_progress(asked.path, note(f"redacted from the prompt (looks like a secret): {what}"))
    await to_thread.run_sync(write_question, asking, asking.work.config.get("record") or {})
    kind: Literal["clone", "checkout"] = "checkout" if asking.verb.judge else "clone"
    tree = await to_thread.run_sync(_judged_tree, asking) if asking.verb.judge else None
    async with opened(host, asked, asking.step, kind=kind, names=asking.names, tree=tree) as workspace:
        finished = await _run(asking, worker, workspace)
        return await assess.assess(asking, workspace, finished)


def _judged_tree(asking: AgentAttempt) -> Tree | None:
    """What a reviewer looks around in: what it judges, without what would tell it how to."""
    repository = asking.host.repository
    return (
        None
        if repository is None
        else strip_agent_instructions(repository, start_of(asking.host, repository, asking.asked))
    )


async def _run(asking: AgentAttempt, worker: ResolvedAgent, workspace: Workspace) -> Finished | None:
    """How its process ended; None for a service, which has none."""
    session = await to_thread.run_sync(last_session, asking, worker)
    request = asking.story.request = _request(asking, worker, workspace, session)
    if isinstance(worker.adapter, ServiceAgent):
        answer = await called(worker.adapter, request, asking.asked.timeout)
        result = asking.story.result = await _understood(asking, worker, answer)
        kept = partial(keep_session, asking, worker, result, home=workspace.home, patterns=())
        await to_thread.run_sync(kept)
        return None
    program, conversation = worker.adapter.prepare(request)
    asking.story.argv = program.argv
    sandbox = asking.host.sandbox_of(asking.step)
    await to_thread.run_sync(_put, workspace.home, program.files, sandbox.owner)
    launch, walls = build_launch(
        asking.host,
        asking.step,
        asking.names,
        workspace,
        argv=program.argv,
        extra_env={**_environment(asking.host, worker), **program.env},
        stdin=program.stdin,
        timeout_s=math.inf if asking.asked.timeout is None else asking.asked.timeout / 1000,
        reads=program.reads,
        network=network.network_of(asking.step, program),
        service=program.service,
        on_decision=network.decided(asking.host, asking.asked.path, asking.asked.attempt),
    )
    launch = bounded(launch, program, worker.config)
    try:
        finished = await sandbox.run(launch, walls, on_output=_listener(asking, conversation))
    finally:
        # Also if it was cancelled: the vendor may have taken the old token back.
        if program.login is not None:
            with CancelScope(shield=True):
                await to_thread.run_sync(_keep_login, asking.host, worker.type, workspace.home, program.login)
    asking.story.finished, asking.story.walls = finished, sandbox_record(sandbox, walls)
    answer = stalled(conversation.finish(finished), finished, asking.story.seen)
    result = asking.story.result = await _understood(asking, worker, answer)
    kept = partial(keep_session, asking, worker, result, home=workspace.home, patterns=program.remembers)
    await to_thread.run_sync(kept)
    return finished


def _keep_login(host: Host, kind: str, home: Path, name: str) -> None:
    content = read_returned_login(home, name)
    if content is not None:
        host.keep_login(kind, content)


async def _understood(asking: AgentAttempt, worker: ResolvedAgent, answer: AgentResult) -> AgentResult:
    """Masked as a whole: a secret may have come in two pieces, which no mask of a stream can see."""
    # In a thread: the first price that is looked up loads the table.
    priced = await to_thread.run_sync(usage.priced, answer, worker, asking.host.price_of)
    told = with_texts(priced, asking.host.mask.text)
    return replace(told, text=_whole(told.text), detail=_whole(told.detail))


def _whole(text: str) -> str:
    """JSON can spell half a character (a lone surrogate); no file, no argv and no other agent can be given one."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _listener(asking: AgentAttempt, conversation: OutputParser) -> OnOutput:
    def heard(stream: StreamName, data: bytes) -> None:
        if stream != "stdout":
            return
        for progress in conversation.feed(data):
            if len(asking.story.seen) < SEEN:
                asking.story.seen.append(progress)
            asking.host.on_progress(asking.asked.path, progress)

    return heard


def _put(home: Path, files: Mapping[str, bytes], owner: Owner | None) -> None:
    for name, content in files.items():
        place = inside(home, name)
        place.parent.mkdir(parents=True, exist_ok=True)
        # One of them may be a login; from the first byte on it is nobody else's.
        place.touch(mode=0o600)
        place.write_bytes(content)
    if files:
        give_ownership(home, owner)


def _environment(host: Host, worker: ResolvedAgent) -> dict[str, str]:
    """`agents.NAME.env`: like that of a step, a name passes on and `NAME=value` sets."""
    pairs = (str(entry).partition("=") for entry in worker.config.get("env") or ())
    return {
        name: value if sign else host.host_env[name]
        for name, sign, value in pairs
        if sign or name in host.host_env
    }


def _keys(host: Host, worker: ResolvedAgent) -> dict[str, str]:
    """The user's own keys that the adapter asks for by name, and only those."""
    found = {
        name: host.host_env[name]
        for name in key_names(worker.installed.type.credentials, worker.config)
        if host.host_env.get(name)
    }
    for name, value in found.items():
        if not host.mask.hides(value):
            # Whoever made the host did not expect it, so that it would stand in every log.
            raise ConfigurationError(
                f'agent "{worker.agent}" takes its key from {name}, which this run does not hide',
                hint=f"name the variable itself, or declare it: secrets: [{name}]",
            )
    return found


def _request(
    asking: AgentAttempt, worker: ResolvedAgent, workspace: Workspace, session: PriorSession | None
) -> AgentRequest:
    step, asked, judge = asking.step, asking.asked, asking.verb.judge
    return AgentRequest(
        agent=worker.agent,
        config=worker.config,
        path=asked.path,
        step=step.name,
        visit=asking.work.excerpt.visit,
        attempt=asked.attempt,
        prompt=asking.story.prompt,
        system=asking.story.system,
        model=worker.model,
        role=worker.role or "",
        schema=_schema(asking),
        judge=judge,
        nonce=asking.nonce,
        tree=echo_of(asked.start) if judge else "",
        must_touch=() if judge else _must_touch(asking),
        project=asking.host.project,
        root=workspace.seen,
        cwd=folder_of(step, asking.names, workspace),
        home=workspace.home,
        tools=step.settings.tools,
        lasting=goes_on(asking),
        session=session,
        env=_keys(asking.host, worker),
        walled=network.is_walled(asking.host, step),
        brokered=network.is_brokered(asking.host, step),
        login=worker.installed.login() if worker.config.get("auth") == "login" else None,
    )


def _schema(asking: AgentAttempt) -> Mapping[str, Any] | None:
    if asking.verb.judge:
        return None if asking.phrase is not None else review_schema()
    match asking.step.output.kind:
        case "schema":
            return asking.step.output.schema or {}
        case "json":
            return {}
        case _:
            return None


def _must_touch(asking: AgentAttempt) -> tuple[str, ...]:
    promised = fill_argv(asking.step.output.files, asking.names)
    if asking.verb.no_change == "pass" or promised:
        return promised
    return (globs_of(asking.step, asking.names) or (f"work/{asking.step.name}",))[:1]


TEXT_ONLY = (
    "it answers in text and cannot change files, and this step must change {what}; give the step to another agent, "
    "or write its answer with output: {{file: ...}}"
)


async def called(caller: ServiceAgent, request: AgentRequest, limit: Millis | None) -> AgentResult:
    """A cancellation from outside goes through; the end of its time is an answer."""
    if request.must_touch:
        detail = TEXT_ONLY.format(what=", ".join(request.must_touch))
        return AgentResult(trouble="unavailable", detail=detail, usage=Usage(calls=0))
    with anyio.move_on_after(math.inf if limit is None else limit / 1000):
        return await caller.call(request)
    return AgentResult(trouble="timeout", detail="its time ran out")
