"""Who plays: every place of a file that names a role or an agent, and what is known about that agent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from podium.core.fast_dataclass import dataclass
from podium.workflow.agent_capabilities import AUTO, HUMAN, PERSON, Capabilities
from podium.workflow.context import WorkflowSource
from podium.workflow.lint.analysis.survey import FileSurvey, StepSite
from podium.workflow.schema.file import Role
from podium.workflow.schema.parts import DocPath
from podium.workflow.schema.scalars import INSERT
from podium.workflow.schema.step import Gate, StepOrGate
from podium.workflow.workers import Worker, reviewers_of, workers_of


@dataclass(frozen=True, slots=True)
class AgentMention:
    """A name where a role, an agent, or either is meant."""

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


def mentions(survey: FileSurvey) -> Iterator[AgentMention]:
    """Each once for every place where it is written; what only the run will tell is left out."""
    found = (*_of_file(survey.context), *(one for site in survey.sites for one in _of_step(site)))
    return (mention for mention in found if INSERT not in mention.name)


def _of_file(context: WorkflowSource) -> Iterator[AgentMention]:
    file = context.file
    for name, role in file.roles.items():
        at = ("roles", name)
        if role.agent is not None:
            yield AgentMention(context, role.agent, (*at, "agent"), "agent")
        for key, names in (("candidates", role.candidates), ("fallback", role.fallback)):
            for number, agent in enumerate(names or ()):
                yield AgentMention(context, agent, (*at, key, number), "agent")
        for gate in role.gates:
            yield from _of_gate(context, gate)
    for gate in file.gates.values():
        yield from _of_gate(context, gate)
    if file.breaker is not None and file.breaker.ask != HUMAN:
        yield AgentMention(context, file.breaker.ask, ("breaker", "ask"), "either")


def _of_gate(context: WorkflowSource, gate: Gate | str) -> Iterator[AgentMention]:
    if isinstance(gate, Gate):
        yield from _named(context, gate.review, gate.at("review"), "either")


def _of_step(site: StepSite) -> Iterator[AgentMention]:
    step = site.step
    yield from _named(site.context, step.role, step.at("role"), "role")
    yield from _named(site.context, step.agent, step.at("agent"), "agent")
    yield from _named(site.context, step.review, step.at("review"), "either")
    yield from _named(site.context, step.fallback, step.at("fallback"), "agent")
    for gate in step.gates:
        yield from _of_gate(site.context, gate)
    for member in (step.team or {}).values():
        yield from _named(site.context, member.role, member.at("role"), "role")
        yield from _named(site.context, member.agent, member.at("agent"), "agent")


def _named(
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


def players(survey: FileSurvey) -> Iterator[AssignedAgent]:
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
    """The agent that will work, if the file says which."""
    known = worker.agent is not None and worker.agent != AUTO and INSERT not in worker.agent
    return worker.agent if known else None


def capabilities_of(context: WorkflowSource, agent: str) -> Capabilities | None:
    kind = type_of(context, agent)
    return PERSON if kind == HUMAN else context.agent_types.find(kind)


def type_of(context: WorkflowSource, agent: str) -> str:
    """The adapter behind a name; an entry without a type has the name of one."""
    configured = context.file.agents.get(agent)
    found = configured.type if configured is not None else None
    return found or agent


def roles_of(site: StepSite) -> Iterator[Role]:
    """The roles that a step is played by, as far as they are known."""
    found = (
        workers_of(site.context, site.step)
        if site.step.verb == "agent"
        else reviewers_of(site.context, site.step)
    )
    yield from (worker.known_role for worker in found if worker.known_role is not None)
