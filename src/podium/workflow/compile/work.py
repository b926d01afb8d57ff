"""Steps that do something: agents alone or in a list, commands, git, and waiting."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from podium.core.expressions.nodes import Node
from podium.core.expressions.templates import Value
from podium.core.model import Agent, Members, Prompt, Step, TeamMember
from podium.core.policy import Retry
from podium.workflow.compile import policy
from podium.workflow.compile.gates import compile_gates
from podium.workflow.compile.leaves import command, git, retry_layers, wait
from podium.workflow.compile.settings import network, output, parameters, settings
from podium.workflow.compile.values import CompileContext
from podium.workflow.defaults import AGENT_RETRY, AGENT_TIMEOUT, COMMAND_TIMEOUT, OTHER_RETRY
from podium.workflow.schema import parts
from podium.workflow.schema.file import Role
from podium.workflow.schema.step import Step as RawStep
from podium.workflow.workers import Worker, workers_of


def agent_step(site: CompileContext, name: str, raw: RawStep) -> Step:
    """One worker, or a scope of several that are given the same task."""
    workers = workers_of(site.context, raw)
    if not (isinstance(raw.role, tuple) or isinstance(raw.agent, tuple)):
        return worker_step(site, name, raw, workers[0])
    members = tuple(worker_step(site, worker.name, raw, worker, member=True) for worker in workers)
    return Step(
        name=name,
        verb=Members(members, *_rule_and_join(raw)),
        retry=replace(OTHER_RETRY, visits=members[0].retry.visits),
        has_worker=True,
    )


def _rule_and_join(raw: RawStep) -> tuple[Any, Any]:
    """In a loop both keys speak about the loop."""
    if raw.for_each is not None:
        return "all", "discard"
    return raw.pass_ or "all", raw.join or "discard"


def worker_step(
    site: CompileContext, name: str, raw: RawStep, worker: Worker, *, member: bool = False
) -> Step:
    role = worker.known_role
    verb = _agent(site, raw, worker)
    return Step(
        name=name,
        verb=replace(verb, member=worker.name if member else None),
        gates=compile_gates(site, raw, role),
        retry=_agent_retry(site, raw, role),
        timeout=raw.timeout or (role.timeout if role is not None else None) or _agent_timeout(verb),
        output=output(site, raw, role),
        touches=touches(site, raw, role),
        repeatable=is_repeatable(site, raw, role),
        has_worker=True,
        parameters=parameters(site, raw, role),
        description=raw.description,
        line=site.line(raw.path),
        settings=settings(site, raw, role),
    )


def _agent_timeout(verb: Agent) -> Any:
    """A person who works by hand is waited for like any other."""
    return None if verb.by_hand else AGENT_TIMEOUT


def _agent(site: CompileContext, raw: RawStep, worker: Worker) -> Agent:
    role = worker.known_role
    model = raw.model or (role.model if role is not None else None)
    fallback = raw.fallback or (role.fallback if role is not None else None)
    continuity = raw.continuity if raw.continuity is not None else (role.continuity if role else None)
    return Agent(
        role=site.value(worker.role, raw.at("role")),
        agent=site.value(worker.agent, raw.at("agent")),
        model=site.value(model, raw.at("model")),
        prompt=_prompt(site, raw, role),
        fallback=fallback or (),
        estimate=policy.estimate(site, raw.estimate, worker.agent),
        by_hand=worker.agent == "human",
        continuity=continuity or 0,
        no_change=raw.no_change or _no_change(site, raw, role),
        team=tuple(_team_member(site, name, member) for name, member in (raw.team or {}).items()),
        done=wait(site, raw.done) if raw.done is not None else None,
    )


def _prompt(site: CompileContext, raw: RawStep, role: Role | None) -> Prompt | None:
    if raw.prompt is not None:
        return site.prompt(raw.prompt, raw.at("prompt"))
    if role is not None and role.prompt is not None:
        return site.prompt(role.prompt, role.at("prompt"))
    return None


def _no_change(site: CompileContext, raw: RawStep, role: Role | None) -> Any:
    """Who declares what it will touch and touches nothing has not done its work."""
    declared = raw.touches if raw.touches is not None else (role.touches if role is not None else None)
    return "fail" if declared or (declared is None and site.claim is not None) else "pass"


def _team_member(site: CompileContext, name: str, raw: parts.TeamMember) -> TeamMember:
    return TeamMember(name, raw.role, raw.agent, raw.asks, site.values(raw.touches, raw.at("touches")))


def touches(site: CompileContext, raw: RawStep, role: Role | None) -> tuple[Value, ...] | Node | None:
    """The step's own, else the claim of the component it builds, else the role's; None is undeclared."""
    if raw.touches is not None:
        return site.globs(raw.touches, raw.at("touches"))
    if site.claim is not None:
        return site.claim
    if role is not None and role.touches is not None:
        return site.globs(role.touches, role.at("touches"))
    return None


def is_repeatable(site: CompileContext, raw: RawStep, role: Role | None = None) -> bool:
    """Whether a crash in mid-effect may simply be followed by the same again."""
    if raw.recovery is not None:
        return raw.recovery == "rerun"
    pushes = raw.git is not None and raw.git.push is not None
    return not (raw.secrets or network(site, raw, role) or pushes)


def _agent_retry(site: CompileContext, raw: RawStep, role: Role | None) -> Retry:
    return policy.exhausted_default(site, policy.retry(site, retry_layers(raw, role), AGENT_RETRY))


def command_step(site: CompileContext, name: str, raw: RawStep) -> Step:
    return Step(
        name=name,
        verb=command(site, raw),
        gates=compile_gates(site, raw),
        retry=policy.retry(site, retry_layers(raw), OTHER_RETRY),
        timeout=raw.timeout or COMMAND_TIMEOUT,
        output=output(site, raw),
        touches=() if raw.touches is None else site.globs(raw.touches, raw.at("touches")),
        repeatable=is_repeatable(site, raw),
        settings=settings(site, raw),
    )


def git_step(site: CompileContext, name: str, raw: RawStep) -> Step:
    assert raw.git is not None
    return Step(
        name=name,
        verb=git(site, raw.git),
        gates=compile_gates(site, raw),
        retry=policy.retry(site, retry_layers(raw), OTHER_RETRY),
        timeout=raw.timeout,
        touches=(),
        repeatable=is_repeatable(site, raw),
        settings=settings(site, raw),
    )


def wait_step(site: CompileContext, name: str, raw: RawStep) -> Step:
    assert raw.wait is not None
    return Step(
        name=name,
        verb=wait(site, raw.wait),
        retry=policy.retry(site, retry_layers(raw), OTHER_RETRY),
        timeout=raw.timeout,
        output=output(site, raw),
        touches=(),
        repeatable=is_repeatable(site, raw),
        settings=settings(site, raw),
    )
