"""What a file requires of its agents: keys, tools and conversations they support (22), a strong enough sandbox (39)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from typing import Final

from podium.workflow.agent_capabilities import HUMAN, SANDBOX_LEVELS
from podium.workflow.agent_keys import COMMON_KEYS, faults_of, untrusted_fault
from podium.workflow.context import WorkflowSource, problem_at
from podium.workflow.lint.analysis.assigned_agents import (
    AssignedAgent,
    agent_of,
    assigned_agents,
    capabilities_of,
    type_of,
)
from podium.workflow.lint.analysis.survey import FileSurvey, StepSite
from podium.workflow.lint.rules.file_claims import changes_files, in_order
from podium.workflow.outcomes import runs_parallel
from podium.workflow.problems import Problem
from podium.workflow.schema.step import Step

_PATTERN: Final = re.compile(r"[A-Za-z_][\w.*-]*(\([^\n]+\))?")


def check(survey: FileSurvey) -> Iterator[Problem]:
    for name in survey.context.file.agents:
        yield from _keys(survey.context, name)
    for assigned in assigned_agents(survey):
        yield from _tools(assigned)
        yield from _approval(assigned)
    continuing = [
        assigned for assigned in assigned_agents(survey) if assigned.judge is None and _turns(assigned)
    ]
    for assigned in continuing:
        yield from _continuity(assigned)
    yield from _parallel_continuity(continuing)


def _keys(context: WorkflowSource, agent: str) -> Iterator[Problem]:
    """Checks an entry by the keys that its type declares; the reader has checked the values that Podium itself reads."""
    config, kind = context.raw["agents"][agent], type_of(context, agent)
    # Looking a type up may import its package.
    capabilities = None if COMMON_KEYS.keys() >= config.keys() else capabilities_of(context, agent)
    if capabilities is None:
        return
    untrusted = (key for key in config if (agent, key) in context.own_agent_keys)
    for fault in (
        *faults_of(agent, kind, capabilities, config),
        *filter(None, (untrusted_fault(agent, kind, key, capabilities) for key in untrusted)),
    ):
        yield problem_at(context.origin, fault)


def _tools(assigned: AssignedAgent) -> Iterator[Problem]:
    step, role = assigned.site.step, assigned.worker.known_role
    own = step.tools if assigned.judge is None else None
    tools = own if own is not None else (role.tools if role is not None else None)
    if tools is None:
        return
    owner = f'role "{assigned.worker.role}"' if own is None else f'step "{assigned.site.name}"'
    fallback = step.fallback or (role.fallback if role is not None else None) or ()
    for agent in filter(None, (agent_of(assigned.worker), *fallback)):
        capabilities = capabilities_of(assigned.site.context, agent)
        if capabilities is not None and not capabilities.tools:
            agent_type = type_of(assigned.site.context, agent)
            message = f"{agent_type} cannot enforce tools: [{', '.join(tools)}], which {owner} requires"
            yield assigned.site.context.problem(22, assigned.path, message)


def _approval(assigned: AssignedAgent) -> Iterator[Problem]:
    """An agent must be able to ask before it uses a tool, and each pattern must name a tool."""
    step, context = assigned.site.step, assigned.site.context
    if step.approve_tools is None or assigned.judge is not None:
        return
    role = assigned.worker.known_role
    fallback = step.fallback or (role.fallback if role is not None else None) or ()
    for agent in filter(None, (agent_of(assigned.worker), *fallback)):
        capabilities = capabilities_of(context, agent)
        if capabilities is None:
            continue
        kind = type_of(context, agent)
        if agent == HUMAN or not capabilities.asks:
            who = "a person" if agent == HUMAN else kind
            message = f"{who} cannot ask before a tool is used, which approve_tools needs"
            able = [name for name in context.agent_types.built_in if _asks(context, name)]
            hint = f"these can: {', '.join(able)}"
            yield assigned.site.problem(22, "approve_tools", message=message, hint=hint, key=True)
    for pattern in step.approve_tools.tools:
        if not _PATTERN.fullmatch(pattern):
            message = f'"{pattern}" is not a tool, or a tool with a pattern in brackets'
            hint = 'write "run", "run(git push*)", "edit(migrations/**)" or a name of a tool'
            yield assigned.site.problem(22, "approve_tools", message=message, hint=hint)
            return


def _asks(context: WorkflowSource, kind: str) -> bool:
    capabilities = context.agent_types.find(kind)
    return capabilities is not None and bool(capabilities.asks)


def _turns(assigned: AssignedAgent) -> int:
    step, role = assigned.site.step, assigned.worker.known_role
    own = step.continuity if step.continuity is not None else (role.continuity if role is not None else None)
    return own or 0


def _continuity(assigned: AssignedAgent) -> Iterator[Problem]:
    """An old conversation has outdated file contents, which is harmless only for agents that do not write."""
    site, agent = assigned.site, agent_of(assigned.worker)
    place = ("continuity",) if site.step.continuity is not None else (assigned.key,)
    if changes_files(site, assigned.worker.known_role):
        message = f'"{site.name}" has continuity but may change files'
        yield site.problem(
            22, *place, message=message, hint="add touches: [] so that it cannot change files", key=True
        )
    capabilities = capabilities_of(site.context, agent) if agent is not None else None
    if (
        agent is not None
        and capabilities is not None
        and not capabilities.continuity
        and not _resumes(site, agent)
    ):
        agent_type = type_of(site.context, agent)
        message = f'{agent_type} cannot continue an earlier conversation, which "{site.name}" requires'
        yield site.problem(22, *place, message=message, key=True)


def _resumes(site: StepSite, agent: str) -> bool:
    configured = site.context.file.agents.get(agent)
    return configured is not None and configured.resume is not None


def _parallel_continuity(continuing: list[AssignedAgent]) -> Iterator[Problem]:
    """Two parallel steps of one role cannot both continue its last conversation."""
    for assigned in continuing:
        if _has_parallel_workers(assigned.site.step):
            role = assigned.worker.role or assigned.worker.name
            message = f'several parallel workers of "{assigned.site.name}" would continue the same conversation of "{role}"'
            yield assigned.site.problem(22, assigned.key, message=message, key=True)
            return
    for first, second in combinations(continuing, 2):
        same = first.worker.role is not None and first.worker.role == second.worker.role
        if same and first.site is not second.site and _run_in_parallel(first.site, second.site):
            message = (
                f'"{first.site.name}" and "{second.site.name}" run in parallel and would continue the same conversation '
                f'of "{first.worker.role}"'
            )
            yield second.site.problem(22, second.key, message=message, key=True)


def _has_parallel_workers(step: Step) -> bool:
    has_list = isinstance(step.role, tuple) or isinstance(step.agent, tuple)
    return (has_list and isinstance(step.role, str)) or (step.for_each is not None and runs_parallel(step))


def _run_in_parallel(first: StepSite, second: StepSite) -> bool:
    """Whether the two are in different branches of the innermost block that contains both."""
    sites_by_block = {site.block: site for site in first.around()}
    for site in second.around():
        other = sites_by_block.get(site.block)
        if other is not None:
            return other is not site and not in_order(site.block, other, site)
    return False


def check_sandbox(survey: FileSurvey, available: str) -> Iterator[Problem]:
    """`available` is the strongest level of this machine."""
    best = SANDBOX_LEVELS.index(available)
    for assigned in assigned_agents(survey):
        required = _configured_sandbox(assigned)
        if required is not None:
            if SANDBOX_LEVELS.index(required) > best:
                message = f"sandbox: {required} is not available; available: {available}"
                yield assigned.site.context.problem(39, assigned.path, message)
            continue
        agent = agent_of(assigned.worker)
        capabilities = capabilities_of(assigned.site.context, agent) if agent is not None else None
        if agent is not None and capabilities is not None and SANDBOX_LEVELS.index(capabilities.needs) > best:
            agent_type = type_of(assigned.site.context, agent)
            message = (
                f"{agent_type} with auto-approval needs at least {capabilities.needs}; available: {available}"
            )
            hint = "type --sandbox limits to accept that it has all your permissions"
            yield assigned.site.context.problem(39, assigned.path, message, hint=hint)


def _configured_sandbox(assigned: AssignedAgent) -> str | None:
    """The nearest configured level; `auto` leaves the choice to the machine."""
    role, file = assigned.worker.known_role, assigned.site.context.file
    own = (assigned.judge or assigned.site.step).sandbox
    for sandbox in (own, role.sandbox if role is not None else None, file.sandbox):
        if sandbox is not None and sandbox.level is not None:
            return None if sandbox.level == "auto" else sandbox.level
    return None
