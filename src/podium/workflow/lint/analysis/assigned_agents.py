"""Finds every place of a file that names a role or an agent, and what is known about that agent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from podium.fast_dataclass import dataclass
from podium.workflow.agent_capabilities import AUTO, HUMAN, PERSON, Capabilities
from podium.workflow.context import WorkflowSource
from podium.workflow.lint.analysis.survey import FileSurvey, StepSite
from podium.workflow.schema.file import Role
from podium.workflow.schema.parts import DocPath, Retry
from podium.workflow.schema.scalars import INSERT
from podium.workflow.schema.step import Gate, StepOrGate
from podium.workflow.workers import Worker, reviewers_of, workers_of


@dataclass(frozen=True, slots=True)
class AgentMention:
    """A name of a role, an agent, or either."""

    context: WorkflowSource
    name: str
    path: DocPath
    kind: Literal["role", "agent", "either"]


@dataclass(frozen=True, slots=True)
class AssignedAgent:
    """A worker in its step. `judge` is the step or gate that it reviews for; None if it does the work."""

    site: StepSite
    worker: Worker
    judge: StepOrGate | None = None

    @property
    def key(self) -> Literal["role", "agent", "review"]:
        if self.judge is not None:
            return "review"
        return "agent" if self.site.step.agent is not None else "role"

    @property
    def path(self) -> DocPath:
        return (self.judge or self.site.step).at(self.key)


def agent_mentions(survey: FileSurvey) -> Iterator[AgentMention]:
    """One mention for every place where a name is written; names known only at run time are omitted."""
    in_steps = (mention for site in survey.sites for mention in _mentions_in_step(site))
    return (
        mention for mention in (*_mentions_in_file(survey.context), *in_steps) if INSERT not in mention.name
    )


def _mentions_in_file(context: WorkflowSource) -> Iterator[AgentMention]:
    file = context.file
    for name, role in file.roles.items():
        at = ("roles", name)
        if role.agent is not None:
            yield AgentMention(context, role.agent, (*at, "agent"), "agent")
        for key, names in (("candidates", role.candidates), ("fallback", role.fallback)):
            for number, agent in enumerate(names or ()):
                yield AgentMention(context, agent, (*at, key, number), "agent")
        yield from _mentions_in_retry(context, role.retry)
        for gate in role.gates:
            yield from _mentions_in_gate(context, gate)
    for retry in file.retries.values():
        yield from _mentions_in_retry(context, retry)
    for gate in file.gates.values():
        yield from _mentions_in_gate(context, gate)
    if file.breaker is not None and file.breaker.ask != HUMAN:
        yield AgentMention(context, file.breaker.ask, ("breaker", "ask"), "either")


def _mentions_in_gate(context: WorkflowSource, gate: Gate | str) -> Iterator[AgentMention]:
    if isinstance(gate, Gate):
        yield from _mentions_of(context, gate.review, gate.at("review"), "either")


def _mentions_in_step(site: StepSite) -> Iterator[AgentMention]:
    step = site.step
    yield from _mentions_of(site.context, step.role, step.at("role"), "role")
    yield from _mentions_of(site.context, step.agent, step.at("agent"), "agent")
    yield from _mentions_of(site.context, step.review, step.at("review"), "either")
    yield from _mentions_of(site.context, step.fallback, step.at("fallback"), "agent")
    yield from _mentions_in_retry(site.context, step.retry)
    for gate in step.gates:
        yield from _mentions_in_gate(site.context, gate)
    for member in (step.team or {}).values():
        yield from _mentions_of(site.context, member.role, member.at("role"), "role")
        yield from _mentions_of(site.context, member.agent, member.at("agent"), "agent")


def _mentions_in_retry(context: WorkflowSource, retry: Retry | str | None) -> Iterator[AgentMention]:
    for entry in (retry.upgrade or ()) if isinstance(retry, Retry) else ():
        yield from _mentions_of(context, entry.agent, entry.at("agent"), "agent")


def _mentions_of(
    context: WorkflowSource,
    names: str | tuple[str, ...] | None,
    path: DocPath,
    kind: Literal["role", "agent", "either"],
) -> Iterator[AgentMention]:
    if isinstance(names, str):
        yield AgentMention(context, names, path, kind)
    else:
        for number, name in enumerate(names or ()):
            yield AgentMention(context, name, (*path, number), kind)


def assigned_agents(survey: FileSurvey) -> Iterator[AssignedAgent]:
    for site in survey.sites:
        if site.step.verb == "agent":
            yield from (AssignedAgent(site, worker) for worker in workers_of(site.context, site.step))
        if site.step.verb == "review":
            yield from (
                AssignedAgent(site, worker, site.step) for worker in reviewers_of(site.context, site.step)
            )
        for gate in site.gates():
            yield from (AssignedAgent(site, worker, gate) for worker in reviewers_of(site.context, gate))


def agent_of(worker: Worker) -> str | None:
    """The agent that will work, if the file names it."""
    is_named = worker.agent is not None and worker.agent != AUTO and INSERT not in worker.agent
    return worker.agent if is_named else None


def capabilities_of(context: WorkflowSource, agent: str) -> Capabilities | None:
    kind = type_of(context, agent)
    return PERSON if kind == HUMAN else context.agent_types.find(kind)


def type_of(context: WorkflowSource, agent: str) -> str:
    """The adapter type of an agent; an entry without a type has the name of one."""
    configured = context.file.agents.get(agent)
    configured_type = configured.type if configured is not None else None
    return configured_type or agent


def roles_of(site: StepSite) -> Iterator[Role]:
    """The roles that work in a step, as far as they are known."""
    workers = (
        workers_of(site.context, site.step)
        if site.step.verb == "agent"
        else reviewers_of(site.context, site.step)
    )
    yield from (worker.known_role for worker in workers if worker.known_role is not None)
