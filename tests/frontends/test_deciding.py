"""What a person decides about a run, from the command line: a circle, a notice, a value."""

from __future__ import annotations

import pytest

from podium.core.events import AttemptStarted, StepEntered
from tests.engine.kit import HEAD, TEAM, Project, git
from tests.frontends.test_running import ASK, call, code, newest

CIRCLE = """\
  plan: {agent: w, prompt: Plan it, touches: [plan.txt]}
  make: {agent: w, prompt: Make it, touches: [made.txt]}
  test: {run: ['false'], on: {failed: make}}
"""
IN_CIRCLES = "- {match: {step: plan}, write: {plan.txt: p}}\n" + "".join(
    f"- {{match: {{step: make, visit: {n}}}, text: try {n}, write: {{made.txt: '{n}'}}}}\n" for n in (1, 2)
)


@pytest.mark.req("R129")
@pytest.mark.parametrize(
    ("answer", "entered"),
    [
        (("retry_different", "--from", "plan"), ("plan~2", None)),
        (("force_complete", "--use", "make"), ("make~3", "make")),
        (("force_complete", "--use", "make~1"), ("make~3", "make")),
    ],
)
def test_a_person_decides_about_a_circle_with_the_details(
    project: Project, answer: tuple[str, ...], entered: tuple[str, str | None]
) -> None:
    head = TEAM + "breaker: {visits: 2}\n"
    project.flow(CIRCLE, head=head, cast=IN_CIRCLES)
    assert code(call("run", "flow.yaml", "--sandbox", "none")) == 6
    count = len(project.events(project.store.heads()[0].run))

    call("approve", "--action", *answer)

    after = project.events(project.store.heads()[0].run)[count:]
    first = next(event for event in after if isinstance(event, StepEntered) and event.role == "step")
    assert (first.path, first.adopt) == entered


@pytest.mark.req("R129")
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (
            ("retry_different", "--from", "pln"),
            "'pln' is not a step to go back to; choose from plan, make",
        ),
        (("force_complete", "--use", "make~9"), "there is no result 'make~9'; available: make, make~2"),
    ],
)
def test_a_name_that_is_not_there_is_refused_and_the_question_stays_open(
    project: Project, answer: tuple[str, ...], why: str
) -> None:
    project.flow(CIRCLE, head=TEAM + "breaker: {visits: 2}\n", cast=IN_CIRCLES)
    call("run", "flow.yaml", "--sandbox", "none")

    done = call("approve", "--action", *answer)

    assert (code(done), why in str(done.exception)) == (2, True)
    assert [pending.path for pending in project.view(project.store.heads()[0].run).pending] == ["#1/!advice"]


@pytest.mark.parametrize(("words", "entered"), [((), "make#1"), (("--feedback", "make it blue"), "make#2")])
def test_a_rejection_with_words_grants_one_more_attempt_and_without_them_the_step_fails(
    project: Project, words: tuple[str, ...], entered: str
) -> None:
    flow = "  make: {agent: w, prompt: Make it, retry: {attempts: 1, on_exhausted: human}, gates: [{run: ['false']}]}\n"
    project.flow(flow, head=TEAM, cast="- {match: {step: make}, write: {made.txt: hi}}\n")
    assert code(call("run", "flow.yaml", "--sandbox", "none")) == 6

    done = call("reject", *words)

    events = project.events(project.store.heads()[0].run)
    started = [event for event in events if isinstance(event, AttemptStarted) and event.path == "make"]
    assert f"make#{started[-1].attempt}" == entered
    assert code(done) == (6 if words else 1)


def test_a_plain_yes_to_the_breaker_is_refused_with_a_command_that_a_shell_understands(
    project: Project,
) -> None:
    project.flow(CIRCLE, head=TEAM + "breaker: {visits: 2}\n", cast=IN_CIRCLES)
    call("run", "flow.yaml", "--sandbox", "none")

    done = call("approve")

    hint = str(getattr(done.exception, "hint", ""))
    assert code(done) == 2
    assert hint.startswith(f"podium approve {newest(project)} '#1/!advice' --action WORD, one of proceed, ")


def test_details_of_a_decision_belong_to_the_breaker(project: Project) -> None:
    project.flow(ASK)
    call("run", "flow.yaml", "--sandbox", "none")

    done = call("approve", "--from", "ask")

    assert code(done) == 2
    assert "--from and --use" in str(done.exception)


@pytest.mark.req("C28", "R191")
def test_a_notice_is_vetoed_while_the_run_waits_for_something_else(project: Project) -> None:
    steps = """\
  make: {agent: w, prompt: Make it, touches: [made.txt]}
  told: {human: "Good?", level: notify, on: {rejected: make}}
  ask: {human: "Land it?"}
"""
    cast = "- {match: {prompt: make it blue}, write: {made.txt: blue}}\n- {match: {step: make}, write: {made.txt: red}}\n"
    project.flow(steps, head=TEAM, cast=cast)
    assert code(call("run", "flow.yaml", "--sandbox", "none")) == 6
    run = project.store.heads()[0].run

    done = call("reject", run, "told", "--feedback", "make it blue", "--by", "eve")
    again = call("reject", run, "make")

    assert (code(done), "told: vetoed by eve" in done.stderr) == (6, True)
    assert project.view(run).pending[0].path == "ask~2"
    assert git(project.root, "show", f"{project.view(run).tree}:made.txt") == "blue"
    assert (code(again), "is not waiting" in str(again.exception)) == (2, True)


@pytest.mark.req("R193")
@pytest.mark.parametrize("words", [("approve",), ("approve", "--action", "answer"), ("answer", '{"n": "x"}')])
def test_a_question_that_wants_a_value_is_not_answered_without_one(
    project: Project, words: tuple[str, ...]
) -> None:
    project.flow("  pick: {human: 'How many?', output: {schema: {n: int}}}\n")
    call("run", "flow.yaml", "--sandbox", "none")

    done = call(*words)

    assert code(done) == 2
    if words[0] == "approve":
        assert getattr(done.exception, "hint", "") == f"podium answer VALUE {newest(project)} pick"
    else:
        assert "n: " in str(done.exception)
    assert code(call("answer", '{"n": 3}')) == 0


@pytest.mark.req("R195")
def test_who_has_approved_may_reject_as_long_as_another_yes_is_missing(project: Project) -> None:
    head = HEAD + "people: {ops: [ada, grace]}\n"
    project.flow("  ok: {human: 'Go?', by: [ops], approvals: 2}\n", head=head)
    call("run", "flow.yaml", "--sandbox", "none")
    call("approve", "--by", "ada")

    again = call("approve", "--by", "ada")
    other = call("reject", "--by", "ada", "--feedback", "no wait")

    assert (code(again), "ada has already approved 'ok'" in str(again.exception)) == (2, True)
    assert (code(other), "ok: rejected by ada" in other.stderr) == (4, True)
    assert project.view(project.store.heads()[0].run).status == "rejected"
