"""Workflow files of other repositories: where they are found, what is refused, and how a value chooses among them."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.adapters.agents.registry import agent_types
from podium.core.model import Block, Call, Workflow
from podium.workflow.load import Loaded, load

CHILD = "podium: 1\nname: release\ninputs: {version: string}\nsteps: {a: {run: x}}\noutputs: {v: '1'}\n"


def loaded(folder: Path, step: str, child: str = CHILD) -> Loaded:
    for name in ("api", "web"):
        (folder / name / ".git").mkdir(parents=True)
        (folder / name / "release.yaml").write_text(child, "utf-8")
    (folder / "plain").mkdir()
    (folder / "app").mkdir()
    path = folder / "app" / "flow.yaml"
    path.write_text(f"podium: 1\nname: flow\nsteps:\n  api: {step}\n", "utf-8")
    return load(path, agent_types=agent_types(), project=folder / "app")


def workflow(folder: Path, step: str) -> Workflow:
    made = loaded(folder, step)
    assert made.workflow is not None, made.problems
    return made.workflow


def test_the_file_is_that_of_the_other_repository(tmp_path: Path) -> None:
    step = workflow(tmp_path, "{workflow: {file: release.yaml, in: ../api}, with: {version: a}}").body.steps[
        0
    ]

    assert isinstance(step.verb, Call)
    assert step.verb.place is not None
    assert (step.verb.place.folder, step.verb.place.file) == ("../api", "release.yaml")


def test_its_text_is_not_part_of_what_this_workflow_is(tmp_path: Path) -> None:
    text = "{workflow: {file: release.yaml, in: ../api}, with: {version: a}}"
    first = workflow(tmp_path / "1", text)
    second = loaded(tmp_path / "2", text, CHILD.replace("run: x", "run: y")).workflow

    assert second is not None
    assert first.fingerprint == second.fingerprint


def test_a_value_chooses_the_repository_by_a_step_with_a_name_of_its_own(tmp_path: Path) -> None:
    text = "{for_each: [../api, ../web], workflow: {file: release.yaml, in: '${{ item }}', of: [../api, ../web]}, with: {version: a}}"
    block = workflow(tmp_path, text).body.steps[0].verb.body.verb  # type: ignore[union-attr]  # a loop

    assert isinstance(block, Block)
    assert [step.name for step in block.steps] == ["api_", "web", "no_such_file"]


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("{workflow: {file: release.yaml, in: ../none}}", "in: ../none does not exist"),
        ("{workflow: {file: release.yaml, in: /tmp}}", "in: /tmp is an absolute path"),
        ("{workflow: {file: release.yaml, in: .}}", "in: . is this repository"),
        ("{workflow: {file: release.yaml, in: ../plain}}", "in: ../plain is not the top of a git repository"),
        ("{workflow: {file: none.yaml, in: ../api}}", "../api has no file none.yaml"),
        ("{workflow: {file: release.yaml, in: ../api}}", 'release.yaml in ../api needs input "version"'),
        (
            "{workflow: {file: release.yaml, in: ../api}, with: {version: a}, gates: [{run: x}]}",
            "gates here see the files of this repository, not those of ../api",
        ),
        (
            "{workflow: {file: release.yaml, in: ../api}, with: {version: a}, output: text}",
            "the output is what outputs of release.yaml in ../api say",
        ),
        ("{workflow: {file: release.yaml, in: '${{ inputs.x }}'}}", '"workflow" must be a file and a folder'),
        (
            "{workflow: {file: '', in: '${{ inputs.x }}', of: [../api, ../web]}}",
            '"workflow" must be a file, or',
        ),
    ],
)
def test_mistakes(tmp_path: Path, step: str, said: str) -> None:
    messages = [problem.message for problem in loaded(tmp_path, step).errors]

    assert any(message.startswith(said) for message in messages), messages
