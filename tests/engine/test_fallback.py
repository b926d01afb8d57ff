"""An agent that is not there is replaced by the next of its fallbacks, in their order, and the run says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.core.payloads import Amounts
from podium.core.types import Address
from podium.views.text.terminal import run_lines
from tests.engine.kit import HEAD, Project, outcome

AGENTS = """\
agents:
  gone: {type: nowhere}
  off: {type: scripted, enabled: false}
  third: {type: scripted}
  fourth: {type: scripted}
"""


@pytest.mark.req("R074", "R079")
def test_the_fallbacks_are_asked_in_their_order_and_the_run_says_who_worked_and_why(tmp_path: Path) -> None:
    project = Project(tmp_path)
    roles = "roles: {mine: {agent: gone, fallback: [off, third, fourth]}}\n"
    file = project.flow("  write: {role: mine, prompt: x, touches: [a.txt]}\n", head=HEAD + AGENTS + roles)

    run, state = project.run(file)
    view = project.view(run)

    (step,) = [step for step in view.steps if step.path == "write"]
    assert outcome(state, "write") == "passed"
    assert step.degraded
    assert step.result["agent"] == "third"
    assert [why.split('"')[1] for why in step.passed_over] == ["gone", "off"]
    (line,) = [line for line in run_lines(view, view.at) if "write" in line and "instead" in line]
    assert 'third instead: agent "gone" has the unknown type "nowhere"' in line
    summary = (project.facade.paths.run_dir(run) / "run_summary.md").read_text("utf-8")
    assert "third instead" in summary


def test_when_nobody_is_left_the_last_reason_is_told(tmp_path: Path) -> None:
    project = Project(tmp_path)
    steps = "  write: {agent: off, fallback: [off], prompt: x, touches: [a.txt], on: {error: end}}\n"
    file = project.flow(steps, head=HEAD + AGENTS)

    run, state = project.run(file)

    assert outcome(state, "write") == "error"
    (step,) = [step for step in project.view(run).steps if step.path == "write"]
    assert len(step.passed_over) == 1


@pytest.mark.req("R074", "R130")
def test_a_call_that_a_quota_refused_is_no_call_and_leaves_room_for_the_fallback(tmp_path: Path) -> None:
    project = Project(tmp_path)
    agents = (
        "agents:\n  w: {type: scripted, script: cast.yaml}\n  other: {type: scripted}\nlimits: {calls: 2}\n"
    )
    steps = (
        "  a: {agent: w, prompt: x, touches: []}\n"
        "  b: {agent: w, fallback: [other], prompt: x, touches: []}\n"
    )
    file = project.flow(steps, head=HEAD + agents, cast="- {match: {step: b}, error: quota}\n")

    run, state = project.run(file)

    assert state.ended is not None and state.ended.status == "passed"
    (step,) = [step for step in project.view(run).steps if step.path == "b"]
    assert (step.result["agent"], step.calls) == ("other", 1)
    book = state.ledgers[Address("")]
    assert (book.spent.calls, book.unknown) == (2, Amounts())
