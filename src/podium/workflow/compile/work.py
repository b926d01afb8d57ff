"""Compiles steps that do work: agents alone or in a list, commands, git, and waiting."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, cast

from podium.core.expressions.nodes import Node
from podium.core.expressions.templates import Value
from podium.core.model import Agent, Human, Members, Step, TeamMember
from podium.core.policy import NO_LIMITS, Limits, Oversight, Retry
from podium.core.step_settings import Prompt
from podium.workflow.compile import policy
from podium.workflow.compile.gates import compile_gates, panel
from podium.workflow.compile.leaves import command, git, wait
from podium.workflow.compile.settings import network, output, parameters, settings
from podium.workflow.compile.step_defaults import retry_layers, timeout
from podium.workflow.compile.values import CompileContext
from podium.workflow.defaults import (
    AGENT_RETRY,
    AGENT_TIMEOUT,
    COMMAND_TIMEOUT,
    LAST_WORD,
    OTHER_RETRY,
    TEAM_MESSAGES,
)
from podium.workflow.schema.file import Role
from podium.workflow.schema.step import Step as RawStep
from podium.workflow.schema.step import TeamMember as RawMember
from podium.workflow.workers import Worker, workers_of

HUMAN: Final = "human"
MEMBER_QUESTION: Final = Prompt("{{ message.sender }} asks you: {{ message.question }}")
"""What a person who is a member of a team is asked."""
TURN_QUESTION: Final = Prompt("{{ message.sender }}: {{ message.question }}\n\n({{ message.turn }})")
"""A turn of a conversation, as the person gets it."""


def agent_step(context: CompileContext, name: str, raw: RawStep) -> Step:
    """One worker, or a scope of several workers with the same task."""
    workers = workers_of(context.source, raw)
    if not raw.has_list:
        return worker_step(context, name, raw, workers[0])
    members = tuple(worker_step(context, worker.name, raw, worker, member=True) for worker in workers)
    return Step(
        name=name,
        verb=Members(
            members,
            *_rule_and_join(raw),
            cancels_rest=raw.cancel is not None and raw.for_each is None,
            panel=panel(context, raw),
            in_turn=any(member.settings.context.earlier == "all" for member in members),
        ),
        retry=replace(OTHER_RETRY, visits=members[0].retry.visits),
        has_worker=True,
    )


def _rule_and_join(raw: RawStep) -> tuple[Any, Any]:
    """`pass` and `join` of the members; in a loop both keys apply to the loop."""
    if raw.for_each is not None:
        return "all", "discard"
    return raw.pass_ or "all", raw.join or "discard"


def worker_step(
    context: CompileContext, name: str, raw: RawStep, worker: Worker, *, member: bool = False
) -> Step:
    role = worker.known_role
    verb = _agent(context, raw, worker)
    return Step(
        name=name,
        verb=replace(verb, member=worker.name if member else None),
        gates=compile_gates(context, raw, role),
        retry=_agent_retry(context, raw, role),
        timeout=timeout(context, raw, role, _agent_timeout(verb)),
        output=output(context, raw, role),
        touches=touches(context, raw, role),
        memory=raw.memory or "",
        repeatable=is_repeatable(context, raw, role),
        has_worker=True,
        parameters=parameters(context, raw, role),
        description=raw.description,
        line=context.line(raw.path),
        settings=settings(context, raw, role),
    )


def _agent_timeout(verb: Agent) -> Any:
    """The default timeout; manual work has none."""
    return None if verb.by_hand else AGENT_TIMEOUT


def _agent(context: CompileContext, raw: RawStep, worker: Worker) -> Agent:
    role = worker.known_role
    model = raw.model or (role.model if role is not None else None)
    fallback = raw.fallback or (role.fallback if role is not None else None)
    continuity = raw.continuity if raw.continuity is not None else (role.continuity if role else None)
    return Agent(
        role=context.value(worker.role, raw.at("role")),
        agent=context.value(worker.agent, raw.at("agent")),
        model=context.value(model, raw.at("model")),
        prompt=None if raw.stdin is not None else _prompt(context, raw, role),
        stdin=context.value(raw.stdin, raw.at("stdin")),
        fallback=fallback or (),
        estimate=policy.estimate(context, raw.estimate, worker.agent, has_fallback=bool(fallback)),
        by_hand=worker.agent == HUMAN,
        continuity=continuity or 0,
        no_change=_no_change(context, raw, role),
        team=tuple(_team_member(context, name, member) for name, member in (raw.team or {}).items()),
        done=wait(context, raw.done) if raw.done is not None else None,
    )


def _prompt(context: CompileContext, raw: RawStep, role: Role | None) -> Prompt | None:
    if raw.prompt is not None:
        return context.prompt(raw.prompt, raw.at("prompt"))
    if role is not None and role.prompt is not None:
        return context.prompt(role.prompt, role.at("prompt"))
    return None


def _no_change(context: CompileContext, raw: RawStep, role: Role | None) -> Any:
    """What the step says, else its role; otherwise it fails if the worker declares files to touch and changes none."""
    stated = raw.no_change or (role.no_change if role is not None else None)
    if stated is not None:
        return stated
    declared = raw.touches if raw.touches is not None else (role.touches if role is not None else None)
    return "fail" if declared or (declared is None and context.claim is not None) else "pass"


def _team_member(context: CompileContext, name: str, raw: RawMember) -> TeamMember:
    step = raw.step
    worker = workers_of(context.source, step)[0]
    if worker.agent == HUMAN:
        prompt = TURN_QUESTION if raw.converses else MEMBER_QUESTION
        show = ("conversation",) if raw.converses else ()
        person = Human(prompt, Oversight(level="human", show=show), answers=True)
        question = Step(name=name, verb=person, timeout=timeout(context, step, None, None))
        until = (raw.until or LAST_WORD) if raw.converses else ""
        return TeamMember(question, raw.asks, raw.when_done, until, raw.turns or 0)
    # Like a reviewer, a member that declares no files only looks and answers.
    compiled = worker_step(context, name, step, worker)
    # Whoever is asked may find that nothing has to be changed.
    verb = replace(cast("Agent", compiled.verb), no_change="pass")
    compiled = compiled._replace(verb=verb, limits=worker_limits(context, step), has_worker=False)
    if compiled.touches is None:
        compiled = compiled._replace(touches=())
    return TeamMember(compiled, raw.asks, raw.when_done)


def worker_limits(context: CompileContext, raw: RawStep) -> Limits:
    """The limits of a step's roles, and on top of them its own; a team has a limit on messages in any case."""
    roles = [worker.known_role for worker in workers_of(context.source, raw)] if raw.verb == "agent" else []
    base = NO_LIMITS
    for role in roles:
        base = policy.limits(context, role.limits if role is not None else None, base)
    limits = policy.limits(context, raw.limits, base)
    return replace(limits, messages=TEAM_MESSAGES) if raw.team and limits.messages is None else limits


