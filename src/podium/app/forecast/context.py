"""What is packed into the prompt of a step: computed from a file, or as a run recorded it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread

from podium.app.forecast.prompt import attempt_at_start, first_attempt, logged_attempt
from podium.attempt.agent.agent_attempt import AgentAttempt
from podium.attempt.agent.resolve import NoAgent, resolve_agent
from podium.attempt.agent.run import agent_attempt_of
from podium.attempt.host import Host
from podium.attempt.prompt.build import render_prompt
from podium.context.manifest import Depth, manifest_of
from podium.core.events import AttemptStarted
from podium.core.model import Workflow
from podium.core.state import State
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass, replace
from podium.files.project_paths import ProjectPaths
from podium.ports.agent import ServiceAgent
from podium.views.run.view import RunView


@dataclass(frozen=True, slots=True)
class ContextRecord:
    step: str
    attempt: int
    run: str | None
    """None: computed from a file."""
    role: str | None
    agent: str | None
    reads_files: bool | None
    """Whether the agent can look up files itself; None for a run, which does not record it."""
    manifest: Mapping[str, Any]
    text: str | None
    """The section of the prompt; None for a run, whose prompt has it."""


@dataclass(frozen=True, slots=True)
class ContextOverrides:
    """What the command line sets in place of the file."""

    depth: Depth | None = None
    budget: int | None = None


def context_by_file(
    workflow: Workflow,
    step: str,
    *,
    inputs: Mapping[str, Any],
    cast: Path | None,
    host: Host,
    overrides: ContextOverrides,
) -> ContextRecord:
    """What the first attempt of the step would be given on the commit that a run would start from."""
    state, started = first_attempt(workflow, step, inputs, cast)
    return anyio.run(_computed, state, started, host, overrides)


async def _computed(
    state: State, started: AttemptStarted, host: Host, overrides: ContextOverrides
) -> ContextRecord:
    task = await to_thread.run_sync(attempt_at_start, state, started, host)
    attempt = await agent_attempt_of(task, host)
    attempt = _overridden(attempt, overrides)
    by_hand, config = attempt.verb.by_hand, attempt.work.config
    worker = None if by_hand else resolve_agent(host, config, attempt.step, attempt.started, attempt.names)
    if isinstance(worker, NoAgent):
        raise ConfigurationError(worker.message)
    rendered = await to_thread.run_sync(render_prompt, attempt, worker)
    if rendered.packed is None:
        raise ConfigurationError(
            f'"{started.path}" packs no files',
            hint="give the step or its role a context, such as context: {strategy: implementer_targeted}",
        )
    return ContextRecord(
        step=started.path,
        attempt=started.attempt,
        run=None,
        role=None if worker is None else worker.role,
        agent=None if worker is None else worker.agent,
        reads_files=worker is None or not isinstance(worker.adapter, ServiceAgent),
        manifest=manifest_of(rendered.packed),
        text=rendered.packed_text,
    )


def _overridden(attempt: AgentAttempt, overrides: ContextOverrides) -> AgentAttempt:
    step = attempt.step
    context = step.settings.context
    if overrides.depth is not None:
        context = replace(context, depth=overrides.depth)
    if overrides.budget is not None:
        context = replace(context, budget=overrides.budget)
    changed = replace(step, settings=replace(step.settings, context=context))
    return replace(attempt, task=replace(attempt.task, step=changed))


def context_in_run(
    paths: ProjectPaths, view: RunView, step: str, attempt: int | None = None
) -> ContextRecord:
    """What an attempt was given; the newest one unless its number is given."""
    path, number, files = logged_attempt(paths, view, step, attempt, "context.json")
    ended = files.get("attempt.json")
    facts = json.loads(ended.read_text("utf-8")) if ended is not None else {}
    return ContextRecord(
        step=path,
        attempt=number,
        run=view.run,
        role=(facts.get("persona") or {}).get("role"),
        agent=facts.get("agent"),
        reads_files=None,
        manifest=json.loads(files["context.json"].read_text("utf-8")),
        text=None,
    )


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """The files whose form or content differs: the path, and how the first and the second manifest have it."""
    first, second = _forms(one), _forms(other)
    for path in sorted({*first, *second}):
        if first.get(path) != second.get(path):
            yield path, first.get(path, "not packed"), second.get(path, "not packed")


def _forms(manifest: Mapping[str, Any]) -> dict[str, str]:
    forms: dict[str, list[str]] = {}
    for entry in manifest["parts"]:
        blob = f" {entry['blob']}" if entry.get("blob") else ""
        forms.setdefault(entry["path"], []).append(f"{entry['part']}: {entry['form']}{blob}")
    return {path: ", ".join(entries) for path, entries in forms.items()}
