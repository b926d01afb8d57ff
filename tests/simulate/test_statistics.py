"""Statistics of many simulated runs; the same seed gives the same result."""

from __future__ import annotations

from pathlib import Path

from podium.app.author.load import open_workflow
from podium.app.forecast.simulate import forecast
from podium.app.values import assumed
from podium.simulate.random_world import NO_FAILURES, Odds

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


def test_statistics_count_every_run_once(tmp_path: Path) -> None:
    statistics = forecast(open_workflow(flow(tmp_path)), seeds=range(60), inputs={})

    assert statistics.runs == 60
    assert sum(statistics.statuses.values()) == 60
    assert statistics.usd.least <= statistics.usd.median <= statistics.usd.ninety <= statistics.usd.most
    assert sum(number for _, number in statistics.paths) <= 60


def test_the_same_seed_gives_the_same_statistics(tmp_path: Path) -> None:
    workflow = open_workflow(flow(tmp_path))

    assert forecast(workflow, seeds=range(7, 27), inputs={}) == forecast(
        workflow, seeds=range(7, 27), inputs={}
    )
    assert forecast(workflow, seeds=range(7, 27), inputs={}) != forecast(
        workflow, seeds=range(8, 28), inputs={}
    )


def test_without_failures_all_runs_pass(tmp_path: Path) -> None:
    statistics = forecast(open_workflow(flow(tmp_path)), seeds=range(10), inputs={}, odds=NO_FAILURES)

    assert statistics.statuses == {"passed": 10}
    assert statistics.paths == (("work > judge > ask", 10),)
    assert statistics.troubles == ()


def test_if_every_attempt_fails_no_run_passes(tmp_path: Path) -> None:
    statistics = forecast(open_workflow(flow(tmp_path)), seeds=range(10), inputs={}, odds=Odds(failed=1.0))

    assert "passed" not in statistics.statuses
    assert statistics.troubles[0][0].startswith("work failed")


def test_inputs_without_a_value_get_a_plausible_one(tmp_path: Path) -> None:
    workflow = open_workflow(flow(tmp_path))

    assert assumed(workflow, {"n": 4}) == {"task": "task", "size": "small", "n": 4, "deep": False}


def test_the_time_for_people_is_told_apart(tmp_path: Path) -> None:
    """Questions that wait side by side count once."""
    text = "podium: 1\nname: flow\nsteps:\n  both:\n    parallel: true\n    steps:\n"
    questions = "".join(f'      {name}: {{human: "Good?", veto: 1h}}\n' for name in "ab")
    path = tmp_path / "flow.yaml"
    path.write_text(text + questions)
    asked = forecast(open_workflow(path), seeds=range(10), inputs={})
    assert 0 < asked.waiting.most == asked.time.most

    path.write_text("podium: 1\nname: flow\nsteps:\n  work: {role: implementer, prompt: go}\n")
    assert forecast(open_workflow(path), seeds=range(10), inputs={}).waiting.most == 0
