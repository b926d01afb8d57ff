"""Roles, agents and presets that do not exist (21), and workers without a prompt (20)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from podium.workflow.agent_capabilities import AGENT_WORDS
from podium.workflow.context import WorkflowSource
from podium.workflow.defaults import PRESETS
from podium.workflow.lint.analysis.assigned_agents import AgentMention, agent_mentions
from podium.workflow.lint.analysis.survey import FileSurvey, StepSite
from podium.workflow.problems import Problem, did_you_mean
from podium.workflow.schema.parts import DocPath, Retry
from podium.workflow.schema.step import Gate
from podium.workflow.workers import Worker, workers_of


def check(survey: FileSurvey) -> Iterator[Problem]:
    for mention in agent_mentions(survey):
        yield from _exists(mention)
    for context, retry, path in _retries(survey):
        yield from _preset(context, retry, path)
    for site in survey.sites:
        yield from _task(site)


def _exists(mention: AgentMention) -> Iterator[Problem]:
    """Rule 21."""
    context, name, kind = mention.context, mention.name, mention.kind
    # Roles first: looking for an agent that is not built in reads the metadata of all installed packages.
    if kind != "agent" and context.role(name) is not None:
        return
    is_agent = context.is_agent(name)
    if is_agent and kind != "role":
        return
    if kind == "role" and is_agent:
        hint = f'"{name}" is an agent; write agent: {name}'
    elif kind == "agent" and name in context.role_names:
        hint = f'"{name}" is a role; write role: {name}'
    else:
        hint = did_you_mean(name, _names(context, kind))
    noun = "role or agent" if kind == "either" else kind
    yield context.problem(21, mention.path, f'{noun} "{name}" does not exist', hint=hint)


def _names(context: WorkflowSource, kind: Literal["role", "agent", "either"]) -> tuple[str, ...]:
    roles = () if kind == "agent" else tuple(context.role_names)
    agents = () if kind == "role" else (*context.file.agents, *context.agent_types, *AGENT_WORDS)
    return (*roles, *agents)


def _retries(survey: FileSurvey) -> Iterator[tuple[WorkflowSource, Retry | str | None, DocPath]]:
    for name, role in survey.context.file.roles.items():
        yield survey.context, role.retry, ("roles", name, "retry")
    defaults = survey.context.file.defaults
    if defaults is not None:
        for each in (defaults, *defaults.steps.values()):
            yield survey.context, each.retry, each.at("retry")
    for site in survey.sites:
        for step in (site.step, *(gate for gate in site.step.gates if isinstance(gate, Gate))):
            yield site.context, step.retry, step.at("retry")


def _preset(context: WorkflowSource, retry: Retry | str | None, path: DocPath) -> Iterator[Problem]:
    """Rule 21 for the name of a retry preset."""
    presets = (*PRESETS, *context.file.retries)
    if isinstance(retry, str) and retry not in presets:
        yield context.problem(
            21, path, f'retry preset "{retry}" does not exist', hint=did_you_mean(retry, presets)
        )


def _task(site: StepSite) -> Iterator[Problem]:
    """A worker needs a prompt, its step's or its role's; an overriding component has that of its build."""
    step = site.step
    if step.verb != "agent" or site.block.part == "override" or step.prompt is not None:
        return
    if step.stdin is not None:
        return
    if not _has_broken_prompt(site) and any(map(_lacks_prompt, workers_of(site.context, step))):
        hint = "its role has none either" if step.role is not None else ""
        yield site.problem(20, message=f'"{site.name}" has no prompt', hint=hint, key=True)


def _has_broken_prompt(site: StepSite) -> bool:
    """Whether the step has a prompt that could not be read, which was already reported."""
    broken = (path[-1] for path in site.context.broken if path[:-1] == site.step.path)
    return any(str(key) == "prompt" or did_you_mean(str(key), ("prompt",)) for key in broken)


def _lacks_prompt(worker: Worker) -> bool:
    """Whether the worker certainly has no prompt; an unknown role may have one."""
    if worker.known_role is None:
        return worker.role is None
    return worker.known_role.prompt is None
