"""New files of the gates format, and their native forms: the same order, files and exit codes, through the command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.core.hash_chain import RunId
from tests.e2e.gates_files import FILES, GatesFile
from tests.e2e.gates_larger import LARGER
from tests.e2e.gates_projects import PROJECTS
from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

CONFIG = """
agents: {cast: {type: scripted, script: cast.yaml}, judge: {type: scripted, script: cast.yaml}}
roles: {planner: {agent: cast}, reviewer: {agent: judge}, test_engineer: {agent: cast}, implementer: {agent: cast}}
"""
WAITS = 6
ALL = {**FILES, **LARGER, **PROJECTS}


@pytest.fixture
def project(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Project]:
    made: GatesFile = request.getfixturevalue("made")
    approving = "- {match: {step: reviewer}, verdict: {decision: approve, score: 9}}\n"
    files = {"flow.yaml": made.text, "cast.yaml": made.cast + approving, "app/keep": ""}
    with closing(new_project(tmp_path, {**files, ".gitignore": ".podium/\n"})) as ready:
        ready.put({".podium/config.yaml": CONFIG})
        yield ready


def run(project: Project, made: GatesFile, file: str) -> tuple[list[str], int, list[str]]:
    """The steps in the order they ended, the exit code, and the files on the branch."""
    ended = project.podium("run", file)
    name = project.podium("runs", "--json").data()[0]["run"]
    for action in made.answers:
        assert ended.code == WAITS, ended.err
        [pending] = project.podium("show", name, "--json").data()["pending"]
        words = ("reject", "--feedback", "no") if action == "reject" else ("approve", "--action", action)
        command, *options = words
        ended = project.podium(command, name, pending["path"], *options)
    ends = [event for event in project.events(RunId(name)) if event["type"] == "StepEnded"]
    top = [event for event in ends if event["path"] and not re.search("[#/]", event["path"])]
    order = [
        re.sub(r"~\d+", "", event["path"]) + _outcome(event["outcome"])
        for event in top
        if event["outcome"] != "skipped"
    ]
    return order, ended.code, project.git("ls-tree", "-r", "--name-only", "main").split()


def _outcome(outcome: str) -> str:
    return "" if outcome == "passed" else f":{outcome}"


@pytest.mark.req("R019", "R020", "R021", "R022", "R090", "R117", "C9")
@pytest.mark.parametrize("made", ALL.values(), ids=ALL)
def test_a_file_and_its_native_form_do_the_same(project: Project, made: GatesFile) -> None:
    native = project.podium("convert", "flow.yaml")
    assert native.code == 0, native.err
    project.commit({"native.yaml": native.out}, "its native form")
    start = project.git("rev-parse", "HEAD")

    original = run(project, made, "flow.yaml")
    assert (original[0], original[1]) == (list(made.steps), made.code)
    assert set(made.lands) <= set(original[2])

    project.git("reset", "-q", "--hard", start)
    assert run(project, made, "native.yaml") == original
