"""What must hold for trees in every workflow (language.md 5-6)."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given

from podium.simulate.chance import Odds
from tests.core.bias import Bias
from tests.core.driver import told
from tests.core.oracles_trees import (
    check_failed_members_leave_nothing,
    check_heads,
    check_joins,
    check_nothing_is_lost,
    check_results,
)
from tests.core.strategies import Case, cases

ANY = Bias()
BACK = replace(ANY, routes=0.6, passed_back=0.1, tight=0, depth=2, trouble=0.7)
MERGING = replace(
    ANY, scope_kinds=("block", "for_each", "members", "call"), scopes=0.7, wide_top=0.7, tight=0
)


@given(cases(BACK))
def test_the_head_moves_only_by_passed_steps_and_goes_back_with_control(case: Case) -> None:
    """X4: after a jump back the head is what it was before the target."""
    check_heads(told(case.workflow, case.world()))


@given(cases(MERGING))
def test_every_queued_member_is_joined_or_refused_exactly_once(case: Case) -> None:
    """X8."""
    check_joins(told(case.workflow, case.world()))


@given(cases(MERGING))
def test_a_scope_hands_on_only_work_that_passed(case: Case) -> None:
    """X8, R106: `best` takes the tree of the best member that passed, `discard` takes none."""
    check_results(told(case.workflow, case.world()))


@given(cases(MERGING))
def test_a_failed_member_leaves_nothing_on_the_head(case: Case) -> None:
    """X8."""
    check_failed_members_leave_nothing(told(case.workflow, case.world()))


@given(cases(replace(MERGING, breaker=False, transitions=(200, 200), passed_back=0)))
def test_no_work_that_passed_is_lost(case: Case) -> None:
    """X8: what is handed on contains what every child that passed has done."""
    check_nothing_is_lost(told(case.workflow, case.world()))


CLASHING = Odds(failed=0.1, conflict=0.5, reject=0.1)


@given(cases(MERGING, CLASHING))
def test_clashes_lose_and_double_nothing(case: Case) -> None:
    """X8: where every second join is refused, the refused go back to their workers and the rest is kept."""
    story = told(case.workflow, case.world())
    check_joins(story)
    check_results(story)
