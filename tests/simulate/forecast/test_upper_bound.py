"""What a run uses at most under a large limit on transitions: never less than the exact worst case, and quickly."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from podium.core.expressions.nodes import Const, Name
from podium.core.model import Call, Repeat, Step, Workflow
from podium.core.policy import Breaker, Limits, Retry
from podium.simulate.forecast import priced_bound
from podium.simulate.forecast.case_analysis import Unbounded, calls
from podium.simulate.forecast.upper_bound import upper_bound
from podium.simulate.forecast.worst_case import worst_case
from tests.core.bias import Bias
from tests.core.kit import agent, block, command, flow, on
from tests.core.shapes import ADVISOR
from tests.core.strategies import Case, cases

ANY = Bias(depth=2)
CIRCLES = replace(ANY, routes=0.7, passed_back=0.3, tight=0, trouble=1.5, width=5)
TIGHT = replace(ANY, tight=0.8, inner_limits=0.4, finally_=0.5)
ONCE = Retry(transient=0, repair=0)
ASKED = Retry(transient=0, repair=0, on_exhausted="human")
MILLION = Limits(transitions=1_000_000)


def with_transitions(workflow: Workflow, number: int | None) -> Workflow:
    return replace(workflow, limits=replace(workflow.limits, transitions=number))


def check_against_tables(workflow: Workflow) -> None:
    # Without its own limit, because a workflow with a small one would be computed with tables as well.
    unlimited = with_transitions(workflow, None)
    for number in (4, 25):
        try:
            exact = worst_case(with_transitions(workflow, number), {}, calls).either[-1]
        except Unbounded:
            return
        assert priced_bound.priced_bound(unlimited, {}, calls, number).most >= exact


@pytest.mark.slow
@given(cases(CIRCLES))
def test_the_bound_of_a_file_that_leads_back_covers_its_worst_case(case: Case) -> None:
    check_against_tables(case.workflow)


@pytest.mark.slow
@given(cases(TIGHT))
def test_the_bound_of_a_file_with_inner_limits_covers_its_worst_case(case: Case) -> None:
    check_against_tables(case.workflow)


def test_without_loops_a_large_limit_changes_nothing() -> None:
    steps = [agent(f"a{number}", retry=ONCE) for number in range(30)]
    exact = upper_bound(flow(*steps, limits=Limits(transitions=100)), {}, calls)

    assert upper_bound(flow(*steps, limits=MILLION), {}, calls) == exact == (30, False)


def test_a_loop_grows_with_the_limit() -> None:
    steps = (agent("a", retry=ONCE), command("b", on=on(failed=0)))
    workflow = flow(*steps, breaker=Breaker(visits=None), limits=MILLION)

    assert upper_bound(workflow, {}, calls) == (500_000, True)


def test_visits_beyond_the_free_ones_cost_another_transition() -> None:
    steps = (agent("a", retry=ONCE), command("b", on=on(failed=0)))
    free = upper_bound(flow(*steps, breaker=Breaker(visits=None), limits=MILLION), {}, calls).most
    charged = upper_bound(flow(*steps, breaker=Breaker(visits=3), limits=MILLION), {}, calls).most

    assert charged < 0.6 * free


def test_many_rounds_are_counted_without_a_table() -> None:
    body = Step("body", block("seq", agent("a", retry=ONCE)))
    repeat = Step("r", Repeat(body, Const(value=False), "until", 100_000))

    assert upper_bound(flow(repeat, limits=MILLION), {}, calls) == (100_000, False)


def test_attempts_that_a_person_grants_are_bounded_by_the_limit() -> None:
    bound = upper_bound(flow(agent("a", retry=ASKED), limits=MILLION), {}, calls)

    assert bound.grows
    assert 999_999 <= bound.most <= 1_000_001


def test_an_advisor_may_be_asked_at_every_transition() -> None:
    workflow = flow(agent("a", retry=ONCE), advisor=ADVISOR, limits=MILLION)

    assert (
        upper_bound(workflow, {}, calls).most
        >= worst_case(with_transitions(workflow, 200), {}, calls).either[-1]
    )


def test_an_inner_limit_bounds_a_called_workflow() -> None:
    inner = flow(agent("a", retry=ASKED), limits=Limits(transitions=5))
    exact = upper_bound(flow(Step("call", Call(inner)), limits=Limits(transitions=50)), {}, calls)

    assert upper_bound(flow(Step("call", Call(inner)), limits=MILLION), {}, calls).most == exact.most


def test_a_file_without_agents_uses_nothing() -> None:
    assert upper_bound(flow(*[command(f"c{n}") for n in range(50)], limits=MILLION), {}, calls) == (0, False)


def test_a_file_without_agents_is_free_unless_nothing_bounds_its_repetitions() -> None:
    steps = [command(f"c{number}") for number in range(3)]
    assert upper_bound(flow(*steps, limits=MILLION), {}, calls) == (0, False)

    rounds = Step("again", Repeat(command("c"), Const(True), "until", Name("unknown")))
    with pytest.raises(Unbounded):
        upper_bound(flow(*steps, rounds, limits=MILLION), {}, calls)
    retried = command("c", retry=Retry(attempts=Name("unknown")))
    with pytest.raises(Unbounded):
        upper_bound(flow(*steps, retried, limits=MILLION), {}, calls)
