"""A run goes on in another one: what was found out is taken over, what was edited is done again, nothing is paid twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from podium.app.run.rerun import RerunPreview, preview_rerun, start_rerun
from podium.core.events import ApprovalAsked, AttemptEnded, Event, JoinEnded, RunStarted
from podium.core.hash_chain import RunId
from podium.core.messages import Approve
from podium.core.state import State
from podium.core.types import Address, Millis
from podium.errors import ConfigurationError
from podium.ports.runtime import ManualWorkDone
from podium.tasks.prior_results import prior_results_of
from tests.engine.kit import TEAM, Project, drive, git, outcome, output

pytestmark = pytest.mark.slow

CAST = "".join(
    f"- {{match: {{step: s{n}}}, text: t{n}, cost_usd: 0.5, usage: {{input: 10, output: 5}}, write: {{s{n}.txt: '{n}'}}}}\n"
    for n in range(1, 13)
)
TWELVE = "".join(f"  s{n}: {{agent: w, prompt: Do part {n}.}}\n" for n in range(1, 13))


def made(project: Project, run: RunId) -> list[str]:
    """Where agents or commands were really at work."""
    return [event.path for event in _ends(project.events(run)) if not event.reused]


def _ends(events: Sequence[Event]) -> list[AttemptEnded]:
    return [event for event in events if isinstance(event, AttemptEnded)]


def went_on(project: Project, prospect: RerunPreview, **options: Any) -> tuple[RunId, State]:
    begun = start_rerun(project.facade, prospect, **options)
    return begun.run, drive(project.facade, begun.run, park=True)


def paths(parts: Sequence[Any]) -> list[str]:
    return [part.path for part in parts]


@pytest.mark.req("R039")
def test_an_edited_prompt_is_asked_again_and_everything_before_it_is_kept(project: Project) -> None:
    """X10: the prompt of step 9 of 12 is changed; 1 to 8 are reused, 9 to 12 run, and the saving is told first."""
    first, state = project.run(project.flow(TWELVE, head=TEAM, cast=CAST))
    assert state.ended is not None
    assert state.ended.status == "passed"
    better = "- {match: {step: s9, prompt: well}, text: better, cost_usd: 0.5, write: {s9.txt: better}}\n"
    project.flow(TWELVE.replace("Do part 9.", "Do part 9 well."), head=TEAM, cast=better + CAST)

    prospect = preview_rerun(project.facade, first)

    assert paths(prospect.reused) == [f"s{n}" for n in range(1, 9)]
    assert paths(prospect.repeated) == [f"s{n}" for n in range(9, 13)]
    assert sum(part.cost for part in prospect.reused) == 4_000_000
    assert prospect.next == ("s9",)
    second, after = went_on(project, prospect)
    assert made(project, second) == [f"s{n}" for n in range(9, 13)]
    assert after.ended is not None
    assert after.ended.status == "passed"


def test_a_step_that_is_asked_anew_and_answers_as_before_spares_the_rest(project: Project) -> None:
    """What comes after it is asked the same as before, so the answers stand."""
    first, _ = project.run(project.flow(TWELVE, head=TEAM, cast=CAST))
    project.flow(TWELVE.replace("Do part 9.", "Do part 9 well."), head=TEAM, cast=CAST)

    second, _ = went_on(project, preview_rerun(project.facade, first))

    assert made(project, second) == ["s9"]


def test_what_a_run_has_spent_counts_against_the_one_that_goes_on_from_it(project: Project) -> None:
    """Nothing is paid twice, and no limit begins again from nothing."""
    limited = TEAM + "limits: {usd: 6.4}\n"
    first, _ = project.run(project.flow(TWELVE, head=limited, cast=CAST))
    project.flow(TWELVE.replace("Do part 12.", "Do part 12 well."), head=limited, cast=CAST)

    second, after = went_on(project, preview_rerun(project.facade, first))

    facts = after.started
    assert facts is not None
    assert (facts.run.continues, facts.run.carried.usd) == (first, 6_000_000)
    assert made(project, second) == []
    assert [outcome(after, f"s{n}") for n in range(1, 13)] == ["passed"] * 11 + ["failed"]
    assert after.ended is not None and after.ended.reason == "limit"


@pytest.mark.req("X10", "R130")
@pytest.mark.parametrize("limits", ["{usd: 0.5}", "{calls: 1}"])
def test_limits_of_a_called_workflow_and_of_a_step_go_on_where_they_were(
    project: Project, limits: str
) -> None:
    """An edit, a step done again or a fork is no way around them."""
    child = f"podium: 1\nname: child\nagents: {{w: {{type: scripted, script: cast.yaml}}}}\nlimits: {limits}\nsteps:\n"
    project.write("child.yaml", child + "  b: {agent: w, prompt: B., touches: [], estimate: {usd: 0.1}}\n")
    steps = (
        "  a: {agent: w, prompt: A., touches: [], limits: {calls: 1}}\n"
        "  sub: {workflow: child.yaml}\n"
        "  c: {run: [echo, one]}\n"
    )
    first, _ = project.run(project.flow(steps, head=TEAM, cast="- {match: {step: b}, cost_usd: 0.6}\n"))

    again, state = went_on(project, preview_rerun(project.facade, first, step="a"))
    assert (made(project, again), outcome(state, "a")) == ([], "failed")
    assert state.ledgers[Address("a")].spent.calls == 1
    other, state = went_on(project, preview_rerun(project.facade, first, step="b"))
    assert (made(project, other), outcome(state, "sub/b")) == ([], "failed")
    fork, _ = went_on(project, preview_rerun(project.facade, first, step="c", downstream=True))
    third, state = went_on(project, preview_rerun(project.facade, fork, step="b"))
    assert (made(project, third), outcome(state, "sub/b")) == ([], "failed")
    assert state.started is not None and state.started.run.carried_time > 0


def test_a_step_that_is_done_again_takes_along_only_what_depends_on_it(project: Project) -> None:
    steps = (
        "  a: {run: [echo, same]}\n"
        "  b: {run: [sh, -c, 'date +%N']}\n"
        "  c: {run: [echo, '${{ steps.b.output }}']}\n"
        "  d: {run: [echo, '${{ steps.a.output }}']}\n"
    )
    first, _ = project.run(project.flow(steps))

    second, state = went_on(project, preview_rerun(project.facade, first, step="b"))
    third, _ = went_on(project, preview_rerun(project.facade, first, step="b", downstream=True))

    assert made(project, second) == ["b", "c"]
    assert output(state, "c") == output(state, "b")
    assert made(project, third) == ["b", "c", "d"]


def test_a_fork_shares_the_past_and_leaves_the_first_run_as_it_is(project: Project) -> None:
    head = TEAM + "inputs: {word: {type: string, default: red}}\n"
    steps = "  a: {run: [echo, first]}\n  b: {run: [echo, '${{ inputs.word }}']}\n"
    first, _ = project.run(project.flow(steps, head=head))
    before = project.events(first)

    prospect = preview_rerun(project.facade, first, step="b", downstream=True, inputs={"word": "blue"})
    second, state = went_on(project, prospect)

    assert made(project, second) == ["b"]
    assert output(state, "b") == "blue"
    assert project.events(first) == before


def test_a_retried_step_is_taken_over_with_its_feedback_gates_and_tree(project: Project) -> None:
    """Also the attempt that failed its gate: the next one was asked with its feedback in the prompt."""
    cast = (
        "- {match: {step: fix, attempt: 1}, write: {x.txt: bad}}\n"
        "- {match: {step: fix, attempt: 2}, write: {x.txt: good}}\n"
    )
    steps = "  fix: {agent: w, prompt: Mend it., gates: [{run: [grep, good, x.txt]}]}\n  last: {run: [cat, x.txt]}\n"
    first, _ = project.run(project.flow(steps, head=TEAM, cast=cast))
    project.flow(steps.replace("[cat, x.txt]", "[wc, -c, x.txt]"), head=TEAM, cast=cast)

    second, state = went_on(project, preview_rerun(project.facade, first))

    assert made(project, second) == ["last"]
    assert output(state, "last") == "4 x.txt"
    refs = git(project.root, "for-each-ref", "--format=%(refname)", f"refs/podium/{second}")
    assert len(refs.splitlines()) >= 2


def test_parallel_work_that_was_joined_is_not_joined_with_new_gates(project: Project) -> None:
    cast = "- {match: {step: l}, write: {l.txt: l}}\n- {match: {step: r}, write: {r.txt: r}}\n"
    steps = (
        "  both:\n    parallel: true\n    steps:\n"
        "      l: {agent: w, prompt: L., touches: [l.txt], gates: [{run: [test, -e, l.txt]}]}\n"
        "      r: {agent: w, prompt: R., touches: [r.txt], gates: [{run: [test, -e, r.txt]}]}\n"
        "  last: {run: [cat, l.txt, r.txt]}\n"
    )
    first, _ = project.run(project.flow(steps, head=TEAM, cast=cast))
    project.flow(steps.replace("[cat, l.txt, r.txt]", "[cat, r.txt, l.txt]"), head=TEAM, cast=cast)

    prospect = preview_rerun(project.facade, first)
    second, state = went_on(project, prospect)

    assert paths(prospect.repeated) == ["last"]
    assert made(project, second) == ["last"]
    assert output(state, "last") == "rl"
    joins = [[e.tree for e in project.events(run) if isinstance(e, JoinEnded)] for run in (first, second)]
    assert joins[0] == joins[1] != []


def test_an_approval_stands_for_the_same_question_about_the_same_tree(project: Project) -> None:
    steps = "  ok: {human: 'Good?'}\n  last: {run: [echo, one]}\n"
    first, _ = project.run(project.flow(steps))
    project.say(first, Approve(Address("ok"), "approve", "ann"))

    project.flow(steps.replace("one", "two"))
    second, state = went_on(project, preview_rerun(project.facade, first))
    assert (outcome(state, "ok"), output(state, "last")) == ("passed", "two")
    assert made(project, second) == ["last"]

    project.flow(steps.replace("Good?", "Really good?"))
    prospect = preview_rerun(project.facade, first)
    _, asked = went_on(project, prospect)
    assert prospect.next == ("ok",)
    assert outcome(asked, "ok") == ""


@pytest.mark.req("X10", "R006")
def test_what_a_person_did_by_hand_is_taken_over_while_the_task_is_the_same(project: Project) -> None:
    steps = (
        "  paint: {agent: human, prompt: Paint it., touches: [art.txt]}\n"
        "  look: {run: [sh, -c, 'cat art.txt; echo one']}\n"
    )
    first, _ = project.run(project.flow(steps))
    (project.facade.paths.run_dir(first) / "by_hand/paint/1/work/art.txt").write_text("blue\n", "utf-8")
    project.say(first, ManualWorkDone(Address("paint"), "ann", "It is blue."))

    project.write("flow.yaml", (project.root / "flow.yaml").read_text().replace("echo one", "echo two"))
    prospect = preview_rerun(project.facade, first)
    second, state = went_on(project, prospect)

    assert (paths(prospect.reused), prospect.next) == (["paint"], ("look",))
    assert output(state, "look") == "blue\ntwo"
    assert made(project, second) == ["look"]
    assert not (project.facade.paths.run_dir(second) / "by_hand").exists()

    project.write("flow.yaml", (project.root / "flow.yaml").read_text().replace("Paint it.", "Paint it red."))
    prospect = preview_rerun(project.facade, first)
    third, state = went_on(project, prospect)
    assert (paths(prospect.reused), prospect.next) == ([], ("paint",))
    assert outcome(state, "paint") == ""
    assert "Paint it red." in (project.facade.paths.run_dir(third) / "by_hand/paint/1/TASK.md").read_text(
        "utf-8"
    )


@pytest.mark.req("X2", "X3")
def test_what_is_booked_for_calls_without_a_price_is_not_reset_by_going_on_in_another_run(
    project: Project,
) -> None:
    """Neither is what was reserved for a call that never came to its end."""
    head = TEAM + "  shy: {type: command, command: [echo, hi]}\nlimits: {usd: 5}\n"
    steps = (
        "  a: {agent: shy, prompt: A., no_change: pass, estimate: {usd: 2}}\n"
        "  b: {run: [echo, one]}\n"
        "  c: {agent: w, prompt: C., estimate: {usd: 4}}\n"
    )
    first, state = project.run(project.flow(steps, head=head), accepts=("*",))
    assert outcome(state, "c") == "failed"  # $2 are booked for the first call, so that $4 do not fit.
    assert state.ledgers[Address("")].unknown.usd == 2_000_000

    project.write("flow.yaml", (project.root / "flow.yaml").read_text().replace("one", "two"))
    second, state = went_on(project, preview_rerun(project.facade, first))

    assert made(project, second) == ["b"]
    assert state.ledgers[Address("")].unknown.usd == 2_000_000
    assert outcome(state, "c") == "failed"
    started = project.events(second)[0]
    assert isinstance(started, RunStarted)
    assert started.run.carried_unknown == 2_000_000


@pytest.mark.req("X11")
def test_a_consent_is_never_taken_over() -> None:
    """It was about one attempt that may have taken effect; the same words about another one are another matter."""

    def asked(path: str) -> ApprovalAsked:
        return ApprovalAsked(Millis(0), Address(path), "human", (), 1)

    past = prior_results_of(RunId("r"), [asked("push#1/!consent"), asked("push#1/!exhausted"), asked("ok")])

    assert set(past.approvals) == {"push#1/!exhausted", "ok"}


def test_a_landing_that_was_made_is_not_made_again(project: Project) -> None:
    cast = "- {match: {step: w}, write: {x.txt: x}}\n"
    steps = "  w: {agent: w, prompt: Write., touches: [x.txt]}\n  in: {git: {land: main, message: Work}}\n  last: {run: [echo, one]}\n"
    first, _ = project.run(project.flow(steps, head=TEAM, cast=cast))
    tip = git(project.root, "rev-parse", "main")
    project.write("flow.yaml", (project.root / "flow.yaml").read_text().replace("one", "two"))

    second, state = went_on(project, preview_rerun(project.facade, first))

    assert made(project, second) == ["last"]
    assert outcome(state, "in") == "passed"
    assert git(project.root, "rev-parse", "main") == tip


def test_a_run_that_was_not_over_is_closed_by_the_one_that_replaces_it(project: Project) -> None:
    steps = "  a: {run: [echo, x]}\n  ok: {human: 'Good?'}\n"
    first, _ = project.run(project.flow(steps))
    project.flow(steps.replace("Good?", "Fine?"))

    second, state = went_on(project, preview_rerun(project.facade, first), closed_by="ann")

    assert project.view(first).status == "cancelled"
    assert state.ended is None
    assert made(project, second) == []


def test_an_answer_that_is_gone_is_paid_for_or_not_given(project: Project) -> None:
    """Counted on when the run began, and not to be found later: it is no way around a limit."""
    limited = TEAM + "limits: {calls: 2}\n"
    steps = "  a: {agent: w, prompt: A., touches: []}\n  b: {agent: w, prompt: B., touches: []}\n"
    first, _ = project.run(project.flow(steps, head=limited))
    prospect = preview_rerun(project.facade, first, step="b")
    prepared = prospect.prepared
    assert prepared.past is not None
    forgetful = replace(prospect, prepared=replace(prepared, past=replace(prepared.past, attempts={})))

    second, state = went_on(project, forgetful)

    assert [(end.kind, end.reason, end.used.calls) for end in _ends(project.events(second))] == [
        ("transient", "gone", 0)
    ]
    assert outcome(state, "a") == "failed"


def test_what_was_taken_over_is_told_with_what_it_really_cost(project: Project) -> None:
    """Also in the third run, which finds a copy of the answer in the second."""
    steps = "  a: {agent: w, prompt: A., touches: []}\n  b: {run: [echo, one]}\n  c: {run: [echo, two]}\n"
    cast = "- {match: {step: a}, cost_usd: 0.5, usage: {input: 30, output: 4}}\n"
    first, _ = project.run(project.flow(steps, head=TEAM, cast=cast))
    second, _ = went_on(project, preview_rerun(project.facade, first, step="b"))

    kept = preview_rerun(project.facade, second, step="c")
    anew = preview_rerun(project.facade, second, step="a")

    assert [(part.path, part.cost, part.tokens) for part in kept.reused] == [("a", 500_000, 34), ("b", 0, 0)]
    assert (anew.repeated[0].path, anew.repeated[0].cost, anew.repeated[0].tokens) == ("a", 500_000, 34)
    third, _ = went_on(project, kept)
    assert preview_rerun(project.facade, third, step="a").repeated[0].cost == 500_000


@pytest.mark.parametrize("where", ["top", "step"])
def test_a_step_that_a_limit_ended_is_what_a_look_ahead_begins_with(project: Project, where: str) -> None:
    """Whether it can be paid now, the run finds out; something is left to be done."""
    top, own = ("limits: {calls: 1}\n", "") if where == "top" else ("", ", limits: {usd: 0.1}")
    steps = f"  a: {{agent: w, prompt: A., touches: []}}\n  b: {{agent: w, prompt: B., touches: []{own}}}\n"
    first, state = project.run(project.flow(steps, head=TEAM + top))
    assert outcome(state, "b") == "failed"

    prospect = preview_rerun(project.facade, first, step="b")
    _, state = went_on(project, prospect)

    assert (paths(prospect.reused), prospect.next) == (["a"], ("b",))
    assert (outcome(state, "a"), outcome(state, "b")) == ("passed", "failed")


def test_a_crash_of_the_new_run_loses_nothing_of_the_past(project: Project) -> None:
    """Whoever carries it on later knows the past from the store, not from the process that looked ahead."""
    first, _ = project.run(project.flow("  a: {run: [echo, x]}\n  b: {run: [echo, y]}\n"))
    prospect = preview_rerun(project.facade, first, step="b")
    run = start_rerun(project.facade, prospect).run

    state = project.resume(run)

    assert state.ended is not None
    assert state.ended.status == "passed"
    assert made(project, run) == ["b"]


def test_a_look_ahead_changes_nothing(project: Project) -> None:
    first, _ = project.run(project.flow(TWELVE, head=TEAM, cast=CAST))
    refs = git(project.root, "for-each-ref")

    preview_rerun(project.facade, first, step="s3")

    assert git(project.root, "for-each-ref") == refs
    assert [head.run for head in project.store.heads()] == [first]


@pytest.mark.parametrize(("step", "said"), [("nowhere", "has not entered"), ("s13", "has not entered")])
def test_a_step_that_was_never_reached_is_named_with_those_that_were(
    project: Project, step: str, said: str
) -> None:
    first, _ = project.run(project.flow(TWELVE, head=TEAM, cast=CAST))

    with pytest.raises(ConfigurationError, match=said) as caught:
        preview_rerun(project.facade, first, step=step)

    assert "s12" in str(caught.value.hint)


def test_an_iteration_is_named_by_its_number_or_its_key(project: Project) -> None:
    """And nothing else is meant by the key alone: a step may have the same name."""
    steps = (
        "  red: {run: [echo, first]}\n"
        "  each:\n    for_each: {in: [red, blue], as: colour, key: colour}\n"
        "    run: [echo, '${{ colour }}']\n"
    )
    first, _ = project.run(project.flow(steps.replace("in: [red, blue]", "in: \"['red', 'blue']\"")))

    for again, expected in (("each[red]", "each[1]"), ("each[2]", "each[2]"), ("red", "red")):
        assert preview_rerun(project.facade, first, step=again).source.without == (expected,)
