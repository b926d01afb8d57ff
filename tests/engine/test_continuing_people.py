"""A run that continues another: guidance and answers of people are kept, and the preview names what comes next."""

from __future__ import annotations

import pytest

from podium.app.run.rerun import preview_rerun
from podium.core.events import ApprovalGiven
from podium.core.hash_chain import RunId
from podium.core.messages import Approve, Guide
from podium.core.types import Address
from tests.engine.kit import TEAM, Project, outcome, output
from tests.engine.test_continuing import made, went_on

pytestmark = pytest.mark.slow


GUIDED = (
    "  ask: {human: 'Go on?'}\n"
    "  a: {agent: w, prompt: Do A., touches: []}\n"
    "  review: {review: [j], of: a, on: {rejected: a}}\n"
    "  last: {run: [echo, one]}\n"
)
GUIDED_HEAD = TEAM.replace("agents:\n", "agents:\n  j: {type: scripted, script: judge.yaml}\n")


def prompt_of(project: Project, run: RunId, path: str) -> str:
    folder = project.facade.paths.run_dir(run) / f"agent_logs/{path}"
    return next(folder.glob("prompt*")).read_text("utf-8")


def guided_run(project: Project) -> RunId:
    project.write(
        "judge.yaml",
        "- {match: {step: review, visit: 1}, verdict: {decision: reject, findings: [{severity: major, text: bad}]}}\n"
        "- {verdict: {decision: approve}}\n",
    )
    run, _ = project.run(project.flow(GUIDED, head=GUIDED_HEAD))
    project.say(run, Guide("ann", "Be brief."), drives=False)
    project.say(run, Approve(Address("ask"), "approve", "ann"))
    return run


@pytest.mark.req("R198", "X10")
def test_guidance_of_an_earlier_visit_is_kept_when_the_definition_changes(project: Project) -> None:
    """Its results were given for that request, so they are reused; without the guidance they would be paid again."""
    first = guided_run(project)
    assert "Be brief." in prompt_of(project, first, "a/1")
    project.flow(GUIDED.replace("echo, one", "echo, two"), head=GUIDED_HEAD)

    second, state = went_on(project, preview_rerun(project.facade, first))

    assert (made(project, second), output(state, "last")) == (["last"], "two")


@pytest.mark.req("R198", "X10")
def test_a_step_that_works_again_receives_the_guidance_that_its_visits_received(project: Project) -> None:
    """Also in a run that continues the one that continued the first."""
    first = guided_run(project)

    second, _ = went_on(project, preview_rerun(project.facade, first, step="a"))
    third, _ = went_on(project, preview_rerun(project.facade, second, step="a"))

    for run in (second, third):
        assert "a" in made(project, run)
        assert "Be brief." in prompt_of(project, run, "a/1")


@pytest.mark.req("R198", "X10")
def test_guidance_that_no_attempt_has_received_goes_to_the_first_step_that_works(project: Project) -> None:
    steps = "  a: {agent: w, prompt: A., touches: []}\n  ask: {human: 'Go on?'}\n  b: {agent: w, prompt: B., touches: []}\n"
    first, _ = project.run(project.flow(steps, head=TEAM))
    project.say(first, Guide("ann", "Be brief."), drives=False)
    project.flow(steps.replace("Go on?", "Really?"), head=TEAM)

    second, _ = went_on(project, preview_rerun(project.facade, first))
    project.say(second, Approve(Address("ask"), "approve", "ann"))

    assert made(project, second) == ["b"]
    assert "Be brief." in prompt_of(project, second, "b/1")


NEXT_STEPS = {
    "agent": "{agent: w, prompt: B., touches: []}",
    "command": "{run: [echo, b]}",
    "person": "{human: 'Good?'}",
    "by hand": "{agent: human, prompt: Paint it., touches: [art.txt]}",
    "signal": "{wait: {signal: go}}",
    "timer": "{wait: {timer: 1h}}",
    "file": "{wait: {file: ready.txt}}",
    "landing": "{git: {branch: feature}}",
    "loop": "{for_each: [1, 2], run: [echo, b]}",
    "block": "{timeout: 1h, steps: {inner: {wait: {signal: go}}}}",
}


@pytest.mark.req("X10")
@pytest.mark.parametrize("kind", NEXT_STEPS)
def test_the_preview_names_the_step_with_which_the_new_run_begins(project: Project, kind: str) -> None:
    """Whatever continues it: a process, a person, a signal, a timer, a file."""
    steps = f"  a: {{human: 'Go on?'}}\n  b: {NEXT_STEPS[kind]}\n"
    first, _ = project.run(project.flow("  a: {human: 'Go on?'}\n  b: {wait: {signal: old}}\n", head=TEAM))
    project.say(first, Approve(Address("a"), "approve", "ann"))
    project.flow(steps, head=TEAM)

    begins = preview_rerun(project.facade, first).next

    expected = {"loop": ("b[1]",), "block": ("b/inner",)}
    assert begins == expected.get(kind, ("b",))


@pytest.mark.req("X10")
def test_what_follows_a_command_that_was_tried_twice_is_reused_too(project: Project) -> None:
    """The pause before its second try has passed in the earlier run."""
    steps = (
        "  flaky: {run: [sh, -c, 'test -e $HOME/x || { touch $HOME/x; exit 1; }'], retry: {attempts: 2, backoff: {first: 1s}}}\n"
        "  last: {run: [echo, one]}\n"
    )
    steps = steps.replace("$HOME/x", str(project.root / ".podium/x"))
    first, state = project.run(project.flow(steps))
    assert outcome(state, "flaky") == "passed"
    project.flow(steps.replace("one", "two"))

    prospect = preview_rerun(project.facade, first)
    second, _ = went_on(project, prospect)

    assert (prospect.next, made(project, second)) == (("last",), ["last"])


@pytest.mark.req("X10")
def test_an_answer_taken_over_is_marked_with_the_run_in_which_it_was_given(project: Project) -> None:
    steps = "  ok: {human: 'Good?'}\n  last: {run: [echo, one]}\n"
    first, _ = project.run(project.flow(steps))
    project.say(first, Approve(Address("ok"), "approve", "ann", reused="a forged run"))
    project.flow(steps.replace("one", "two"))
    second, _ = went_on(project, preview_rerun(project.facade, first))
    project.flow(steps.replace("one", "three"))
    third, _ = went_on(project, preview_rerun(project.facade, second))

    answers = [
        [event.reused for event in project.events(run) if isinstance(event, ApprovalGiven)]
        for run in (first, second, third)
    ]
    assert answers == [[""], [first], [first]]
    audit = (project.facade.paths.run_dir(third) / "audit.log").read_text("utf-8")
    assert "answer    ok approve by ann" in audit and f"[from {first}]" in audit
    assert [step.reused for step in project.view(third).steps if step.path == "ok"] == [first]
