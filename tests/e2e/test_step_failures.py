"""The breaker counts failures by step: a run stops before a step that failed too often, and a person decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.supervised import FLOW, outcomes, run, supervised

pytestmark = pytest.mark.slow

FILE = """\
podium: 1
name: change
inputs: {{task: string}}
breaker: {{visits: 9, cycle: null, repeat: null, failures: {{count: 2, within: 10m}}}}
steps:
  make: {{agent: claude, prompt: Go., touches: ["*"]}}
  one: {{run: [sh, -c, "test $(cat a) != {one}"], on: {{failed: make}}}}
  two: {{run: [sh, -c, "test $(cat a) != {two}"], on: {{failed: make}}}}
"""
CAST = "".join(
    f"- {{match: {{step: make, visit: {n}}}, write: {{a: '{w}'}}, text: '{n}'}}\n"
    for n, w in enumerate("xxoy", 1)
)


@pytest.mark.req("R133")
def test_a_run_stops_before_a_step_that_failed_too_often_and_goes_on_when_a_person_says_so(
    tmp_path: Path,
) -> None:
    with supervised(tmp_path, {FLOW: FILE.format(one="x", two="o")}, CAST) as project:
        done = run(project)
        assert (done.code, list(outcomes(done))[-2:]) == (6, ["one~2", "#1/!advice"]), done.err
        done = project.podium("approve", "--action", "proceed", "--json")
        assert done.code == 0, done.err
        assert list(outcomes(done))[-1] == "two~2"


@pytest.mark.req("R133")
def test_failures_of_different_steps_are_not_added_up(tmp_path: Path) -> None:
    cast = CAST.replace("visit: 2}, write: {a: 'x'}", "visit: 2}, write: {a: 'o'}").replace(
        "visit: 3}, write: {a: 'o'}", "visit: 3}, write: {a: 'y'}"
    )
    with supervised(tmp_path, {FLOW: FILE.format(one="x", two="o")}, cast) as project:
        done = run(project)
        assert done.code == 0, done.out + done.err
