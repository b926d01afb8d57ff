"""Warnings about agents: reviewing their own work (41), unknown prices and quotas under a limit (42)."""

from __future__ import annotations

from collections.abc import Iterator

from podium.workflow.context import WorkflowSource
from podium.workflow.lint.analysis.assigned_agents import (
    AssignedAgent,
    agent_of,
    assigned_agents,
    capabilities_of,
)
from podium.workflow.lint.analysis.survey import FileSurvey, StepSite, judged_steps
from podium.workflow.problems import Problem
from podium.workflow.schema.parts import DocPath, Limits
from podium.workflow.schema.step import Gate
from podium.workflow.workers import workers_of


def check(survey: FileSurvey) -> Iterator[Problem]:
    agents = tuple(assigned_agents(survey))
    yield from _self_review(survey, agents)
    yield from _unknown_price(survey, agents)
    yield from _unknown_window(survey, agents)


def _self_review(survey: FileSurvey, agents: tuple[AssignedAgent, ...]) -> Iterator[Problem]:
    """Without a named agent on either side, the first installed agent does both."""
    for assigned in agents:
        if assigned.judge is None:
            continue
        for author in _authors(survey, assigned):
            if author.step.verb == "agent" and _agents(author) == {_agent_name(assigned)}:
                message = f'"{_label(assigned)}" uses the same agent as "{author.name}", whose work it judges'
                hint = f"use another agent, for example review: {_other_agent(assigned)}"
                place = assigned.judge.at("review")
                yield assigned.site.context.problem(41, place, message, hint=hint, key=True, warning=True)
                break


def _authors(survey: FileSurvey, assigned: AssignedAgent) -> tuple[StepSite, ...]:
    if isinstance(assigned.judge, Gate):
        return (assigned.site,)
    return judged_steps(survey, assigned.site)


def _label(assigned: AssignedAgent) -> str:
    if isinstance(assigned.judge, Gate):
        return assigned.judge.name or assigned.worker.name
    return assigned.site.name


def _agents(site: StepSite) -> set[str]:
    return {worker.agent or "" for worker in workers_of(site.context, site.step)}


def _agent_name(assigned: AssignedAgent) -> str:
    return assigned.worker.agent or ""


def _other_agent(assigned: AssignedAgent) -> str:
    """The first agent with models of another vendor; an unnamed agent counts as the first of all."""
    context = assigned.site.context
    first, *_ = names = context.agent_types.built_in
    vendor = _vendor(context, agent_of(assigned.worker) or first)
    return next(name for name in names if _vendor(context, name) not in {"", vendor})


def _vendor(context: WorkflowSource, agent: str) -> str:
    capabilities = capabilities_of(context, agent)
    return "" if capabilities is None else capabilities.vendor


def _unknown_price(survey: FileSurvey, agents: tuple[AssignedAgent, ...]) -> Iterator[Problem]:
    """Reported once for each used agent, at its configuration."""
    context = survey.context
    limited = [
        site for site in survey.sites if site.step.limits is not None and site.step.limits.usd is not None
    ]
    if not limited and (context.file.limits is None or context.file.limits.usd is None):
        return
    for agent in dict.fromkeys(filter(None, (agent_of(assigned.worker) for assigned in agents))):
        capabilities = capabilities_of(context, agent)
        configured = context.file.agents.get(agent)
        has_price = configured is not None and configured.price is not None
        if capabilities is not None and capabilities.price == "unknown" and not has_price:
            message = f'usd cannot be enforced for "{agent}": its price is unknown'
            first = next(assigned for assigned in agents if agent_of(assigned.worker) == agent)
            own: DocPath = ("agents", agent)
            # An agent that is not configured in this file is reported where it is used.
            is_configured_here = context.position(own).file == context.position(first.path).file
            at = own if is_configured_here else first.path
            yield context.problem(42, at, message, hint="add a price to the agent", key=True, warning=True)


def _unknown_window(survey: FileSurvey, agents: tuple[AssignedAgent, ...]) -> Iterator[Problem]:
    """Reported once for each limit, with the agents that do not report how much of their quota is used."""
    context = survey.context
    limits = [("limits", "window")] if _has_window(context.file.limits) else []
    places: list[DocPath] = [
        *limits,
        *(site.step.at("limits", "window") for site in survey.sites if _has_window(site.step.limits)),
    ]
    names = dict.fromkeys(filter(None, (agent_of(assigned.worker) for assigned in agents)))
    silent = [name for name in names if not _reports_quota(context, name)]
    if silent:
        message = (
            f"window cannot be enforced for {', '.join(silent)}: how much of the quota is used is unknown"
        )
        for at in places:
            yield context.problem(42, at, message, hint="use calls, tokens or usd", key=True, warning=True)


def _has_window(limits: Limits | None) -> bool:
    return limits is not None and limits.window is not None


def _reports_quota(context: WorkflowSource, agent: str) -> bool:
    capabilities = capabilities_of(context, agent)
    return capabilities is not None and capabilities.quota
