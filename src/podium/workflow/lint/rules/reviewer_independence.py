"""Warnings about agents: one that judges its own work (41), one whose price nobody knows (42)."""

from __future__ import annotations

from collections.abc import Iterator

from podium.workflow.context import WorkflowSource
from podium.workflow.lint.analysis.assigned_agents import AssignedAgent, agent_of, capabilities_of, players
from podium.workflow.lint.analysis.survey import FileSurvey, StepSite, judged_steps
from podium.workflow.problems import Problem
from podium.workflow.schema.parts import DocPath
from podium.workflow.schema.step import Gate
from podium.workflow.workers import workers_of


def check(survey: FileSurvey) -> Iterator[Problem]:
    cast = tuple(players(survey))
    yield from _same_mind(survey, cast)
    yield from _no_ceiling(survey, cast)


def _same_mind(survey: FileSurvey, cast: tuple[AssignedAgent, ...]) -> Iterator[Problem]:
    """Where neither says which agent plays, both are played by the same: the first that is installed."""
    for player in cast:
        if player.judge is None:
            continue
        for author in _authors(survey, player):
            if author.step.verb == "agent" and _agents(author) == {_mind(player)}:
                message = f'"{_label(player)}" is done by the agent that wrote "{author.name}"'
                hint = f"review: {_other(player)} brings a second mind"
                place = player.judge.at("review")
                yield player.site.context.problem(41, place, message, hint=hint, key=True, warning=True)
                break


def _authors(survey: FileSurvey, player: AssignedAgent) -> tuple[StepSite, ...]:
    if isinstance(player.judge, Gate):
        return (player.site,)
    return judged_steps(survey, player.site)


def _label(player: AssignedAgent) -> str:
    if isinstance(player.judge, Gate):
        return player.judge.name or player.worker.name
    return player.site.name


def _agents(site: StepSite) -> set[str]:
    return {worker.agent or "" for worker in workers_of(site.context, site.step)}


def _mind(player: AssignedAgent) -> str:
    return player.worker.agent or ""


def _other(player: AssignedAgent) -> str:
    """The first agent with models of another vendor; a player without a name is the first agent of all."""
    context = player.site.context
    first, *_ = names = context.agent_types.built_in
    vendor = _vendor(context, agent_of(player.worker) or first)
    return next(name for name in names if _vendor(context, name) not in {"", vendor})


def _vendor(context: WorkflowSource, agent: str) -> str:
    able = capabilities_of(context, agent)
    return "" if able is None else able.vendor


def _no_ceiling(survey: FileSurvey, cast: tuple[AssignedAgent, ...]) -> Iterator[Problem]:
    """Told once for each agent that is used, where it is configured."""
    context = survey.context
    limited = [
        site for site in survey.sites if site.step.limits is not None and site.step.limits.usd is not None
    ]
    if not limited and (context.file.limits is None or context.file.limits.usd is None):
        return
    for agent in dict.fromkeys(filter(None, (agent_of(player.worker) for player in cast))):
        able = capabilities_of(context, agent)
        configured = context.file.agents.get(agent)
        priced = configured is not None and configured.price is not None
        if able is not None and able.price == "unknown" and not priced:
            message = f'usd cannot be enforced for "{agent}": its price is unknown'
            first = next(player for player in cast if agent_of(player.worker) == agent)
            own: DocPath = ("agents", agent)
            # An agent that nobody here configured is pointed at where it is used.
            is_ours = context.position(own).file == context.position(first.path).file
            at = own if is_ours else first.path
            yield context.problem(42, at, message, hint="give the agent a price", key=True, warning=True)
