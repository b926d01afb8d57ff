"""Gates have what the judged step has: copied files and the results of its setup commands (issue 17, 4)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.kit import Ended, Project, closing, new_project

pytestmark = pytest.mark.slow

FREE = "price: {input: 0, output: 0}"
FLOW = """\
podium: 1
name: w
agents: {{worker: {{type: command, command: [sh, -c, "{work}; echo done"], {free}}}}}
{top}
steps:
  work:
    agent: worker
    prompt: go
    retry: {{attempts: 1, on_exhausted: fail}}
{step}    gates: [{{run: [python3, -c, "import app"]}}]
"""
FILES = {
    ".gitignore": ".podium/\nsrc/\n_version.py\nbuilt.py\n",
    "app.py": "from _version import version\n",
}
COPY = "workspace: {copy: [_version.py]}"
SETUP = "workspace: {setup: [[sh, tools/generate]]}"
GENERATE = "echo 'version = 1' > _version.py\n"


def project_with(
    folder: Path, *, top: str = "", step: str = "", work: str = "echo x > note", **files: str
) -> Project:
    flow = FLOW.format(work=work, free=FREE, top=top, step=step and f"    {step}\n")
    project = new_project(folder, {**FILES, "flow.yaml": flow, "tools/generate": GENERATE, **files})
    project.put({"_version.py": "version = 0\n"})
    return project


def gates(project: Project, done: Ended) -> list[str]:
    """The outcomes of the gates, one for each attempt."""
    assert project.run_id(), done.err
    return [
        event["kind"]
        for event in project.events(project.run_id())
        if event["type"] == "AttemptEnded" and "#" in event["path"]
    ]


def test_without_its_generated_file_the_gate_is_red(tmp_path: Path) -> None:
    with closing(project_with(tmp_path)) as project:
        done = project.podium("run", "flow.yaml")

        assert (done.code, gates(project, done)) == (1, ["failed"])


@pytest.mark.parametrize("place", ["top", "step"])
@pytest.mark.parametrize("workspace", [COPY, SETUP], ids=["copy", "setup"])
def test_a_gate_has_what_its_step_has(tmp_path: Path, place: str, workspace: str) -> None:
    options = {"top": workspace} if place == "top" else {"step": workspace}
    with closing(project_with(tmp_path, **options)) as project:
        done = project.podium("run", "flow.yaml")

        assert (done.code, gates(project, done)) == (0, ["ok"]), done.err
        assert "_version.py" not in project.podium("diff").out, "what Podium added is not part of the change"


def test_a_setup_command_of_the_tree_comes_from_before_the_work(tmp_path: Path) -> None:
    """Otherwise the author of the work could prepare the gate that judges it."""
    work = "echo 'exit 1' > tools/generate"
    with closing(
        project_with(tmp_path, step="workspace: {setup: [[sh, tools/generate]]}", work=work)
    ) as project:
        first = project.podium("run", "flow.yaml")
        assert first.code == 6, "a person is asked about the changed program"
        done = project.podium("approve", "--json")

        assert gates(project, done) == ["ok"], done.err
        assert json.loads(done.out)["status"] == "passed"
