"""A block with a driver, run by the command: what it may decide, and what becomes of an answer that is not legal."""

from __future__ import annotations

import pytest

from podium.core.hash_chain import RunId
from tests.engine.kit import TEAM, Project
from tests.frontends.test_running import call, code, newest

HEAD = TEAM + "roles: {lead: {agent: w}}\ndriver: lead\n"
STEPS = """\
  plan: {agent: w, prompt: Plan, touches: [plan.txt], required: true}
  notes: {agent: w, prompt: Notes, touches: [notes.txt]}
  build: {agent: w, prompt: "Build. {{ feedback }}", touches: [made.txt], retry: {attempts: 1, on_exhausted: fail}, gates: [{name: made, run: [grep, -qx, good, made.txt]}]}
"""
WORK = "- {match: {step: plan}, write: {plan.txt: p}}\n- {match: {step: build, visit: 2}, write: {made.txt: good}}\n"


def decides(step: str, go: str, guidance: str = "") -> str:
    return f'- {{match: {{step: {step}}}, output: {{go: {go}, reason: because, guidance: "{guidance}"}}}}\n'


def outcomes(project: Project) -> dict[str, str | None]:
    view = project.view(RunId(newest(project)))
    return {step.path: step.outcome for step in view.steps if step.depth == 0}


@pytest.mark.req("R233")
def test_a_driver_leaves_a_step_out_and_sends_a_failed_one_back_with_its_words(project: Project) -> None:
    cast = (
        WORK
        + decides("after_plan", "build")
        + decides("after_failed_build", "build", "Write made.txt")
        + decides("after_build", "end")
    )
    project.flow(STEPS, head=HEAD, cast=cast)

    assert code(call("run", "flow.yaml", "--sandbox", "none")) == 0

    assert outcomes(project) == {
        "plan": "passed",
        "after_plan": "passed",
        "build": "failed",
        "after_failed_build": "passed",
        "build~2": "passed",
        "after_build": "passed",
    }
    assert "build: because" in call("show").stdout
    prompt = call("logs", "@1", "build~2").stdout
    assert "Write made.txt" in prompt


@pytest.mark.req("R233")
@pytest.mark.parametrize("go", ["end", "deploy"])
def test_nobody_passes_over_a_failure_and_a_person_is_asked_after_one_repair(
    project: Project, go: str
) -> None:
    project.flow(
        STEPS, head=HEAD, cast=WORK + decides("after_plan", "build") + decides("after_failed_build", go)
    )

    assert code(call("run", "flow.yaml", "--sandbox", "none")) == 6

    (question,) = project.view(RunId(newest(project))).pending
    assert question.kind == "exhausted"
    assert question.path.startswith("after_failed_build#2/")

    assert code(call("approve", "--action", "accept")) == 1
    assert "notes" not in outcomes(project)
