"""Roles, agents and presets that exist (21), and workers that are told what to do (20)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from podium.workflow.agent_capabilities import AGENT_WORDS
from podium.workflow.context import WorkflowSource
from podium.workflow.defaults import PRESETS
from podium.workflow.lint.analysis.assigned_agents import AgentMention, mentions
from podium.workflow.lint.analysis.survey import FileSurvey, StepSite
from podium.workflow.problems import Problem, did_you_mean
from podium.workflow.schema.parts import DocPath, Retry
from podium.workflow.schema.step import Gate
from podium.workflow.workers import Worker, workers_of


def check(survey: FileSurvey) -> Iterator[Problem]:
    for mention in mentions(survey):
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
    what = "role or agent" if kind == "either" else kind
    yield context.problem(21, mention.path, f'no {what} "{name}"', hint=hint)


def _names(context: WorkflowSource, kind: Literal["role", "agent", "either"]) -> tuple[str, ...]:
    roles = () if kind == "agent" else tuple(context.role_names)
    agents = () if kind == "role" else (*context.file.agents, *context.agent_types, *AGENT_WORDS)
    return (*roles, *agents)


def _retries(survey: FileSurvey) -> Iterator[tuple[WorkflowSource, Retry | str | None, DocPath]]:
    for name, role in survey.context.file.roles.items():
        yield survey.context, role.retry, ("roles", name, "retry")
    for site in survey.sites:
        for step in (site.step, *(gate for gate in site.step.gates if isinstance(gate, Gate))):
            yield site.context, step.retry, step.at("retry")


def _preset(context: WorkflowSource, retry: Retry | str | None, path: DocPath) -> Iterator[Problem]:
    """The name of a preset is looked up like that of a role."""
    known = (*PRESETS, *context.file.retries)
    if isinstance(retry, str) and retry not in known:
        yield context.problem(21, path, f'no retry preset "{retry}"', hint=did_you_mean(retry, known))


def _task(site: StepSite) -> Iterator[Problem]:
    """A worker needs a prompt, its step's or its role's. A component that overrides has that of its build."""
    step = site.step
    if step.verb != "agent" or site.block.part == "override" or step.prompt is not None:
        return
    if not _is_misspelled(site) and any(map(_is_idle, workers_of(site.context, step))):
        hint = "neither has its role" if step.role is not None else ""
        yield site.problem(20, message=f'"{site.name}" has no prompt', hint=hint, key=True)


def _is_misspelled(site: StepSite) -> bool:
    """Whether a prompt is there but could not be read; that was told already."""
    here = site.step.path
    lost = (path[-1] for path in site.context.broken if path[:-1] == here)
    return any(str(key) == "prompt" or did_you_mean(str(key), ("prompt",)) for key in lost)


def _is_idle(worker: Worker) -> bool:
    """A role that does not exist, or that only the run will tell, may well bring a prompt."""
    if worker.known_role is None:
        return worker.role is None
    return worker.known_role.prompt is None
