"""What must hold for every workflow in every world: life, log, crashes and the end of a run (core.md 9)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from podium.core.decide.decide import decide
from podium.core.effects import CancelAttempt
from podium.core.events import AttemptStarted, CancelOrdered, Event, RunEnded
from podium.core.evolve.evolve import evolve, fold, initial
from podium.core.evolve.lifecycle import IllegalEvent
from podium.core.messages import Cancel, Refusal
from podium.core.state import Leaf, State
from podium.core.turn import turn
from podium.core.types import Millis, Path
from podium.simulate.world import DelayedReport
from tests.core.bias import TIMELESS, Bias
from tests.core.driver import Run, drive, go_on, resume
from tests.core.events_of import REPEATABLE
from tests.core.oracles import check_once, still_asked, view
from tests.core.oracles_limits import by_hand
from tests.core.story import Story
from tests.core.strategies import Case, cases
from tests.core.strategies import case as make_case
from tests.core.worlds import Stubborn, Wild

ANY = Bias()
WITH_ONCE = Bias(once=0.5, tight=0, totals=False, depth=2)


@given(cases(ANY))
@example(make_case(486, ANY))  # answers that are alike end the tries
def test_every_run_ends_and_leaves_nothing_behind(case: Case) -> None:
    """P1, R103: nothing is pending, held, queued, claimed or alive when a run is over."""
    state = drive(case.workflow, case.world()).state
    assert state.ended is not None
    left = (state.pending, state.queue, state.claims, state.joins)
    assert not any(left), left
    assert state.busy == 0
    for path, ledger in state.ledgers.items():
        assert (ledger.busy, ledger.held.usd, ledger.held.tokens, ledger.held.calls) == (0, 0, 0, 0), path
    for path, instance in state.instances.items():
        assert instance.phase == "ended", path


@given(cases(Bias(transitions=(5, 25))))
def test_people_who_always_want_one_more_are_stopped_by_the_limit(case: Case) -> None:
    """P1, R130: every question counts as a transition, so a scripted approver cannot keep a run alive for ever."""
    world = Stubborn(case.seed, case.odds)
    assert drive(case.workflow, world).state.ended is not None


@given(cases(ANY))
def test_the_fold_of_the_log_is_the_lived_state(case: Case) -> None:
    """P2, R145."""
    run = drive(case.workflow, case.world())
    assert fold(case.workflow, run.log) == run.state._replace(root=initial(case.workflow).root)


@given(cases(ANY), st.floats(0, 1))
def test_an_event_said_again_or_after_the_end_is_illegal(case: Case, where: float) -> None:
    """P3."""
    log = drive(case.workflow, case.world()).log
    place = int(where * (len(log) - 1))
    state = initial(case.workflow)
    for number, event in enumerate(log[: place + 30]):
        state = evolve(state, event)
        if number >= place and not isinstance(event, REPEATABLE):
            with pytest.raises(IllegalEvent):
                evolve(state, event)
    ended = fold(case.workflow, log)
    for event in log[place : place + 10]:
        with pytest.raises(IllegalEvent):
            evolve(ended, event)


@pytest.mark.req("R156")
@given(cases(ANY))
def test_a_report_that_comes_twice_changes_nothing(case: Case) -> None:
    """P6: the second delivery of each message gives no events, and the log is the same."""
    assert drive(case.workflow, case.world(), twice=True).log == drive(case.workflow, case.world()).log


@pytest.mark.req("R156")
@given(cases(ANY))
def test_everything_happens_at_most_once(case: Case) -> None:
    """P6: attempts, ends and orders to cancel are unique."""
    check_once(Story(case.workflow, drive(case.workflow, case.world()).log))


@given(cases(TIMELESS), st.integers(1, 5))
@example(make_case(692, TIMELESS), 1)  # a scope is tried again after its members ended in another order
def test_the_order_of_completions_does_not_change_the_view(case: Case, pace: int) -> None:
    """P7: under the conditions of core.md 9, timing decides nothing."""
    run, other = drive(case.workflow, case.world()), drive(case.workflow, case.world(pace))
    assert view(other.log) == view(run.log)


VARIABLE = Bias(
    **{
        **{f: getattr(TIMELESS, f) for f in TIMELESS.__slots__},
        "variables": 0.4,
        "when": 0.4,
        "wide_top": 0.9,
        "scopes": 0.6,
        "scope_kinds": ("block", "for_each"),
        "gates": 0.0,
        "people": 0.0,
    }
)


@given(cases(VARIABLE), st.integers(1, 5))
@example(make_case(77, VARIABLE), 1)  # an iteration of a parallel loop is routed to `break`
def test_parallel_branches_do_not_see_each_others_variables(case: Case, pace: int) -> None:
    """P7: with many variables, written and read in branches that run at once."""
    run, other = drive(case.workflow, case.world()), drive(case.workflow, case.world(pace))
    assert view(other.log) == view(run.log)


@given(cases(TIMELESS), st.floats(0, 1))
def test_a_crash_anywhere_changes_nothing_in_the_end(case: Case, where: float) -> None:
    """P10, R146: cut the log after any event, fold, decide, perform what is pending: the same view."""
    run = drive(case.workflow, case.world())
    cut = 1 + int(where * (len(run.log) - 1))
    again = go_on(resume(case.workflow, run.log[:cut], case.world()), case.world())
    assert view(again.log) == view(run.log)


@given(cases(ANY), st.floats(0, 1))
def test_a_crash_anywhere_leaves_a_run_that_ends(case: Case, where: float) -> None:
    """P10, R146: also where timing decides the result, a resumed run comes to a clean end."""
    run = drive(case.workflow, case.world())
    cut = 1 + int(where * (len(run.log) - 1))
    again = go_on(resume(case.workflow, run.log[:cut], case.world()), case.world())
    assert again.state.ended is not None
    assert fold(case.workflow, again.log) == again.state._replace(root=initial(case.workflow).root)


@given(cases(ANY))
def test_a_settled_state_leaves_nothing_to_decide(case: Case) -> None:
    """P11: looking at everything finds no decision that looking at what was touched has missed."""

    def check(state: State, events: tuple[Event, ...]) -> None:
        _, decided = decide(state, state.at, None)
        assert decided == ()

    drive(case.workflow, case.world(), on_turn=check)


@given(cases(ANY), st.floats(0, 1))
def test_what_was_asked_and_not_answered_is_what_is_pending(case: Case, where: float) -> None:
    """P11: an effect is a part of the state, neither lost nor kept too long."""
    run = drive(case.workflow, case.world(), messages=((Millis(int(where * 3_600_000)), Cancel("me")),))
    count = 1 + int(where * (len(run.turns) - 1))
    log = [event for _, _, events in run.turns[:count] for event in events]
    pending = fold(case.workflow, log).pending
    assert still_asked(log) == set(pending.keys())
    told = {event.path for event in log if isinstance(event, CancelOrdered)}
    for (kind, path), effect in pending.items():
        # A worker that is no longer wanted must be told so, also by whoever goes on after a crash.
        assert kind != "attempt" or isinstance(effect, CancelAttempt) == (path in told), path


@given(cases(ANY))
def test_the_same_messages_at_the_same_times_give_the_same_log(case: Case) -> None:
    """P12: no clock, no chance, no memory outside the state."""
    run = drive(case.workflow, case.world())
    again = Run(initial(case.workflow))
    for message, at, _ in run.turns:
        again.now = at
        again.take(message)
    assert again.log == run.log


@given(cases(ANY), st.floats(0, 1))
def test_a_decision_does_not_depend_on_how_the_state_came_to_be(case: Case, where: float) -> None:
    """P12: a folded state decides as the lived one."""
    run = drive(case.workflow, case.world())
    place = int(where * (len(run.turns) - 1))
    log = [event for _, _, events in run.turns[:place] for event in events]
    message, at, events = run.turns[place]
    taken = turn(fold(case.workflow, log), message, at)
    assert not isinstance(taken, Refusal)
    assert taken.events == events


class Counting(Wild):
    """Remembers which attempts it was asked to perform."""

    performed: Counter[tuple[Path, int]]

    def attempt(self, asked: AttemptStarted, state: State) -> DelayedReport:
        self.performed[(asked.path, asked.attempt)] += 1
        return super().attempt(asked, state)


@given(cases(WITH_ONCE), st.floats(0, 1))
def test_what_must_not_be_repeated_is_performed_once(case: Case, where: float) -> None:
    """P17: after a crash a step with `recovery: ask` is done again only by consent, under a new number."""
    run = drive(case.workflow, case.world())
    count = 1 + int(where * (len(run.turns) - 1))
    log = [event for _, _, events in run.turns[:count] for event in events]
    world = Counting(case.seed, case.odds)
    world.performed = Counter((e.path, e.attempt) for e in log if isinstance(e, AttemptStarted))
    again = go_on(resume(case.workflow, log, world), world)
    story = Story(case.workflow, again.log)
    for (path, attempt), times in world.performed.items():
        step = story.tales[path].step
        if step is not None and not step.repeatable and not by_hand(step):
            assert times == 1, f"attempt {attempt} of {path} was performed {times} times"
    _check_consent(story, log)


def _check_consent(story: Story, before: Sequence[Event]) -> None:
    """Who was asked said yes before it was started again."""
    for path, tale in story.tales.items():
        for question in (p for p in tale.asides if "!consent" in p):
            ended = story.tales[question].ended
            yes = ended is not None and (ended.result or {}).get("action") == "rerun"
            doubted = int(question.split("#")[-1].split("/")[0])
            assert yes or all(event.attempt <= doubted for event in tale.started), path


@given(cases(ANY))
def test_a_view_from_the_events_alone_equals_the_state(case: Case) -> None:
    """P18: outcome, attempts and cost of every instance stand in the log."""
    run = drive(case.workflow, case.world())
    found = view(run.log)
    for path, instance in run.state.instances.items():
        ending = instance.ending
        assert ending is not None
        assert found[path][5][:3] == (ending.outcome, ending.reason, ending.exit)
        if isinstance(instance, Leaf) and not any(key.startswith(f"{path}#") for key in found):
            assert found[path][3:5] == [instance.attempt, instance.usd]
    assert isinstance(run.log[-1], RunEnded)
    assert run.state.usd == sum(entry[4] for path, entry in found.items() if path != "!")
