"""Roles, agents and presets that do not exist (21), and workers without a prompt (20)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from podium.workflow.agent_capabilities import AGENT_WORDS
from podium.workflow.context import WorkflowSource
from podium.workflow.defaults import AGENT_RETRY, PRESETS
from podium.workflow.lint.analysis.assigned_agents import AgentMention, agent_mentions
from podium.workflow.lint.analysis.survey import FileSurvey, StepSite
from podium.workflow.problems import Problem, did_you_mean
from podium.workflow.schema.parts import DocPath, Retry, Upgrade
from podium.workflow.schema.step import Gate
from podium.workflow.workers import Worker, workers_of


def check(survey: FileSurvey) -> Iterator[Problem]:
    for mention in agent_mentions(survey):
        yield from _exists(mention)
    for context, retry, path in _retries(survey):
        yield from _preset(context, retry, path)
    yield from _upgrades(survey)
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


def _upgrades(survey: FileSurvey) -> Iterator[Problem]:
    """Rule 29 for each list of upgrades, and rule 5 for one that a step without an agent cannot use."""
    named = tuple((survey.context, retry, retry.path) for retry in survey.context.file.retries.values())
    for context, retry, _ in (*named, *_retries(survey)):
        if isinstance(retry, Retry) and retry.upgrade is not None:
            yield from _order_of_upgrades(context, retry, retry.upgrade)
    for site in survey.sites:
        written = site.step.retry
        retry = site.context.file.retries.get(written) if isinstance(written, str) else written
        if isinstance(retry, Retry) and retry.upgrade and site.step.verb not in {"agent", None}:
            hint = "only an agent can be replaced by a stronger one"
            yield site.problem(5, "retry", message=f'"{site.name}" has no agent to upgrade', hint=hint)


def _order_of_upgrades(
    context: WorkflowSource, retry: Retry, upgrades: tuple[Upgrade, ...]
) -> Iterator[Problem]:
    attempts = AGENT_RETRY.attempts if retry.attempts is None else retry.attempts
    before = 0
    for entry in upgrades:
        at = entry.at("after")
        if entry.agent is None and entry.model is None:
            yield context.problem(29, entry.path, "an upgrade needs agent or model", hint="model: opus")
        if entry.agent in AGENT_WORDS:
            yield context.problem(29, entry.at("agent"), f'"{entry.agent}" cannot take over a retry')
        if entry.after <= before:
            message = f"after: {entry.after} does not come after the upgrade before it"
            yield context.problem(29, at, message, hint="order them by after")
        elif isinstance(attempts, int) and entry.after >= attempts:
            message = f"after: {entry.after} is never reached with {attempts} attempts"
            yield context.problem(29, at, message, hint=f"attempts: {entry.after + 1}")
        before = entry.after


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
