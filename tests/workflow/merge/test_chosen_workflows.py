"""`workflow: {file: ${{ ... }}, of: [...]}`: a value chooses one of several files, and each is checked like any other."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.app.author.load import check, load_workflow
from podium.app.forecast.plan import plan
from podium.core.model import Block, Call, Command
from podium.workflow.expressions.parser import parse_expression

CHILD = """podium: 1
name: child
inputs: {{task: string}}
steps:
  work: {{agent: claude, prompt: "Do {{{{ inputs.task }}}}.", touches: [], retry: {{attempts: 1, repair: 0, on_exhausted: fail}}}}
outputs: {{report: "${{{{ steps.work.text }}}}"}}
"""


def write(folder: Path, step: str, *children: str) -> Path:
    for name in children:
        (folder / f"{name}.yaml").write_text(CHILD.format(), "utf-8")
    path = folder / "flow.yaml"
    path.write_text(f"podium: 1\nname: flow\ninputs: {{kind: string}}\nsteps:\n  go: {step}\n", "utf-8")
    return path


def chosen(*files: str, rest: str = "with: {task: x}") -> str:
    return f'{{workflow: {{file: "${{{{ inputs.kind }}}}", of: [{", ".join(files)}]}}, {rest}}}'


def test_every_file_becomes_a_step_of_a_block_that_keeps_the_other_keys(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        chosen("fix.yaml", "new-thing.yaml", rest="with: {task: x}, timeout: 1m"),
        "fix",
        "new-thing",
    )

    [step] = load_workflow(path).workflow.body.steps

    assert isinstance(step.verb, Block)
    assert [inner.name for inner in step.verb.steps] == ["fix", "new_thing", "no_such_file"]
    assert [isinstance(inner.verb, Call) for inner in step.verb.steps] == [True, True, False]
    assert step.timeout == 60_000


def test_other_steps_and_an_output_of_its_own_stay_as_written(tmp_path: Path) -> None:
    step = chosen("fix.yaml", "feature.yaml", rest='with: {task: x}, output: "${{ inputs.kind }}"')
    path = write(tmp_path, f"{step}\n  after: {{run: [echo, done]}}", "fix", "feature")

    go, after = load_workflow(path).workflow.body.steps

    assert isinstance(go.verb, Block)
    assert go.verb.output == parse_expression("inputs.kind")
    assert after.verb == Command(("echo", "done"))


def test_the_forecast_counts_one_of_the_files(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    alone = load_workflow(write(tmp_path / "one", "{workflow: fix.yaml, with: {task: x}}", "fix")).workflow
    workflow = load_workflow(write(tmp_path, chosen("fix.yaml", "feature.yaml"), "fix", "feature")).workflow

    for kind in ("fix", "feature.yaml"):
        assert (
            plan(workflow, {"kind": kind}).ranges["calls"].most == plan(alone, {}).ranges["calls"].most == 4
        )


def test_the_value_may_be_a_part_of_the_name(tmp_path: Path) -> None:
    step = chosen("fix.yaml", "feature.yaml").replace("${{ inputs.kind }}", "f${{ inputs.kind }}.yaml")
    workflow = load_workflow(write(tmp_path, step, "fix", "feature")).workflow

    most = [plan(workflow, {"kind": kind}).ranges["calls"].most for kind in ("ix", "eature", "fix")]
    assert most == [4, 4, 0]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            '{workflow: "${{ inputs.kind }}"}',
            '"workflow" must be a file, or {file: "${{ ... }}", of: [a.yaml, b.yaml]}',
        ),
        (chosen("fix.yaml"), '"workflow" must be a file, or {file: "${{ ... }}", of: [a.yaml, b.yaml]}'),
        (
            "{workflow: {file: fix.yaml, of: [fix.yaml, feature.yaml]}}",
            '"workflow" must be a file, or {file: "${{ ... }}"',
        ),
        (chosen("fix.yaml", "other/fix.yaml"), '"workflow" must be a file, or {file: "${{ ... }}"'),
        (chosen("fix.yaml", "missing.yaml"), "missing.yaml does not exist"),
        (
            chosen("fix.yaml", "feature.yaml", rest="with: {tsk: x}"),
            'with: "tsk" is not an input of fix.yaml',
        ),
        (chosen("fix.yaml", "feature.yaml", rest="retry: 1"), 'fix.yaml needs input "task"'),
        (
            '{workflow: {file: "${{ inputs.knd }}", of: [fix.yaml, feature.yaml]}, with: {task: x}}',
            'inputs has no "knd"',
        ),
    ],
)
def test_mistakes_are_reported_at_the_step(tmp_path: Path, step: str, message: str) -> None:
    problems = check(write(tmp_path, step, "fix", "feature")).errors

    assert problems
    assert any(problem.message.startswith(message) for problem in problems), problems
    assert {problem.line for problem in problems} == {5}
