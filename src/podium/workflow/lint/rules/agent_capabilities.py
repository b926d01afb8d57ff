"""What a file asks of its agents: settings, tools and conversations they can do (22), and a strong enough sandbox (39)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, Final

from podium.workflow.agent_capabilities import SANDBOX_LEVELS
from podium.workflow.context import WorkflowSource
from podium.workflow.lint.analysis.assigned_agents import (
    AssignedAgent,
    agent_of,
    capabilities_of,
    players,
    type_of,
)
from podium.workflow.lint.analysis.survey import FileSurvey, StepSite
from podium.workflow.lint.rules.file_claims import changes_files, in_order
from podium.workflow.outcomes import is_wide
from podium.workflow.problems import Problem
from podium.workflow.schema.fields import known_keys
from podium.workflow.schema.file import Agent
from podium.workflow.schema.scalars import INSERT
from podium.workflow.schema.step import Step

KEYS_OF_EVERY_TYPE: Final = frozenset(known_keys(Agent))


def check(survey: FileSurvey) -> Iterator[Problem]:
    for name in survey.context.file.agents:
        yield from _settings(survey.context, name)
    for player in players(survey):
        yield from _tools(player)
        yield from _cap(player)
    lasting = [player for player in players(survey) if player.judge is None and _turns(player)]
    for player in lasting:
        yield from _lasting(player)
    yield from _at_once(lasting)


def _settings(context: WorkflowSource, agent: str) -> Iterator[Problem]:
    """Of the settings that only the agent's type has; the keys of every type have been read already."""
    own = {
        key: value
        for key, value in context.raw["agents"][agent].items()
        if key not in KEYS_OF_EVERY_TYPE and value is not None and not _is_filled_later(value)
    }
    able = capabilities_of(context, agent) if own else None
    for key, schema in () if able is None else able.settings.items():
        if key in own:
            from podium.workflow.contracts.json_schema import faults_of

            for fault in faults_of(own[key], schema):
                place = fault.path.replace("$", f"agents.{agent}.{key}", 1)
                yield context.problem(22, ("agents", agent, key), f"{place} {fault.message}")


def _is_filled_later(value: Any) -> bool:
    """Whether an expression in it is evaluated in the run."""
    if isinstance(value, str):
        return INSERT in value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(_is_filled_later, inner))


def _tools(player: AssignedAgent) -> Iterator[Problem]:
    step, role = player.site.step, player.worker.known_role
    own = step.tools if player.judge is None else None
    tools = own if own is not None else (role.tools if role is not None else None)
    if tools is None:
        return
    whose = f'role "{player.worker.role}"' if own is None else f'step "{player.site.name}"'
    fallback = step.fallback or (role.fallback if role is not None else None) or ()
    for agent in filter(None, (agent_of(player.worker), *fallback)):
        able = capabilities_of(player.site.context, agent)
        if able is not None and not able.tools:
            shown = type_of(player.site.context, agent)
            message = f"{shown} cannot enforce tools: [{', '.join(tools)}]; {whose} demands it"
            yield player.site.context.problem(22, player.path, message)


def _cap(player: AssignedAgent) -> Iterator[Problem]:
    """A sum that nobody stops at would be reserved in place of what calls really cost."""
    agent, context = agent_of(player.worker), player.site.context
    configured = context.file.agents.get(agent) if agent is not None else None
    if agent is None or configured is None or configured.max_usd is None:
        return
    able = capabilities_of(context, agent)
    if able is not None and not able.max_usd:
        message = (
            f"{type_of(context, agent)} cannot stop at a sum of money; agents.{agent}.max_usd demands it"
        )
        yield context.problem(22, player.path, message, hint="estimate: {usd: ...} says what to reserve")


def _turns(player: AssignedAgent) -> int:
    step, role = player.site.step, player.worker.known_role
    own = step.continuity if step.continuity is not None else (role.continuity if role is not None else None)
    return own or 0


def _lasting(player: AssignedAgent) -> Iterator[Problem]:
    """An old conversation remembers files as they were, which is harmless only for who does not write."""
    site, agent = player.site, agent_of(player.worker)
    place = ("continuity",) if site.step.continuity is not None else (player.key,)
    if changes_files(site, player.worker.known_role):
        message = f'"{site.name}" changes files; continuity is for roles that do not'
        yield site.problem(22, *place, message=message, hint="touches: [] forbids it to write", key=True)
    able = capabilities_of(site.context, agent) if agent is not None else None
    if agent is not None and able is not None and not able.continuity and not _resumes(site, agent):
        shown = type_of(site.context, agent)
        message = f'{shown} cannot go on in an earlier conversation; "{site.name}" demands it'
        yield site.problem(22, *place, message=message, key=True)


def _resumes(site: StepSite, agent: str) -> bool:
    configured = site.context.file.agents.get(agent)
    return configured is not None and configured.resume is not None


def _at_once(lasting: list[AssignedAgent]) -> Iterator[Problem]:
    """Two steps of one role that run at once cannot both go on in its last conversation."""
    for player in lasting:
        if _is_many(player.site.step):
            role = player.worker.role or player.worker.name
            message = (
                f'several workers of "{player.site.name}" go on in the last conversation of "{role}" at once'
            )
            yield player.site.problem(22, player.key, message=message, key=True)
            return
    for first, second in combinations(lasting, 2):
        same = first.worker.role is not None and first.worker.role == second.worker.role
        if same and first.site is not second.site and _run_at_once(first.site, second.site):
            message = (
                f'"{first.site.name}" and "{second.site.name}" run at once and go on in the last conversation '
                f'of "{first.worker.role}"'
            )
            yield second.site.problem(22, second.key, message=message, key=True)


def _is_many(step: Step) -> bool:
    listed = isinstance(step.role, tuple) or isinstance(step.agent, tuple)
    return (listed and isinstance(step.role, str)) or (step.for_each is not None and is_wide(step))


def _run_at_once(first: StepSite, second: StepSite) -> bool:
    """Whether the two stand in different branches of the innermost block that holds both."""
    ways = {site.block: site for site in first.around()}
    for site in second.around():
        other = ways.get(site.block)
        if other is not None:
            return other is not site and not in_order(site.block, other, site)
    return False


def check_sandbox(survey: FileSurvey, available: str) -> Iterator[Problem]:
    """`available` is the strongest level that this machine has."""
    best = SANDBOX_LEVELS.index(available)
    for player in players(survey):
        demanded = _demanded(player)
        if demanded is not None:
            if SANDBOX_LEVELS.index(demanded) > best:
                message = f"sandbox: {demanded} is not available; available: {available}"
                yield player.site.context.problem(39, player.path, message)
            continue
        agent = agent_of(player.worker)
        able = capabilities_of(player.site.context, agent) if agent is not None else None
        if agent is not None and able is not None and SANDBOX_LEVELS.index(able.needs) > best:
            shown = type_of(player.site.context, agent)
            message = f"{shown} with auto-approval needs at least {able.needs}; available: {available}"
            hint = "sandbox: none, if you accept that it can do whatever you can"
            yield player.site.context.problem(39, player.path, message, hint=hint)


def _demanded(player: AssignedAgent) -> str | None:
    """The level that was typed, the nearest first; `auto` leaves it to the machine."""
    role, file = player.worker.known_role, player.site.context.file
    own = (player.judge or player.site.step).sandbox
    for sandbox in (own, role.sandbox if role is not None else None, file.sandbox):
        if sandbox is not None and sandbox.level is not None:
            return None if sandbox.level == "auto" else sandbox.level
    return None
