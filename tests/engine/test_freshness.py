"""Approvals and verdicts belong to trees: once the work has moved on they are stale, and shown as such (issue 5)."""

from __future__ import annotations

from podium.core.messages import Approve
from podium.core.types import Address
from podium.views.files.run_json import run_data
from podium.views.text.terminal import run_lines
from tests.engine.kit import TEAM, Project, outcome
from tests.views.kit import conforms

BACK = """
  work: {agent: w, prompt: x}
  ok: {human: "Good?"}
  land: {human: "Land?", on: {rejected: work}}
"""
BESIDE = """
  both:
    parallel: 2
    steps:
      one: {agent: w, prompt: x, touches: ["a/**"], gates: [{review: [w]}]}
      two: {agent: w, prompt: x, touches: ["b/**"], gates: [{review: [w]}]}
"""
CAST = """
- {match: {step: both/one}, write: {a/x: "1"}}
- {match: {step: both/two}, write: {b/x: "1"}}
- {match: {step: work, visit: 1}, write: {a: "1"}}
- {match: {step: work}, write: {a: "2"}}
- {match: {step: "**"}, verdict: {decision: approve, score: 9}}
"""


def test_what_was_approved_before_a_step_back_is_shown_as_stale(project: Project) -> None:
    run, _ = project.run(project.flow(BACK, head=TEAM, cast=CAST))
    project.say(run, Approve(Address("ok"), "approve", "ann"))
    project.resume(run)
    project.say(run, Approve(Address("land"), "reject", "ann", "not yet"))
    project.resume(run)

    view = project.view(run)

    assert {step.path: step.stale for step in view.steps} == {
        "work": True, "ok": True, "land": True, "work~2": False, "ok~2": False,
    }  # fmt: skip
    assert [pending.path for pending in view.pending] == ["ok~2"]
    lines = [line for line in run_lines(view, view.at) if "  stale" in line]
    assert [line.split()[1] for line in lines] == ["work", "ok", "land"]
    conforms(run_data(view), "run")


def test_a_verdict_on_a_member_is_stale_once_it_was_merged_onto_a_moved_head(project: Project) -> None:
    """The commands run again on what was joined; nobody has judged it."""
    run, state = project.run(project.flow(BESIDE, head=TEAM, cast=CAST))

    assert outcome(state, "both") == "passed", project.events(run)[-5:]
    judged = [step for step in project.view(run).steps if step.verdict is not None]
    assert sorted(step.stale for step in judged) == [False, True]
    assert not any(step.stale for step in project.view(run).steps if step.verdict is None)
