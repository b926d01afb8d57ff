"""Workflows in which every way on from a step leads to a failure are planned and run like any other (issue 20, A1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kit import closing, new_project

pytestmark = pytest.mark.slow

UNDO = """\
podium: 1
name: undo
steps:
  a: {run: ["FIRST"], on: {failed: b, passed: end}}
  b: {run: [echo, undo], on: {passed: {fail: rolled back}}}
"""
ONLY_FAILS = "podium: 1\nname: only\nsteps:\n  a: {run: [echo, x], on: {passed: {fail: always}}}\n"


@pytest.mark.parametrize(("first", "code"), [("true", 0), ("false", 1)])
def test_an_undo_step_that_ends_in_a_failure_is_planned_and_run(
    tmp_path: Path, first: str, code: int
) -> None:
    with closing(new_project(tmp_path, {"undo.yaml": UNDO.replace("FIRST", first)})) as project:
        assert project.podium("plan", "undo.yaml").code == 0
        done = project.podium("run", "undo.yaml")
        assert done.code == code, done.err
        assert ("rolled back" in done.err) is (code == 1)


def test_a_workflow_that_can_only_fail_is_planned_and_run(tmp_path: Path) -> None:
    with closing(new_project(tmp_path, {"only.yaml": ONLY_FAILS})) as project:
        assert project.podium("plan", "only.yaml").code == 0
        assert project.podium("run", "only.yaml").code == 1
