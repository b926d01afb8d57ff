"""Properties of trees in every workflow (language.md 5-6)."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import example, given

from podium.simulate.random_world import Odds
from tests.core.bias import Bias
from tests.core.driver import run_log_of
from tests.core.oracles_trees import (
    check_failed_members_leave_nothing,
    check_heads,
    check_joins,
    check_nothing_is_lost,
    check_results,
)
from tests.core.strategies import Case, cases
from tests.core.strategies import case as make_case

ANY = Bias()
BACK = replace(ANY, routes=0.6, passed_back=0.1, tight=0, depth=2, trouble=0.7)
MERGING = replace(
    ANY, scope_kinds=("block", "for_each", "members", "call"), scopes=0.7, wide_top=0.7, tight=0
)
KEEPING = replace(MERGING, breaker=False, transitions=(200, 200), passed_back=0)
CHOOSING = replace(MERGING, scope_kinds=("members",), scopes=0.9, wide_top=0, trouble=0.3)
CLASHING = Odds(failed=0.1, conflict=0.5, reject=0.1)
PICKY = Odds(failed=0.2, conflict=0.3, reject=0.3, unchanged=0.4, timeout=0.05)


@given(cases(BACK))
@example(
    make_case(500035, replace(KEEPING, gates=0.6, routes=0.5))
)  # a sequence inside a graph starts with a join
@example(
    make_case(500018, replace(MERGING, gates=0.7, routes=0.5), CLASHING)
)  # a block is refused by a join and retried
def test_the_head_moves_only_with_passed_steps_and_back_with_jumps(case: Case) -> None:
    """X4: after a jump back the head is the one before the target."""
    check_heads(run_log_of(case.workflow, case.world()))


@given(cases(MERGING) | cases(MERGING, CLASHING))
def test_every_queued_member_is_joined_or_refused_exactly_once(case: Case) -> None:
    """X8."""
    check_joins(run_log_of(case.workflow, case.world()))


@given(cases(MERGING) | cases(CHOOSING))
@example(make_case(85895058, MERGING))  # the best member had nothing to add
def test_a_scope_hands_on_only_work_that_passed(case: Case) -> None:
    """X8, R106: `best` takes the tree of the best passed member, `discard` takes none."""
    check_results(run_log_of(case.workflow, case.world()))


@given(cases(MERGING))
@example(
    make_case(500035, replace(KEEPING, routes=0.8, dag_back=0.9, wide_top=0.8), PICKY)
)  # a later visit passed it
def test_a_failed_member_leaves_nothing_on_the_head(case: Case) -> None:
    """X8."""
    check_failed_members_leave_nothing(run_log_of(case.workflow, case.world()))


@given(cases(KEEPING))
@example(make_case(2802408, KEEPING))  # a block that is accepted with its last attempt
def test_no_work_that_passed_is_lost(case: Case) -> None:
    """X8: the resulting tree contains the work of every passed child."""
    check_nothing_is_lost(run_log_of(case.workflow, case.world()))


@given(cases(KEEPING, CLASHING))
@example(make_case(500008, KEEPING, CLASHING))  # the best attempt so far is the one that was refused
@example(make_case(700674, KEEPING, CLASHING))  # a graph that was never opened is visited again
def test_no_work_that_passed_is_lost_if_many_joins_are_refused(case: Case) -> None:
    """X8: refused work never replaces the work it conflicts with."""
    check_nothing_is_lost(run_log_of(case.workflow, case.world()))


@given(cases(MERGING, CLASHING))
@example(make_case(18653578, MERGING, CLASHING))  # the best member had nothing to add
def test_conflicts_neither_lose_nor_duplicate_work(case: Case) -> None:
    """X8: if every second join is refused, the refused members go back to their workers and the rest is kept."""
    run_log = run_log_of(case.workflow, case.world())
    check_joins(run_log)
    check_results(run_log)
