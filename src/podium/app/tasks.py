"""A task in words: the workflow that does it, and whether its work is ready for a branch.

The commands `start-task` and `complete-task` are other spellings of `run` and `apply` for people who think in tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from podium.app.author.load import check
from podium.app.author.workflow_files import workflow_files
from podium.core.addresses import without_numbers
from podium.core.types import CONTINUING_OUTCOMES, Tree
from podium.errors import ConfigurationError
from podium.views.format import first_of
from podium.views.plain import short_id

if TYPE_CHECKING:
    from podium.core.model import Input
    from podium.views.run.view import RunView, StepView

TASK: Final = "task"
SHOWN: Final = 8


class TaskWorkflow(NamedTuple):
    file: Path
    input: str
    """The input that the words of the task are."""


class JudgedTree(NamedTuple):
    """A verdict or a gate that counts for the result of a run."""

    step: StepView
    tree: Tree | None

    @property
    def line(self) -> str:
        tree = "" if self.tree is None else f" on tree {short_id(self.tree)}"
        return f"{self.step.path}: {self.step.outcome}{tree}"


def task_input(inputs: Sequence[Input]) -> str | None:
    """The input `task`, or the only text that is required; None if there is neither."""
    texts = [each for each in inputs if each.type == "string"]
    if any(each.name == TASK for each in texts):
        return TASK
    required = [each.name for each in texts if each.required]
    return required[0] if len(required) == 1 else None


def find_task_workflow(
    root: Path, file: Path | None, *, user_dir: Path | None, settings: Mapping[str, Any]
) -> TaskWorkflow:
    """The named workflow, or the only one of the project that takes a task in words; mistakes are reported by who loads it."""
    if file is not None:
        workflow = check(file, user_dir=user_dir, settings=settings).workflow
        name = TASK if workflow is None else task_input(workflow.inputs)
        if name is None:
            raise ConfigurationError(
                f"{file} has no input that takes the task", hint="declare it: inputs: {task: string}"
            )
        return TaskWorkflow(file, name)
    candidates = [
        TaskWorkflow(root / each, name)
        for each in workflow_files(root)
        if (name := _input_of(root / each, user_dir, settings)) is not None
    ]
    if len(candidates) == 1:
        return candidates[0]
    names = [str(each.file.relative_to(root)) for each in candidates]
    fact = (
        f"{len(candidates)} workflows of this project take a task"
        if candidates
        else "no workflow of this project takes a task"
    )
    hint = (
        f"name one: --workflow FILE, one of {first_of(names, SHOWN)}"
        if candidates
        else "podium init writes a first one"
    )
    raise ConfigurationError(fact, hint=hint)


def _input_of(file: Path, user_dir: Path | None, settings: Mapping[str, Any]) -> str | None:
    workflow = check(file, user_dir=user_dir, settings=settings).workflow
    return None if workflow is None else task_input(workflow.inputs)


def judged_trees(view: RunView) -> tuple[JudgedTree, ...]:
    """The newest result of each gate, review and approval, with the tree that it judged."""
    newest: dict[str, JudgedTree] = {}
    for step in view.steps:
        if step.verdict is not None or _is_gate(step):
            tree = step.tree if step.verdict is None else step.verdict.tree
            newest[without_numbers(step.path)] = JudgedTree(step, tree)
    return tuple(newest.values())


def _is_gate(step: StepView) -> bool:
    return "#" in step.path.rpartition("/")[0] and step.worked


def faults_of(view: RunView) -> Iterator[str]:
    """Why the work of a run is not complete; nothing if it is."""
    if view.status != "passed":
        yield f"run {view.run} is {view.status}"
    for judged in judged_trees(view):
        if judged.step.stale:
            yield f"{judged.step.path} judged a tree that has changed since"
        elif judged.step.outcome is not None and judged.step.outcome not in CONTINUING_OUTCOMES:
            yield f"{judged.step.path} ended {judged.step.outcome}"


def task_of(view: RunView) -> str | None:
    """The words of the task that a run was started with."""
    words = view.inputs.get(TASK)
    return words if isinstance(words, str) and words else None
