"""The prompt of a step: as it was sent in a run, or computed from a file without starting anything.

From a file, the steps before are rehearsed: they go well, or as a cast says, and their results are made up to fit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import anyio
from anyio import to_thread

from podium.app.query.logs import log_files
from podium.app.values import as_foreseen, assumed
from podium.attempt.agent.resolve import NoAgent, resolve_agent
from podium.attempt.agent.run import agent_attempt_of
from podium.attempt.host import Host
from podium.attempt.prompt.build import render_prompt
from podium.core.addresses import ROOT
from podium.core.events import AttemptStarted, Event
from podium.core.model import Agent, Workflow
from podium.core.state import State
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass
from podium.files.project_paths import ProjectPaths
from podium.git.repository import tree_of
from podium.simulate.run import simulate
from podium.simulate.scripted_world import ScriptedWorld
from podium.tasks.build import attempt_task
from podium.tasks.task import AttemptTask
from podium.views.run.view import RunView, steps_named
from podium.workflow.scripted.cast import NO_CAST, read_cast

BYTES_PER_TOKEN: Final = 4


@dataclass(frozen=True, slots=True)
class PromptRecord:
    step: str
    attempt: int
    run: str | None
    """None: worked out from a file."""
    role: str | None
    agent: str | None
    model: str | None
    system: str
    prompt: str

    @property
    def tokens(self) -> int:
        """An estimate: vendors count differently, and only they know."""
        return len((self.system + self.prompt).encode()) // BYTES_PER_TOKEN


def told_in_run(paths: ProjectPaths, view: RunView, step: str, attempt: int | None = None) -> PromptRecord:
    """The newest attempt of a step, or the given one."""
    path, number, files = logged_attempt(paths, view, step, attempt, "prompt.md")
    system = files.get("system.md")
    ended = files.get("attempt.json")
    facts = json.loads(ended.read_text("utf-8")) if ended is not None else {}
    return PromptRecord(
        step=path,
        attempt=number,
        run=view.run,
        role=facts.get("role"),
        agent=facts.get("agent"),
        model=facts.get("model"),
        system="" if system is None else system.read_text("utf-8"),
        prompt=files["prompt.md"].read_text("utf-8"),
    )


def logged_attempt(
    paths: ProjectPaths, view: RunView, step: str, attempt: int | None, name: str
) -> tuple[str, int, Mapping[str, Path]]:
    """The newest attempt of a step that has a file with this name, or the given one: its path, number and files."""
    files = {
        (file.step, file.attempt, file.path.name): file.path
        for file in log_files(paths, view, step)
        if file.path is not None
    }
    logged = [key for key in files if key[2] == name and attempt in (None, key[1])]
    # The name of a step also matches its judges; they are meant only by their own address.
    own = {each.path for each in steps_named(view, step)}
    matches = [key for key in logged if key[0] in own] or [key for key in logged if "#" not in key[0]]
    if not matches:
        which = f"attempt {attempt} of " if attempt else ""
        raise ConfigurationError(
            f'no {"prompt" if name == "prompt.md" else "packed context"} was kept of {which}"{step}" in run {view.run}',
            hint="it has no agent, has not begun, or `record.prompts` is off"
            if name == "prompt.md"
            else "it has no context, has not begun, or `record.inputs` is off",
        )
    path, number, _ = matches[-1]
    return path, number, {key[2]: file for key, file in files.items() if key[:2] == (path, number)}


def told_by_file(
    workflow: Workflow,
    step: str,
    *,
    inputs: Mapping[str, Any],
    cast: Path | None,
    host: Host,
) -> PromptRecord:
    state, started = first_attempt(workflow, step, inputs, cast)
    return anyio.run(_worked_out, state, started, host)


def first_attempt(
    workflow: Workflow, step: str, inputs: Mapping[str, Any], cast: Path | None
) -> tuple[State, AttemptStarted]:
    """The simulated run at the moment when an agent is first called at this step."""
    reached: list[tuple[State, AttemptStarted]] = []
    agents: dict[str, None] = {}

    def look(state: State, events: tuple[Event, ...]) -> None:
        for event in events:
            if isinstance(event, AttemptStarted) and _is_agent(state, event):
                agents[event.path] = None
                if _means(step, event.path, state):
                    reached.append((state, event))

    world = ScriptedWorld(NO_CAST if cast is None else read_cast(cast))
    simulate(as_foreseen(workflow, inputs), world, inputs=assumed(workflow, inputs), on_turn=look)
    if not reached:
        places = ", ".join(agents) or "none"
        raise ConfigurationError(
            f'no agent is asked at "{step}"', hint=f"when all goes well, agents work at: {places}"
        )
    return reached[0]


def _is_agent(state: State, event: AttemptStarted) -> bool:
    return isinstance(state.instances[event.path].place.step.verb, Agent)


def _means(step: str, path: str, state: State) -> bool:
    """A path or the end of one, the name of a step, or either of a step around it, but not of one that it judges."""
    place = state.instances[path].place  # type: ignore[index]  # a path of this state
    if step == place.step.name or _ends_with(path, step):
        return True
    while "#" not in path and place.path != ROOT:
        place = state.instances[place.parent].place
        if step == place.step.name or _ends_with(place.path, step):
            return True
    return False


def _ends_with(path: str, step: str) -> bool:
    return f"/{path}".endswith(f"/{step}")


def attempt_at_start(state: State, started: AttemptStarted, host: Host) -> AttemptTask:
    """The task on the commit that a run would start from, because the trees of a rehearsal do not exist.

    Outside of git, files are looked up in the project's folder.
    """
    tree = None if host.repository is None else tree_of(host.repository, host.base_commit)
    task = attempt_task(replace(started, start=tree, base=tree), state)
    review = task.agent_work.review
    if review is not None:
        review = replace(review, base=tree, last_round=None)
    return replace(task, work=replace(task.agent_work, run_start=tree, review=review))


async def _worked_out(state: State, started: AttemptStarted, host: Host) -> PromptRecord:
    task = await to_thread.run_sync(attempt_at_start, state, started, host)
    attempt = await agent_attempt_of(task, host)
    by_hand, config = attempt.verb.by_hand, attempt.work.config
    worker = None if by_hand else resolve_agent(host, config, attempt.step, attempt.started, attempt.names)
    if isinstance(worker, NoAgent):
        raise ConfigurationError(worker.message)
    texts = await to_thread.run_sync(render_prompt, attempt, worker)
    return PromptRecord(
        step=started.path,
        attempt=started.attempt,
        run=None,
        role=None if worker is None else worker.role,
        agent=None if worker is None else worker.agent,
        model=None if worker is None else worker.model,
        system=texts.system,
        prompt=texts.prompt,
    )
