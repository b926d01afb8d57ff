"""Casts: scripted answers for a simulated run; mistakes are reported with their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.app.author.load import open_workflow
from podium.app.forecast.simulate import rehearse
from podium.errors import ConfigurationError
from podium.views.run.trace import Trace
from podium.workflow.scripted.cast import iteration_of, judged_attempt, place_of, read_cast

FLOW = """\
podium: 1
name: flow
inputs: {task: string}
steps:
  work:
    role: implementer
    prompt: "{{ inputs.task }}"
    gates: [{name: tests, run: make test}]
    retry: {attempts: 2, on_exhausted: fail}
  judge:
    review: reviewer
    of: work
    on: {rejected: work}
  ask:
    human: Land it?
    timeout: 1h
  signal:
    wait: {signal: go}
    timeout: 1d
"""


def simulate_cast(folder: Path, cast: str) -> Trace:
    (folder / "flow.yaml").write_text(FLOW)
    (folder / "cast.yaml").write_text(cast)
    return rehearse(open_workflow(folder / "flow.yaml"), folder / "cast.yaml", inputs={}).run


def outcomes(run: Trace) -> list[str]:
    return [
        f"{step.path}:{step.outcome}" for step in run.steps if step.role == "step" and "/" not in step.path
    ]


def test_without_rules_every_step_passes(tmp_path: Path) -> None:
    run = simulate_cast(tmp_path, "[]")

    assert outcomes(run) == ["work:passed", "judge:passed", "ask:passed", "signal:passed"]
    assert (run.status, run.exit) == ("passed", 0)


def test_a_gate_that_fails_once_costs_one_attempt(tmp_path: Path) -> None:
    run = simulate_cast(tmp_path, "- {match: {step: tests, attempt: 1}, exit: 1}")

    assert [step.attempts for step in run.steps if step.path == "work"] == [2]


def test_a_rejection_sends_the_work_back(tmp_path: Path) -> None:
    run = simulate_cast(tmp_path, "- {match: {step: judge/reviewer, visit: 1}, verdict: reject, text: no}")

    assert outcomes(run)[:4] == ["work:passed", "judge:rejected", "work~2:passed", "judge~2:passed"]


@pytest.mark.parametrize(
    ("rule", "outcome"),
    [
        ("{match: {step: work}, error: refused}", "work:failed"),
        ("{match: {step: work}, error: garbled}", "work:failed"),
        ("{match: {step: work}, error: timeout}", "work:timeout"),
        ("{match: {step: work}, error: auth}", "work:error"),
        ("{match: {step: work}, error: crash}", "work:error"),
        ("{match: {step: work}, blocked: the spec is missing}", "work:blocked"),
        ("{match: {step: judge/reviewer}, verdict: abort}", "judge:aborted"),
        ("{match: {step: ask}, action: reject, text: not yet}", "ask:rejected"),
        ("{match: {step: ask}, silent: true}", "ask:timeout"),
        ("{match: {step: signal}, silent: true}", "signal:timeout"),
        ("{match: {step: signal}, outcome: error}", "signal:error"),
    ],
)
def test_a_rule_causes_its_outcome(tmp_path: Path, rule: str, outcome: str) -> None:
    assert outcome in outcomes(simulate_cast(tmp_path, f"- {rule}"))


def test_a_quota_error_is_waited_for_and_costs_no_attempt(tmp_path: Path) -> None:
    run = simulate_cast(tmp_path, "- {match: {step: work, attempt: 1}, error: quota}")

    work = next(step for step in run.steps if step.path == "work")
    assert work.outcome == "passed"
    assert work.ended - work.started > 900_000


def test_costs_delays_and_usage_are_as_scripted(tmp_path: Path) -> None:
    run = simulate_cast(
        tmp_path,
        "- {match: {step: work}, cost_usd: 0.5, delay: 2m, usage: {input: 10, output: 5}}\n"
        "- {match: {step: judge/reviewer}, cost_usd: 0.25, delay: 1s}\n",
    )

    assert run.usd == 750_000
    assert next(step for step in run.steps if step.path == "work").usd == 500_000


def test_a_rule_that_never_matched_is_reported(tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text(FLOW)
    (tmp_path / "cast.yaml").write_text(
        "- {match: {step: work}, text: hi}\n- {match: {step: wrok}, exit: 1}\n"
    )

    rehearsal = rehearse(open_workflow(tmp_path / "flow.yaml"), tmp_path / "cast.yaml", inputs={})

    [(line, reason)] = rehearsal.unplayed
    assert (line, 'did you mean "work"?' in reason) == (2, True)


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("- match: {step: a}\n  verdit: approve\n", 2, "verdit"),
        ("rules:\n  - {error: sleepy}\n", 2, "error"),
        ("files: {a: 1}\n", 1, "must be text"),
    ],
)
def test_a_mistake_in_a_cast_is_reported_with_its_line(
    tmp_path: Path, text: str, line: int, part: str
) -> None:
    path = tmp_path / "cast.yaml"
    path.write_text(text)

    with pytest.raises(ConfigurationError) as caught:
        read_cast(path)

    assert f"cast.yaml:{line}:" in caught.value.message
    assert part in caught.value.message


def test_a_missing_cast_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_cast(tmp_path / "nothing.yaml")

    assert "nothing.yaml" in caught.value.message


def test_places_are_addresses_without_numbers() -> None:
    assert place_of("each~2[3]/test~2") == "each/test"
    assert place_of("implement#2/tests") == "implement/tests"
    assert iteration_of("each[3]/test") == 3
    assert iteration_of("test") is None
    assert judged_attempt("work~2#3/tests") == (2, 3)
    assert judged_attempt("work") is None


def test_commands_judge_before_people_whatever_the_order_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text(
        "podium: 1\nname: flow\nsteps:\n  a:\n    role: implementer\n    prompt: do\n"
        '    gates: [{human: "Good?"}, {run: make test}]\n'
    )

    run = rehearse(open_workflow(tmp_path / "flow.yaml"), None, inputs={}).run

    assert [step.path for step in run.steps] == ["a#1/run", "a#1/human", "a#1", "a"]


def test_a_question_without_an_answer_waits_despite_reminders(tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text(
        'podium: 1\nname: flow\nsteps:\n  ask: {human: "Good?", remind: 1h}\n'
    )
    (tmp_path / "cast.yaml").write_text("- {match: {step: ask}, silent: true}\n")

    run = rehearse(open_workflow(tmp_path / "flow.yaml"), tmp_path / "cast.yaml", inputs={}).run

    assert run.status is None
