"""Which names a task holds: what its step reads, whole or in part, with what cannot be read said as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podium.core.effects import RunAttempt
from podium.core.expressions.nodes import ExprError, MissingValue, NeedFact, TooBig, WrongType
from podium.core.expressions.templates import fill
from podium.core.state import State
from podium.tasks.build import task_of
from podium.tasks.task import AttemptTask
from podium.tasks.task_json import encode
from podium.tasks.task_names import Failure, TaskNames
from podium.workflow.expressions.parser import parse_expression
from tests.attempt.runs import bench
from tests.git.kit import Project
from tests.tasks.kit import sent

STEPS = """
inputs: {which: string}
roles:
  helper: {agent: scripted, prompt: "{{ with.there }}", with: {there: unknown}}
steps:
  skipped: {run: [ls], when: "1 > 2"}
  first: {run: [printf, '{"a": {"b": 1}, "c": [2]}'], output: json}
  it: STEP
"""


def task_at(project: Project, tmp_path: Path, step: str) -> AttemptTask:
    """The task of the step `it`, as another process gets it."""
    tasks: list[AttemptTask] = []

    def before(effect: object, state: State) -> None:
        if isinstance(effect, RunAttempt) and effect.started.path == "it":
            task = task_of(effect, state)
            assert task is not None
            received = sent(task)
            assert isinstance(received, AttemptTask)
            tasks.append(received)

    played = bench(project, tmp_path, STEPS.replace("STEP", step))
    played.before = before
    played.play({"which": "first"})
    return tasks[0]


def read(names: TaskNames, text: str) -> Any:
    return fill(parse_expression(text), names)


def test_only_the_part_of_a_result_that_is_read_is_sent(project: Project, tmp_path: Path) -> None:
    task = task_at(project, tmp_path, '{run: [echo, "${{ steps.first.output.a.b }}"]}')

    values = encode(task.values)["listed"]
    assert values["steps"]["listed"]["first"]["listed"]["output"]["listed"] == {
        "a": {"type": "NameValues", "listed": {"b": 1}}
    }
    assert list(values) == ["steps"]


def test_a_result_that_is_read_by_a_computed_name_is_sent_with_all_others(
    project: Project, tmp_path: Path
) -> None:
    task = task_at(project, tmp_path, '{run: [echo, "${{ steps[inputs.which].output.a.b }}"]}')

    assert read(task.names(), "steps[inputs.which].output.c[0]") == 2
    assert read(task.names(), "steps.first.outcome") == "passed"


def test_what_is_missing_in_the_run_is_missing_in_the_task_in_the_same_words(
    project: Project, tmp_path: Path
) -> None:
    task = task_at(project, tmp_path, '{run: [echo, "${{ default(steps.skipped.output, 7) }}"]}')

    assert read(task.names(), "default(steps.skipped.output, 7)") == 7
    with pytest.raises(MissingValue, match="skipped has no output"):
        read(task.names(), "steps.skipped.output")


def test_a_parameter_that_asks_about_files_is_filled_in_where_they_are(
    project: Project, tmp_path: Path
) -> None:
    step = """{role: helper, with: {there: "${{ exists(inputs.which) }}"}}"""
    names = task_at(project, tmp_path, step).names()

    with pytest.raises(NeedFact) as need:
        read(names, "with.there")
    names.facts[need.value.query] = True

    assert need.value.query == ("exists", "first")
    assert read(names, "with.there") is True
    assert list(names.lookup("with")) == ["there"]
    with pytest.raises(MissingValue, match=r"with\.other does not exist"):
        read(names, "with.other")


@pytest.mark.parametrize("error", [MissingValue("m"), WrongType("m"), TooBig("m"), ExprError("m")])
def test_a_failure_fails_as_it_did(error: ExprError) -> None:
    from podium.tasks.task_names import _failure

    raised = _failure(error).error()

    assert (type(raised), str(raised)) == (type(error), str(error))
    assert isinstance(_failure(error), Failure)


def test_a_fact_that_is_not_known_is_asked_for() -> None:
    from podium.tasks.task_names import NameValues

    names = TaskNames(NameValues())

    with pytest.raises(NeedFact):
        names.fact(("exists", "x"))
    names.facts["exists", "x"] = True
    assert names.fact(("exists", "x")) is True
    with pytest.raises(MissingValue, match="anything is not known here"):
        names.lookup("anything")
