"""Properties of every workflow: order, bounds, cancelling, jumps back, feedback, gates, rules (core.md 9)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from podium.core.addresses import FINALLY, child
from podium.core.events import (
    AttemptEnded,
    AttemptStarted,
    CancelAsked,
    CancelOrdered,
    Event,
    JoinQueued,
    RunEnded,
    StepEnded,
    StepEntered,
    StepReopened,
)
from podium.core.expressions.nodes import MissingValue
from podium.core.messages import Cancel
from podium.core.model import Block, Call, ForEach
from podium.core.queries.names import InstanceNames
from podium.core.state import Instance, Scope, State
from podium.core.types import Address, Millis
from tests.core.bias import Bias
from tests.core.driver import drive, run_log_of
from tests.core.oracles import (
    check_feedback,
    check_gates,
    check_order,
    check_panels,
    check_rules,
    has_finally,
)
from tests.core.oracles_limits import check_bounds
from tests.core.run_log import RunLog, body_of
from tests.core.strategies import Case, cases
from tests.core.strategies import case as make_case
from tests.core.worlds import Dry

ANY = Bias()
GRAPHS = replace(ANY, wide_top=0.8, trouble=1.5, dag_back=0.8)
LONG_JUMPS = replace(ANY, width=6, depth=1, routes=0.6, passed_back=0.25, trouble=0.3, tight=0, wide_top=0.1)
GATED = replace(ANY, gates=0.8, depth=2)
RULES = replace(ANY, scope_kinds=("block", "members", "for_each", "review"), scopes=0.8, depth=2, gates=0.05)
SKIPPING = replace(RULES, when=0.5, trouble=0.5)
BOUNDED = replace(ANY, routes=0.6, passed_back=0.15, trouble=2, depth=2, gates=0.4)
LOOPS = replace(
    ANY, scope_kinds=("for_each", "for_each", "block"), scopes=0.9, routes=0.8, depth=2, trouble=1.5, tight=0
)
HOURS = st.integers(0, 2 * 3_600_000).map(Millis)


@given(cases(GRAPHS))
@example(make_case(881, GRAPHS))  # a need has failed, and a jump goes back to the step that needs it
@example(make_case(702513, GRAPHS))  # the same, and the best visit so far should be accepted
def test_a_step_starts_only_after_its_needs_passed(case: Case) -> None:
    """P4, R164, R166: a sequence has one live child, and a graph passes only if all its steps did."""
    check_order(run_log_of(case.workflow, case.world()))


@pytest.mark.req("C6", "C22")
@given(cases(BOUNDED))
def test_visits_tries_transitions_and_widths_are_bounded(case: Case) -> None:
    """P5, R126, R130, R138, R174."""
    check_bounds(run_log_of(case.workflow, case.world()), case.workflow)


@given(cases(replace(ANY, depth=1, width=2)))
def test_a_quota_that_never_resets_ends_the_step(case: Case) -> None:
    """P5: the number of waits for a used-up quota is bounded."""
    check_bounds(run_log_of(case.workflow, Dry(case.seed, case.odds)), case.workflow)


@given(cases(ANY), HOURS)
def test_a_cancel_is_final_and_reaches_every_attempt(case: Case, when: Millis) -> None:
    """P8, R142: no step starts outside `finally`, every attempt in flight is cancelled, and the run ends as cancelled."""
    run = drive(case.workflow, case.world(), messages=((when, Cancel("me")),))
    run_log = RunLog(case.workflow, run.log)
    asked = next((n for n, event in enumerate(run.log) if isinstance(event, CancelAsked)), None)
    if asked is None:
        return
    told_to_stop = {event.path for event in run.log[asked:] if isinstance(event, CancelOrdered)}
    for path in in_flight(run.log[:asked]):
        assert path in told_to_stop or run_log.is_shielded(path), f"{path} was not told"
    for event in run.log[asked:]:
        if isinstance(event, AttemptStarted | StepEntered):
            assert run_log.is_shielded(event.path), f"{event.path} begins after the cancel"
    assert isinstance(run.log[-1], RunEnded)
    assert (run.log[-1].status, run.log[-1].exit) == ("cancelled", 130)


def in_flight(log: list[Event]) -> set[Address]:
    flying: set[Address] = set()
    for event in log:
        if isinstance(event, AttemptStarted):
            flying.add(event.path)
        elif isinstance(event, AttemptEnded):
            flying.discard(event.path)
    return flying


MERGING = replace(
    ANY, scope_kinds=("block", "for_each", "members"), scopes=0.7, wide_top=0.7, depth=2, tight=0
)


@given(cases(MERGING), st.floats(0, 1))
def test_a_cancelled_run_leaves_nothing_behind(case: Case, where: float) -> None:
    """P1, P8: also if the cancel comes while members wait to be merged."""
    log = drive(case.workflow, case.world()).log
    times = [event.at for event in log if isinstance(event, JoinQueued)] or [event.at for event in log]
    when = Millis(times[int(where * (len(times) - 1))] + 1)
    state = drive(case.workflow, case.world(), messages=((when, Cancel("me")),)).state
    left = (state.pending, state.queue, state.joins)
    assert state.ended is not None and not any(left), left


CLEANING = replace(ANY, finally_=0.9, tight=0.4, depth=2)


@given(cases(CLEANING), HOURS, st.booleans())
def test_finally_runs_exactly_once_whatever_happened(case: Case, when: Millis, cancelled: bool) -> None:
    """P8, R142: after a pass, a failure, a limit, a timeout and a cancel."""
    run = drive(case.workflow, case.world(), messages=((when, Cancel("me")),) if cancelled else ())
    run_log = RunLog(case.workflow, run.log)
    for instance in run_log:
        if has_finally(instance) and instance.expanded is not None:
            count = sum(1 for path in instance.asides if path.endswith("finally"))
            assert count == 1, f"{instance.path!r} cleaned up {count} times"
            ended = run_log.instances[child(instance.path, FINALLY)].ended
            assert ended is not None and ended.outcome != "cancelled", (
                f"{instance.path!r} was not let clean up"
            )


@given(cases(CLEANING), HOURS)
def test_force_ends_the_clean_up_too(case: Case, when: Millis) -> None:
    """P8: a second, forced cancel leaves nothing running."""
    later = Millis(when + 1_000)
    messages = ((when, Cancel("me")), (later, Cancel("me", force=True)))
    run = drive(case.workflow, case.world(), messages=messages)
    assert run.state.ended is not None
    forced = next((n for n, e in enumerate(run.log) if isinstance(e, CancelAsked) and e.force), len(run.log))
    assert not any(isinstance(event, AttemptStarted) for event in run.log[forced:])


@given(cases(LONG_JUMPS))
def test_after_a_jump_back_no_result_from_the_target_on_can_be_read(case: Case) -> None:
    """P13: while a step of a sequence runs, names of its block resolve only to steps before it."""

    def check(state: State, events: tuple[Event, ...]) -> None:
        for event in events:
            if isinstance(event, StepEntered) and event.role == "step":
                _check_names(state, event)

    drive(case.workflow, case.world(), on_turn=check)


def _check_names(state: State, event: StepEntered) -> None:
    scope, child = state.instances[event.parent], state.instances[event.path]
    verb = scope.place.step.verb
    body = body_of(scope.place.step) if isinstance(verb, Block | Call) else None
    if body is None or body.kind != "seq" or child.phase == "ended":
        return
    assert isinstance(scope, Scope)
    for name, index in body.index.items():
        if index >= event.index:
            with pytest.raises(MissingValue):
                _ = InstanceNames(state, child).lookup("steps")[name]
        elif index in _entered(state, scope):
            newest = _newest(state, scope, index)
            assert InstanceNames(state, child).lookup("steps")[name]["visit"] == newest.place.visit


def _entered(state: State, scope: Scope) -> set[int]:
    visits = ((i, state.latest.get((scope.place.path, i))) for i in range(scope.total))
    return {i for i, visit in visits if visit is not None and visit.fresh}


def _newest(state: State, scope: Scope, index: int) -> Instance:
    visit = state.latest.get((scope.place.path, index))
    assert visit is not None
    return state.instances[visit.path]


@given(cases(LONG_JUMPS))
def test_results_before_the_target_of_a_jump_stay_readable(case: Case) -> None:
    """P13: steps before the target keep their results; the target and all steps entered after it lose theirs."""
    for event in drive(case.workflow, case.world()).log:
        if isinstance(event, StepEntered) and event.stale:
            assert min(event.stale) == event.index


@given(cases(LONG_JUMPS))
def test_a_jump_back_makes_all_steps_from_the_target_on_stale(case: Case) -> None:
    """P13: the event lists them, and the log confirms it."""
    run_log = run_log_of(case.workflow, case.world())
    high: dict[Address, int] = {}
    for event in run_log.log:
        if isinstance(event, StepReopened):
            high.pop(event.path, None)
        if not isinstance(event, StepEntered) or event.role != "step":
            continue
        block = body_of(run_log.instances[event.parent].step)
        if block is not None and block.kind == "seq":
            top = high.get(event.parent, 0)
            back = event.index < top
            assert event.stale == (tuple(range(event.index, top)) if back else ()), event.path
            high[event.parent] = event.index + 1 if back else max(top, event.index + 1)


@given(cases(replace(GATED, routes=0.5)))
@example(
    make_case(100534, replace(GATED, routes=0.5))
)  # more visits than the number of feedback items a step gets
def test_feedback_reaches_the_next_attempt_and_the_next_visit(case: Case) -> None:
    """P14, R101, R114, R190."""
    check_feedback(run_log_of(case.workflow, case.world()))


@given(cases(GATED))
def test_a_step_passes_only_if_its_last_attempt_passed_all_gates(case: Case) -> None:
    """P15, R111: and `accept_best` never takes work whose commands or checks failed."""
    check_gates(run_log_of(case.workflow, case.world()))


@pytest.mark.req("C41")
@given(cases(RULES) | cases(SKIPPING))
@example(make_case(686, RULES))  # a skipped member counts for nobody
@example(make_case(838, RULES))
@example(make_case(13550, RULES))  # a loop is left while an item is ready that never ran
def test_the_outcome_of_members_follows_their_pass_rule(case: Case) -> None:
    """P16."""
    check_rules(run_log_of(case.workflow, case.world()))


@given(cases(RULES))
def test_a_review_passes_only_by_valid_approvals_of_the_tree_shown(case: Case) -> None:
    """P16, R107, R111."""
    check_panels(run_log_of(case.workflow, case.world()))


@given(cases(ANY))
def test_with_no_human_a_run_still_ends(case: Case) -> None:
    """P1: `run --no-human` fails with a reason instead of parking."""
    assert drive(case.workflow, case.world(), no_human=True).state.ended is not None


@given(cases(LOOPS))
def test_after_a_break_a_loop_starts_no_iteration_and_lets_the_running_ones_finish(case: Case) -> None:
    """R023: which iterations of a parallel loop have started by then depends on timing; this does not."""
    log = drive(case.workflow, case.world()).log
    run_log = RunLog(case.workflow, log)
    left: set[Address] = set()
    for event in log:
        match event:
            case StepEnded(breaks_loop=True) if (loop := loop_around(run_log, event.path)) is not None:
                left.add(loop)
            case StepEntered(role="step"):
                assert event.parent not in left, f"{event.path} was entered after a break"
            case StepReopened() | StepEnded():
                left.discard(event.path)
            case CancelOrdered():
                assert "break" not in event.why
            case _:
                pass


def loop_around(run_log: RunLog, path: Address) -> Address | None:
    """The loop that this is an iteration of."""
    parent = run_log.instances[path].parent
    step = None if parent is None else run_log.instances[parent].step
    return parent if step is not None and isinstance(step.verb, ForEach) else None
