"""`start-task` and `complete-task`: a task in words, from its run to the branch; and --role (R230)."""

from __future__ import annotations

import pytest

from podium.core.hash_chain import RunId
from tests.engine.kit import HEAD, TEAM, Project, git
from tests.frontends.test_running import call, code, newest

INPUT = "inputs: {task: string}\n"
PAINT = "  paint: {agent: w, prompt: 'Paint {{ inputs.task }}', touches: ['*.txt']"
GATED = PAINT + ", gates: [{name: dry, run: [test, -e, shed.txt]}]}\n"
CAST = '- {match: {step: paint}, write: {shed.txt: "blue"}}\n'


@pytest.mark.req("R230")
def test_a_task_is_run_by_the_only_workflow_that_takes_one_and_merged_after_a_look(project: Project) -> None:
    project.write("other.yaml", HEAD + "steps:\n  a: {run: [echo, hi]}\n")
    project.flow(GATED, head=TEAM + INPUT, cast=CAST)

    run = call("start-task", "the shed")
    done = call("complete-task", "--yes")

    assert (code(run), code(done)) == (0, 0)
    assert "flow.yaml: the shed" in run.stderr
    assert dict(project.view(RunId(newest(project))).inputs) == {"task": "the shed"}
    assert "message: the shed" in done.stderr
    assert "added     shed.txt" in done.stderr
    assert "judged by paint#1/dry: passed on tree" in done.stderr
    assert git(project.root, "log", "-1", "--format=%s") == "the shed"
    assert git(project.root, "show", "HEAD:shed.txt") == "blue"


@pytest.mark.parametrize(
    ("files", "args", "why"),
    [
        ({}, (), "no workflow of this project takes a task"),
        ({"a.yaml": INPUT, "b.yaml": INPUT}, (), "2 workflows of this project take a task"),
        (
            {"a.yaml": "inputs: {n: int}\n"},
            ("--workflow", "a.yaml"),
            "a.yaml has no input that takes the task",
        ),
        ({"a.yaml": INPUT}, ("--workflow", "none.yaml"), "file not found"),
    ],
)
def test_which_workflow_is_meant_is_said(
    project: Project, files: dict[str, str], args: tuple[str, ...], why: str
) -> None:
    for name, inputs in files.items():
        project.write(name, f"{HEAD}{inputs}steps:\n  a: {{run: [echo, hi]}}\n")

    done = call("start-task", "the shed", *args)

    assert (code(done), why in str(done.exception)) == (2, True)


@pytest.mark.req("R230")
def test_another_agent_plays_a_role_in_one_run(project: Project) -> None:
    head = TEAM + INPUT + "roles:\n  painter: {agent: claude}\n"
    project.flow(
        "  paint: {role: painter, prompt: 'Paint {{ inputs.task }}', touches: ['*.txt']}\n",
        head=head,
        cast=CAST,
    )

    assert code(call("run", "flow.yaml", "-i", "task=x", "--role", "painter=w")) == 0
    assert code(call("start-task", "x", "--role", "painter=w")) == 0

    wrong = call("run", "flow.yaml", "-i", "task=x", "--role", "painter")
    assert "'painter' is not ROLE=AGENT" in str(wrong.exception)


def test_work_that_did_not_pass_or_was_judged_red_is_not_complete(project: Project) -> None:
    red = PAINT + "}\n  look: {run: ['false'], on: {failed: fail}}\n"
    project.flow(red, head=TEAM + INPUT, cast=CAST)
    call("start-task", "the shed")
    before = git(project.root, "rev-parse", "HEAD")

    done = call("complete-task", "--yes")

    assert (code(done), "the task is not complete: run" in str(done.exception)) == (2, True)
    assert git(project.root, "rev-parse", "HEAD") == before


def test_a_gate_that_a_route_passes_over_keeps_the_task_incomplete(project: Project) -> None:
    steps = (
        PAINT
        + ", retry: {attempts: 1, on_exhausted: fail}, gates: [{name: dry, run: ['false']}], on: {failed: {to: end, start: work}}}\n"
    )
    steps = (
        steps.replace("{to: end, start: work}", "next")
        + "  more: {agent: w, prompt: More, touches: ['*.md']}\n"
    )
    project.flow(steps, head=TEAM + INPUT, cast=CAST + '- {match: {step: more}, write: {more.md: "x"}}\n')
    assert code(call("start-task", "the shed")) == 0

    done = call("complete-task", "--yes")

    assert "paint#1/dry ended failed" in str(done.exception)
