"""A worker that tampers with its gate does not get past it, through the real command with real tools (X7, C49)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.kit import Ended, Project, closing, new_project
from tests.security.gates.corpus import CASES, Case
from tests.security.gates.tools import TOOLS, Tool

PAGE = Path(__file__).parents[3] / "docs/explanation/security.md"


def tried(folder: Path, tool: Tool, script: str) -> tuple[Project, Ended]:
    flow = f"""\
podium: 1
name: tamper
steps:
  it:
    run: {{script: {json.dumps(script)}, shell: bash}}
    touches: ["**"]
    gates: [{tool.gate}]
"""
    project = new_project(folder, {**tool.files, "flow.yaml": flow})
    with closing(project):
        return project, project.podium("run", "flow.yaml", "--json")


def ends(done: Ended) -> dict[str, str]:
    return {step["path"]: step["outcome"] for step in done.data()["steps"]}


@pytest.mark.security
@pytest.mark.req("X7", "C49", "R109")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.tool}: {case.name}")
def test_a_gate_is_not_passed_by_tampering_with_it(tmp_path: Path, case: Case) -> None:
    _, done = tried(tmp_path, TOOLS[case.tool], case.script)

    wanted = {"caught": ("failed", "error"), "residual": ("passed",)}[case.end]
    assert ends(done)["it"] in wanted, done.out
    assert (done.code == 0) == (case.end == "residual")


@pytest.mark.security
@pytest.mark.parametrize("tool", TOOLS)
def test_a_change_that_really_mends_it_passes(tmp_path: Path, tool: str) -> None:
    _, done = tried(tmp_path, TOOLS[tool], TOOLS[tool].honest)

    assert ends(done)["it"] == "passed", done.out


@pytest.mark.security
def test_every_residual_is_named_on_the_page_about_security() -> None:
    page = " ".join(PAGE.read_text("utf-8").split())

    assert [case.name for case in CASES if case.end == "residual" and case.key not in page] == []
    assert len(CASES) >= 40
    assert {case.tool for case in CASES} == set(TOOLS)
