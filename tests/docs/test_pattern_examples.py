"""Every example of a pattern runs with its cast in a real repository, to the end that its page describes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from podium.app.author.load import check, open_workflow
from podium.views.text.graph import as_text
from tests.docs.page_files import ROOT
from tests.engine.kit import Project, git, output
from tests.templates.kit import path_of, status

pytestmark = pytest.mark.slow

ALONE = {"human_approval": False}
ENTERPRISE = "plan plan_review interface_definition implement unit_test_gate integration_tests"
AGAIN = (
    "integration_test_gate:failed implement~2 unit_test_gate~2 integration_tests~2 integration_test_gate~2"
)
CASES: dict[str, tuple[dict[str, Any], str]] = {
    "review_loop": ({"task": "Add up prices"}, "write approve:skipped land"),
    "panel": ({"task": "Announce"}, "draft:partial cross_audit synthesize approve:skipped"),
    "scan_fix_verify": ({}, "scan found repair approve:skipped land"),
    "migrate_each_file": ({}, "find migrate approve:skipped land"),
    "fix_failing_ci": ({}, "look:failed fix approve:skipped land"),
    "enterprise": (
        {"task": "Greet by name"},
        f"{ENTERPRISE} {AGAIN} security_review code_review ci_gate approve:skipped commit",
    ),
}


@pytest.fixture(params=CASES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def copied(name: str, folder: Path) -> Project:
    shutil.copytree(ROOT / "examples" / name, folder)
    project = Project(folder)
    shutil.copy(ROOT / "examples" / name / "README.md", folder / "README.md")
    project.commit()
    return project


@pytest.mark.req("R241", "R242", "R244")
def test_the_example_runs_as_its_cast_tells(name: str, tmp_path: Path) -> None:
    inputs, expected = CASES[name]
    project = copied(name, tmp_path / "project")

    _, state = project.run(project.root / "workflow.yaml", {**inputs, **ALONE})

    assert path_of(state) == expected.split()
    assert status(state) == "passed"


def test_the_page_of_the_example_shows_its_graph(name: str) -> None:
    file = ROOT / "examples" / name / "workflow.yaml"

    assert [problem.render() for problem in check(file).problems] == []
    assert as_text(open_workflow(file)) in (ROOT / "examples" / name / "README.md").read_text("utf-8")


def test_what_does_not_work_out_in_one_file_stays_out(tmp_path: Path) -> None:
    project = copied("migrate_each_file", tmp_path / "project")
    project.run(project.root / "workflow.yaml", ALONE)

    left = git(project.root, "grep", "-l", "os.path", "HEAD", "--", "src")

    assert left == "HEAD:src/endings.py"


def test_the_panel_comes_to_what_its_sources_say(tmp_path: Path) -> None:
    project = copied("panel", tmp_path / "project")
    _, state = project.run(project.root / "workflow.yaml", {**CASES["panel"][0], **ALONE})

    assert output(state, "synthesize") == "Version 2 is here. It starts twice as fast."
