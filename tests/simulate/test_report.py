"""Many runs are summed up, and the same seed gives the same survey."""

from __future__ import annotations

from pathlib import Path

from podium.app.author.load import open_workflow
from podium.app.forecast.simulate import assumed, forecast
from podium.simulate.random_world import CALM, Odds

FLOW = """\
podium: 1
name: flow
inputs:
  task: string
  size: {type: string, choices: [small, large]}
  n: int
  deep: {type: bool, default: false}
steps:
  work: {role: implementer, prompt: "{{ inputs.task }}", gates: [{run: make test}], retry: {on_exhausted: fail}}
  judge: {review: [reviewer, reviewer_codex], of: work, on: {rejected: work}}
  ask: {human: "Good?", timeout: 1h}
"""


def flow(folder: Path) -> Path:
    path = folder / "flow.yaml"
    path.write_text(FLOW)
    return path


def test_a_survey_counts_every_run_once(tmp_path: Path) -> None:
    found = forecast(open_workflow(flow(tmp_path)), runs=60, inputs={})

    assert found.runs == 60
    assert sum(found.statuses.values()) == 60
    assert found.usd.least <= found.usd.median <= found.usd.ninety <= found.usd.most
    assert sum(number for _, number in found.paths) <= 60


def test_the_same_seed_gives_the_same_survey(tmp_path: Path) -> None:
    workflow = open_workflow(flow(tmp_path))

    assert forecast(workflow, runs=20, seed=7, inputs={}) == forecast(workflow, runs=20, seed=7, inputs={})
    assert forecast(workflow, runs=20, seed=7, inputs={}) != forecast(workflow, runs=20, seed=8, inputs={})


def test_where_nothing_goes_wrong_all_runs_pass(tmp_path: Path) -> None:
    found = forecast(open_workflow(flow(tmp_path)), runs=10, inputs={}, odds=CALM)

    assert found.statuses == {"passed": 10}
    assert found.paths == (("work > judge > ask", 10),)
    assert found.troubles == ()


def test_where_everything_goes_wrong_no_run_passes(tmp_path: Path) -> None:
    found = forecast(open_workflow(flow(tmp_path)), runs=10, inputs={}, odds=Odds(failed=1.0))

    assert "passed" not in found.statuses
    assert found.troubles[0][0].startswith("work failed")


def test_inputs_without_a_value_get_a_plausible_one(tmp_path: Path) -> None:
    workflow = open_workflow(flow(tmp_path))

    assert assumed(workflow, {"n": 4}) == {"task": "task", "size": "small", "n": 4, "deep": False}
