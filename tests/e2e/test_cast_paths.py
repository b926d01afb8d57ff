"""Paths in a cast begin at the top of the workspace, wherever the step works (issue 20, A8)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kit import closing, new_project

pytestmark = pytest.mark.slow

FLOW = """\
podium: 1
name: flow
agents: {w: {type: scripted, script: cast.yaml}}
steps:
  fix: {agent: w, prompt: Fix it, dir: app, touches: ["app/**"], gates: [{run: grep -q new app/a.txt}]}
"""
TESTS = """\
podium: 1
project: .
tests:
  fixed:
    cast: [{match: {step: fix}, write: {app/a.txt: "new\\n"}}]
    expect: {path: [fix]}
"""


def test_a_write_of_a_cast_means_the_same_in_a_run_and_in_a_test(tmp_path: Path) -> None:
    cast = '- {match: {step: fix}, write: {app/a.txt: "new\\n"}}\n'
    files = {"w.yaml": FLOW, "cast.yaml": cast, "app/a.txt": "old\n", "w.test.yaml": TESTS}
    with closing(new_project(tmp_path, files)) as project:
        done = project.podium("run", "w.yaml")
        assert done.code == 0, done.err + done.out
        tested = project.podium("test", "w.test.yaml")
        assert tested.code == 0, tested.err + tested.out
