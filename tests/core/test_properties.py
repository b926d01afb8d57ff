"""Properties of every workflow: lifecycle, log, crashes and the end of a run (core.md 9)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

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
from podium.core.types import Address, Millis
from podium.simulate.world import DelayedReport
from tests.core.bias import TIMELESS, Bias
from tests.core.driver import Run, drive, drive_to_end, resume
from tests.core.events_of import REPEATABLE
from tests.core.oracles import check_once, view
from tests.core.oracles_limits import by_hand
from tests.core.oracles_pending import still_asked
from tests.core.run_log import RunLog
from tests.core.strategies import Case, cases
from tests.core.strategies import case as make_case
from tests.core.worlds import Stubborn, Wild

ANY = Bias()
CROWDED = Bias(wide_top=1.0, width=8, depth=1, scopes=0.3, routes=0.1, tight=0, transitions=(200, 200))
TIMELESS_CROWDED = replace(TIMELESS, wide_top=0.7, scopes=0.7, depth=2, trouble=2, routes=0.1)
TIMELESS_BLOCKS = replace(
    TIMELESS, wide_top=0.2, scopes=0.9, scope_kinds=("block",), depth=2, trouble=1.5, routes=0
)
WITH_ONCE = Bias(once=0.5, tight=0, totals=False, depth=2)


@given(cases(ANY) | cases(CROWDED))
@example(make_case(486, ANY))  # similar answers end the tries
def test_every_run_ends_and_leaves_nothing_behind(case: Case) -> None:
    """P1, R103: nothing is pending, reserved, queued, claimed or running when a run has ended."""
    state = drive(case.workflow, case.world()).state
    assert state.ended is not None
    left = (state.pending, state.queue, state.joins)
    assert not any(left), left
    assert state.busy == 0
    for path, ledger in state.ledgers.items():
        assert (ledger.busy, ledger.reserved.usd, ledger.reserved.tokens, ledger.reserved.calls) == (
            0,
            0,
            0,
            0,
        ), path
    for path, instance in state.instances.items():
        assert instance.phase == "ended", path


@given(cases(Bias(transitions=(5, 25))))
def test_endless_approvals_of_one_more_try_are_stopped_by_the_limit(case: Case) -> None:
    """P1, R130: every question counts as a transition, so a scripted approver cannot prolong a run without end."""
    world = Stubborn(case.seed, case.odds)
    assert drive(case.workflow, world).state.ended is not None


@given(cases(ANY))
def test_folding_the_log_gives_the_state_of_the_run(case: Case) -> None:
    """P2, R145."""
    run = drive(case.workflow, case.world())
    assert fold(case.workflow, run.log) == run.state._replace(root=initial(case.workflow).root)


@given(cases(ANY), st.floats(0, 1))
def test_a_repeated_event_or_one_after_the_end_is_illegal(case: Case, where: float) -> None:
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
def test_a_duplicate_report_changes_nothing(case: Case) -> None:
    """P6: the second delivery of a message gives no events, and the log is the same."""
    assert drive(case.workflow, case.world(), twice=True).log == drive(case.workflow, case.world()).log


@pytest.mark.req("R156")
@given(cases(ANY))
def test_everything_happens_at_most_once(case: Case) -> None:
    """P6: attempts, ends and cancel orders are unique."""
    check_once(RunLog(case.workflow, drive(case.workflow, case.world()).log))


@given(cases(TIMELESS_BLOCKS) | cases(TIMELESS_CROWDED), st.integers(1, 5))
@example(make_case(255, TIMELESS), 1)  # two members of a block fail, in either order
@example(make_case(692, TIMELESS), 1)  # a scope is retried after its members ended in another order
def test_the_order_of_completions_does_not_change_the_view(case: Case, pace: int) -> None:
    """P7: under the conditions of core.md 9, timing has no influence."""
    run, other = drive(case.workflow, case.world()), drive(case.workflow, case.world(pace))
    assert view(other.log) == view(run.log)


VARIABLE = replace(
    TIMELESS,
    variables=0.4,
    when=0.4,
    wide_top=0.9,
    scopes=0.6,
    scope_kinds=("block", "for_each"),
    gates=0,
    people=0,
)
REPEATING = replace(VARIABLE, scope_kinds=("for_each",), scopes=0.9, depth=2, trouble=0.2)


@given(cases(VARIABLE) | cases(REPEATING), st.integers(1, 5))
@example(make_case(77, VARIABLE), 1)  # an iteration of a parallel loop is routed to `break`
def test_parallel_branches_do_not_see_each_others_variables(case: Case, pace: int) -> None:
    """P7: with many variables, written and read in branches that run in parallel."""
    run, other = drive(case.workflow, case.world()), drive(case.workflow, case.world(pace))
    assert view(other.log) == view(run.log)


@given(cases(TIMELESS), st.floats(0, 1))
def test_a_crash_anywhere_does_not_change_the_result(case: Case, where: float) -> None:
    """P10, R146: cut the log after any event, fold it, decide, and perform the pending effects: the view is the same."""
    run = drive(case.workflow, case.world())
    cut = 1 + int(where * (len(run.log) - 1))
    again = drive_to_end(resume(case.workflow, run.log[:cut], case.world()), case.world())
    assert view(again.log) == view(run.log)


@given(cases(ANY), st.floats(0, 1))
def test_a_crash_anywhere_leaves_a_run_that_ends(case: Case, where: float) -> None:
    """P10, R146: even if timing decides the result, a resumed run ends cleanly."""
    run = drive(case.workflow, case.world())
    cut = 1 + int(where * (len(run.log) - 1))
    again = drive_to_end(resume(case.workflow, run.log[:cut], case.world()), case.world())
    assert again.state.ended is not None
    assert fold(case.workflow, again.log) == again.state._replace(root=initial(case.workflow).root)


@given(cases(ANY))
def test_a_settled_state_leaves_nothing_to_decide(case: Case) -> None:
    """P11: looking at every instance finds no decision that looking only at the affected ones missed."""

    def check(state: State, events: tuple[Event, ...]) -> None:
        _, decided = decide(state, state.at, None)
        assert decided == ()

    drive(case.workflow, case.world(), on_turn=check)


@given(cases(ANY) | cases(CROWDED), st.floats(0, 1))
def test_pending_effects_are_exactly_those_requested_and_unanswered(case: Case, where: float) -> None:
    """P11: an effect is part of the state; it is neither lost nor kept too long."""
    run = drive(case.workflow, case.world(), messages=((Millis(int(where * 3_600_000)), Cancel("me")),))
    count = 1 + int(where * (len(run.turns) - 1))
    log = [event for _, _, events in run.turns[:count] for event in events]
    pending = fold(case.workflow, log).pending
    assert still_asked(log) == set(pending.keys())
    cancelled = {event.path for event in log if isinstance(event, CancelOrdered)}
    for (kind, path), effect in pending.items():
        # A cancelled worker must be told, also by the owner that resumes after a crash.
        assert kind != "attempt" or isinstance(effect, CancelAttempt) == (path in cancelled), path


@given(cases(ANY))
def test_the_same_messages_at_the_same_times_give_the_same_log(case: Case) -> None:
    """P12: there is no clock, randomness or memory outside the state."""
    run = drive(case.workflow, case.world())
    again = Run(initial(case.workflow))
    for message, at, _ in run.turns:
        again.now = at
        again.take(message)
    assert again.log == run.log


@given(cases(ANY), st.floats(0, 1))
def test_a_folded_state_decides_like_the_original(case: Case, where: float) -> None:
    """P12: a decision depends only on the state."""
    run = drive(case.workflow, case.world())
    place = int(where * (len(run.turns) - 1))
    log = [event for _, _, events in run.turns[:place] for event in events]
    message, at, events = run.turns[place]
    taken = turn(fold(case.workflow, log), message, at)
    assert not isinstance(taken, Refusal)
    assert taken.events == events


class Counting(Wild):
    """A world that records which attempts it performs."""

    performed: Counter[tuple[Address, int]]

    def attempt(self, asked: AttemptStarted, state: State) -> DelayedReport:
        self.performed[(asked.path, asked.attempt)] += 1
        return super().attempt(asked, state)


@given(cases(WITH_ONCE), st.floats(0, 1))
def test_an_attempt_that_must_not_be_repeated_is_performed_once(case: Case, where: float) -> None:
    """P17: after a crash a step with `recovery: ask` is repeated only with consent and under a new attempt number."""
    run = drive(case.workflow, case.world())
    count = 1 + int(where * (len(run.turns) - 1))
    log = [event for _, _, events in run.turns[:count] for event in events]
    world = Counting(case.seed, case.odds)
    world.performed = Counter((e.path, e.attempt) for e in log if isinstance(e, AttemptStarted))
    again = drive_to_end(resume(case.workflow, log, world), world)
    run_log = RunLog(case.workflow, again.log)
    for (path, attempt), times in world.performed.items():
        step = run_log.instances[path].step
        if step is not None and not step.repeatable and not by_hand(step):
            assert times == 1, f"attempt {attempt} of {path} was performed {times} times"
    _check_consent(run_log, log)


def _check_consent(run_log: RunLog, before: Sequence[Event]) -> None:
    """A person consented before the attempt was started again."""
    for path, instance in run_log.instances.items():
        for question in (p for p in instance.asides if "!consent" in p):
            ended = run_log.instances[question].ended
            yes = ended is not None and (ended.result or {}).get("action") == "rerun"
            doubted = int(question.split("#")[-1].split("/")[0])
            assert yes or all(event.attempt <= doubted for event in instance.started), path


@given(cases(ANY))
def test_a_view_from_the_events_alone_equals_the_state(case: Case) -> None:
    """P18: the log contains the outcome, attempts and cost of every instance."""
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
