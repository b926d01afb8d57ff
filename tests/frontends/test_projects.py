"""Every command means the same project by a file, wherever it is typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.frontends.api import functions as api
from tests.engine.kit import HEAD, Project, git
from tests.frontends.test_running import call, code, data

OWN_ROLE = 'roles: {house: {extends: implementer, description: "Ours."}}\nagents: {claude: {type: scripted, script: cast.yaml}}\n'
FLOW = f"{HEAD}steps:\n  a: {{role: house, prompt: Do it}}\n"
TOUCH = f"{HEAD}steps:\n  a: {{run: [sh, -c, echo x > made.txt], touches: [made.txt]}}\n"


@pytest.mark.req("R235")
def test_what_is_good_in_a_part_of_a_repository_runs_there(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("cast.yaml", "- {match: {step: a}, text: done}\n")
    project.write("part/.podium/config.yaml", OWN_ROLE)
    project.write("part/flow.yaml", FLOW)
    project.commit()
    monkeypatch.chdir(project.root / "part")

    assert code(call("validate", "flow.yaml")) == 0
    assert code(call("plan", "flow.yaml")) == 0
    assert "house" in call("roles", "list").stdout
    assert code(call("run", "flow.yaml", "--sandbox", "none", "--yes")) == 0
    assert code(call("run-step", "flow.yaml", "a", "--sandbox", "none")) == 0
    # One place for all runs of the repository.
    assert len(data(call("runs", "--json"))) == 1
    assert project.store.heads()
    assert not (project.root / "part/.podium/podium.db").exists()


def test_a_file_of_a_repository_runs_in_that_repository(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("flow.yaml", TOUCH)
    project.commit()
    monkeypatch.chdir(project.root.parent)
    file = f"{project.root.name}/flow.yaml"

    done = call("run", file, "--sandbox", "none")

    assert code(done) == 0
    assert f"in {project.root}\n" in done.stderr
    assert git(project.root, "status", "--porcelain") == ""
    assert not (project.root.parent / "made.txt").exists()
    assert len(project.store.heads()) == 1
    assert api.load(file).project == project.root


def test_a_file_of_another_project_is_not_run_from_within_this_one(project: Project, tmp_path: Path) -> None:
    other = Project(tmp_path / "other")
    other.write("flow.yaml", TOUCH)
    other.commit()

    done = call("run", "../other/flow.yaml")

    assert code(done) == 3
    assert str(other.root) in str(done.exception)
    assert other.store.heads() == project.store.heads() == ()
    other.facade.close()
