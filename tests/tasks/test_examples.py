"""The tasks of the examples: what a step reads is in its task, in values and in prompts, and nothing else is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from podium.app.author.load import open_workflow
from podium.app.values import assumed
from podium.core.expressions.nodes import ExprError
from podium.core.model import Agent
from podium.core.queries.names import InstanceNames
from podium.core.state import State
from podium.simulate.random_world import RandomWorld
from podium.simulate.run import simulate
from podium.tasks.task import AttemptTask, Task
from podium.workflow.prompts.prompt import PromptError
from podium.workflow.prompts.render import parse_prompt, render
from tests.simulate.test_examples import EXAMPLES, project
from tests.tasks.kit import readings, sent, tasks_of

FILES = sorted(path.stem for path in (EXAMPLES / "workflows").glob("*.yaml"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project(tmp_path_factory.mktemp("examples"))


def tasks_in(folder: Path, name: str, seed: int) -> Iterator[tuple[Task, State]]:
    workflow = open_workflow(folder / "workflows" / f"{name}.yaml")
    run = simulate(workflow, RandomWorld(seed), inputs=assumed(workflow, {}))
    return tasks_of(workflow, run.events)


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("file", FILES)
def test_values_and_prompts_of_a_sent_task_are_those_of_the_state(folder: Path, file: str, seed: int) -> None:
    for task, state in tasks_in(folder, file, seed):
        for in_state, in_task in readings(task, state):
            assert in_task == in_state
        if isinstance(task, AttemptTask) and isinstance(task.step.verb, Agent):
            received = sent(task)
            assert isinstance(received, AttemptTask)
            instance = state.instances[task.started.path]
            assert written(folder, received, received.names()) == written(
                folder, task, InstanceNames(state, instance)
            )


def test_the_files_have_tasks_of_agents_and_of_commands(folder: Path) -> None:
    tasks = (task for seed in range(5) for task, _ in tasks_in(folder, "ship_change", seed))
    kinds = {type(task.work).__name__ for task in tasks if isinstance(task, AttemptTask)}
    assert {"AgentWork", "CommandWork", "LandWork"} <= kinds


def written(folder: Path, task: AttemptTask, names: Any) -> str:
    """The author's own prompt, or why it cannot be written."""
    prompt = task.agent.prompt
    if prompt is None:
        return ""
    partials = dict(task.agent_work.config.partials)
    try:
        parsed = parse_prompt(prompt.text, folder=folder, name="", partials=partials)
        return render(parsed, _Lookup(names), fact=lambda _: [])
    except (PromptError, ExprError) as error:
        return str(error)


class _Lookup(Mapping[str, Any]):
    def __init__(self, names: Any) -> None:
        self._names = names

    def __getitem__(self, name: str) -> Any:
        return self._names.lookup(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0
