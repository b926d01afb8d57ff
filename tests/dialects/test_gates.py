"""The gates format: signals, levels, gates that lead further back, and what it refuses."""

from __future__ import annotations

import pytest

from podium.errors import ConfigurationError
from tests.dialects.kit import Stage, status
from tests.dialects.test_blocks import shown

FLOW = """
workflow: {id: two-steps, name: Two steps}
steps:
  - {id: X-1, name: plan, agent: {type: planner}, outputs: [plan.md], success_criterion: file plan.md exists}
  - {id: X-2, name: tests, agent: {type: test-writer, launch: subagent}, outputs: [test_a.py], gate: G}
gates:
  - {id: G, name: look, reviewer: LOOK, on_pass: {next_step: DONE}, on_fail: {next_step: X-1}, max_retries: 2}
"""
CAST = """
- {match: {step: look/reviewer, visit: 1}, verdict: {decision: reject, score: 3}}
- {match: {step: plan}, write: {plan.md: the plan}}
- {match: {step: tests}, write: {test_a.py: a test}}
"""


def test_a_gate_may_lead_further_back_than_its_own_step(stage: Stage) -> None:
    """R117."""
    run, state = stage.run(stage.put(FLOW.replace("LOOK", "{level: auto, agent_type: reviewer}"), cast=CAST))
    assert status(state) == "passed"
    assert shown(stage.story(run)) == ["plan", "tests", "look:rejected", "plan~2", "tests~2", "look~2"]


def test_a_person_decides_where_the_level_says_so(stage: Stage) -> None:
    """R191, R193."""
    run, state = stage.run(stage.put(FLOW.replace("LOOK", "{level: human}"), cast=CAST))
    assert status(state) == "open"
    assert stage.view(run).pending[0].path == "look"


@pytest.mark.parametrize(
    ("signal", "done"),
    [
        ("{type: sentinel_file, value: .workflow/signals/plan-done.json}", "{file: "),
        ("{type: git_commit, value: '[GATE:G]'}", "{commit: "),
        ("{type: pr_creation}", "{poll: [gh, pr, view], pending: [1]}"),
        ("{type: stdout_exit}", None),
    ],
)
def test_a_person_who_works_by_hand_tells_by_a_signal(stage: Stage, signal: str, done: str | None) -> None:
    """R199: the four signals."""
    step = f"{{id: A, agent: {{type: planner, launch: interactive}}, signal: {signal}}}"
    native = stage.convert(stage.put(f"workflow: {{id: w}}\nsteps:\n  - {step}\n")).read_text()
    assert "agent: human" in native
    assert f"done: {done}" in native if done else "done" not in native


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("gate: G}", "gate: H}"), 'gate "H" is not defined'),
        (("agent: {type: planner}, ", ""), 'step "X-1" says no agent.type'),
        (("launch: subagent", "launch: rocket"), '"rocket" is no way to launch'),
        (("name: Two steps", "nmae: Two steps"), 'workflow has no key "nmae"'),
        (("max_retries", "retries"), 'gate "G" has no key "retries"'),
        (("launch: subagent}", "launch: interactive}, signal: {type: smoke}"), '"smoke" is no signal'),
        (("next_step: X-1", "next_step: X-9"), "does not exist in this block"),
    ],
)
def test_what_the_format_does_not_know_is_told(stage: Stage, change: tuple[str, str], fault: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        stage.run(stage.put(FLOW.replace("LOOK", "{level: human}").replace(*change)))
    assert fault in caught.value.message
