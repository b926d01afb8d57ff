"""`podium graph --run`: how far a run is, as a drawing (R209)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.e2e.kit import Project, closing, new_project
from tests.views.kit import conforms

pytestmark = pytest.mark.slow

FLOW = """\
podium: 1
name: drawn
gates: {twice: {run: [sh, -c, "test $(wc -l < tries) -ge 2"]}}
steps:
  work:
    run: [sh, -c, "echo >> tries"]
    touches: ["**"]
    gates: [twice]
    retry: {attempts: 2}
  each:
    for_each: [1, 2, 3]
    pass: any
    steps:
      odd: {run: [sh, -c, "test ${{ item }} != 2"]}
  ask: {human: "Land it?", on: {rejected: work}}
"""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with closing(new_project(tmp_path, {"drawn.yaml": FLOW})) as project:
        yield project


def test_a_picture_shows_how_far_a_run_is(project: Project) -> None:
    assert project.podium("run", "drawn.yaml").code == 6
    waiting = project.podium("graph", "--run", "@1").out
    run = json.loads(project.podium("runs", "--json").out)[0]["run"]

    assert "✓ work" in waiting
    assert "✓ gate twice" in waiting
    assert "? ask" in waiting
    assert "3 of 3, 1 failed" in waiting

    data = json.loads(project.podium("graph", "--run", run, "--svg", "--json").out)
    conforms(data, "text")
    assert (data["file"], data["format"]) == (run, "svg")
    classes = {
        node.get("data-path"): str(node.get("class")).split()
        for node in ET.fromstring(data["text"]).iter("{http://www.w3.org/2000/svg}g")
    }
    assert classes["work"][-1] == "passed"
    assert classes["ask"][-1] == "waiting"

    project.podium("approve")
    assert "✓ ask" in project.podium("graph", "--run", run).out


def test_a_picture_of_a_run_needs_a_run(project: Project) -> None:
    unknown = project.podium("graph", "--run", "zzz", "--json")

    assert unknown.code == 2
    assert unknown.data()["error"]["code"] == "no_runs"