def touches(context: CompileContext, raw: RawStep, role: Role | None) -> tuple[Value, ...] | Node | None:
    """The step's own globs, else the claim of the component it builds, else the role's; None if undeclared."""
    if raw.touches is not None:
        return context.globs(raw.touches, raw.at("touches"))
    if context.claim is not None:
        return context.claim
    if role is not None and role.touches is not None:
        return context.globs(role.touches, role.at("touches"))
    return None


def is_repeatable(context: CompileContext, raw: RawStep, role: Role | None = None) -> bool:
    """Whether the step may be run again after a crash in the middle of its effect."""
    if raw.recovery is not None:
        return raw.recovery == "rerun"
    pushes = raw.git is not None and raw.git.push is not None
    return not (raw.secrets or network(context, raw, role) or pushes)


def _agent_retry(context: CompileContext, raw: RawStep, role: Role | None) -> Retry:
    layers = retry_layers(context, raw, role, is_worker=True)
    return policy.with_exhausted_default(context, policy.retry(context, layers, AGENT_RETRY, upgrades=True))


def command_step(context: CompileContext, name: str, raw: RawStep) -> Step:
    return Step(
        name=name,
        verb=command(context, raw),
        gates=compile_gates(context, raw),
        retry=policy.retry(context, retry_layers(context, raw), OTHER_RETRY),
        timeout=timeout(context, raw, None, COMMAND_TIMEOUT),
        output=output(context, raw),
        touches=() if raw.touches is None else context.globs(raw.touches, raw.at("touches")),
        memory=raw.memory or "",
        repeatable=is_repeatable(context, raw),
        settings=settings(context, raw),
    )


def git_step(context: CompileContext, name: str, raw: RawStep) -> Step:
    assert raw.git is not None
    return Step(
        name=name,
        verb=git(context, raw.git),
        gates=compile_gates(context, raw),
        retry=policy.retry(context, retry_layers(context, raw), OTHER_RETRY),
        timeout=context.duration(raw.timeout, raw.at("timeout")),
        touches=(),
        repeatable=is_repeatable(context, raw),
        settings=settings(context, raw),
    )


def wait_step(context: CompileContext, name: str, raw: RawStep) -> Step:
    assert raw.wait is not None
    return Step(
        name=name,
        verb=wait(context, raw.wait),
        retry=policy.retry(context, retry_layers(context, raw), OTHER_RETRY),
        timeout=context.duration(raw.timeout, raw.at("timeout")),
        output=output(context, raw),
        touches=(),
        repeatable=is_repeatable(context, raw),
        settings=settings(context, raw),
    )
