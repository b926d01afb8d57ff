"""The parts of the worst case: what each adds, and that nothing the core can do is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given, settings

from podium.core.events import ApprovalAsked, AttemptEnded, AttemptStarted, Event
from podium.core.expressions.nodes import Const
from podium.core.messages import Approve
from podium.core.model import Call, Repeat, Step, Workflow
from podium.core.policy import Breaker, Limits, Retry
from podium.core.state import State
from podium.core.types import Millis
from podium.simulate import run
from podium.simulate.forecast.case_analysis import calls
from podium.simulate.forecast.witness import witness
from podium.simulate.forecast.worst_case import worst_case
from podium.simulate.random_world import Odds
from podium.simulate.world import DelayedReport
from tests.core.bias import Bias
from tests.core.driver import drive
from tests.core.kit import agent, block, command, flow, on
from tests.core.shapes import ADVISOR
from tests.core.strategies import Case, cases
from tests.core.worlds import Stubborn, Wild
from tests.simulate.worst_world import Worst

pytestmark = pytest.mark.slow

ONCE: Final = Retry(transient=0, repair=0)
ASKED: Final = Retry(transient=0, repair=0, on_exhausted="human")
TEN: Final = Limits(transitions=10)
ANY = Bias(depth=2)
CIRCLES = replace(ANY, routes=0.7, passed_back=0.3, tight=0, trouble=1.5, width=5)
TIGHT = replace(ANY, tight=0.8, inner_limits=0.4, finally_=0.5)
HOSTILE = Odds(failed=0.5, transient=0.3, malformed=0.2, reject=0.6, person_rejects=0.4)


def most(workflow: Workflow) -> int:
    return worst_case(workflow, {}, calls).either[-1]


def test_finally_has_its_own_transitions() -> None:
    """It runs completely even if the transitions of the run are used up."""
    clean = Step("finally", block("seq", agent("tidy", retry=ASKED)))
    workflow = flow(agent("a", retry=ONCE), finally_=clean, limits=TEN)

    assert most(workflow) == 1 + 200
    assert made(workflow) == most(workflow)


def test_finally_counts_against_the_calls_of_the_run() -> None:
    clean = Step("finally", block("seq", agent("b", retry=ONCE), agent("c", retry=ONCE)))

    assert most(flow(agent("a", retry=ONCE), finally_=clean, limits=Limits(calls=2, transitions=10))) == 2


def test_the_finally_of_a_called_workflow_is_limited_by_its_caller() -> None:
    clean = Step("finally", block("seq", agent("b", retry=ONCE), agent("c", retry=ONCE)))
    called = flow(agent("a", retry=ONCE), finally_=clean)

    assert most(flow(Step("call", Call(called)), limits=Limits(calls=2, transitions=10))) == 2


def test_the_limits_of_a_step_replace_those_of_the_workflow_it_calls() -> None:
    called = flow(agent("a", retry=ONCE), agent("b", retry=ONCE), limits=Limits(calls=1))

    assert most(flow(Step("call", Call(called)), limits=TEN)) == 1
    assert most(flow(Step("call", Call(called), limits=Limits(transitions=9)), limits=TEN)) == 2


@pytest.mark.parametrize(("rounds", "left"), [(3, 10), (20, 4)])
def test_a_further_round_costs_a_transition_and_needs_a_good_end(rounds: int, left: int) -> None:
    body = Step("body", block("seq", command("x"), agent("a", retry=ONCE), command("y")))
    loop = Step("loop", Repeat(body, Const(value=False), "until", rounds))
    workflow = flow(loop, limits=Limits(transitions=1 + left))

    # Three entries per round; what remains after the last whole round may allow the agent's step once more.
    assert most(workflow) == {10: 3, 4: 1}[left]
    assert made(workflow) == most(workflow)


def test_a_round_granted_by_a_person_costs_two_transitions() -> None:
    body = agent("a", retry=ONCE)
    loop = Step("loop", Repeat(body, Const(value=False), "until", 2, "human"))
    workflow = flow(loop, limits=TEN)

    assert most(workflow) == 2 + 4  # one entry, one further round, four times a question and a round
    assert made(workflow) == most(workflow)


def test_a_loop_that_may_have_no_rounds_can_pass_without_a_transition() -> None:
    body = Step("body", block("seq", agent("a", retry=ONCE)))
    loop = Step("loop", Repeat(body, Const(value=False), "while", 2))

    assert worst_case(flow(loop, limits=Limits(transitions=1)), {}, calls).good[-1] == 0


def test_the_breaker_grants_one_more_attempt_per_visit() -> None:
    step = agent("a", retry=replace(ONCE, attempts=3))
    workflow = flow(step, limits=TEN, breaker=Breaker(retries=2))

    assert most(workflow) == 3 + 1
    assert made(workflow) == most(workflow)


class Elsewhere(Worst):
    """An advisor who always sends control back to the most expensive step."""

    def attempt(self, asked: AttemptStarted, state: State) -> DelayedReport:
        later = super().attempt(asked, state)
        ended = later.message
        if state.instances[asked.path].place.role != "advice" or not isinstance(ended, AttemptEnded):
            return later
        decision = {"action": "retry_different", "retry_from": "dear", "guidance": "again"}
        return replace(later, message=replace(ended, kind="ok", result={"output": decision}))


def test_calls_caused_by_an_advisor_are_within_the_bound() -> None:
    """They are the question, the advisor's own call, and a step that no outcome leads back to."""
    steps = (
        agent("dear", retry=replace(ONCE, attempts=9)),
        agent("a", retry=ONCE),
        command("b", on=on(failed=1)),
    )
    workflow = flow(*steps, limits=Limits(transitions=30), breaker=Breaker(visits=1), advisor=ADVISOR)
    bound = worst_case(workflow, {}, calls)

    led_on = made(workflow)
    sent_back = used(run.simulate(workflow, Elsewhere(witness(bound))).events)
    assert led_on < sent_back <= bound.either[-1]


class Answering(Worst):
    """People who answer every question."""

    def person(self, asked: ApprovalAsked, state: State, number: int) -> DelayedReport | None:
        later = super().person(asked, state, number)
        if later is None or not isinstance(later.message, Approve):
            return later
        return DelayedReport(Millis(0), replace(later.message, by=f"person{number + 1}"))


def made(workflow: Workflow) -> int:
    """The calls of the run that follows the witness."""
    return used(run.simulate(workflow, Answering(witness(worst_case(workflow, {}, calls)))).events)


def used(events: Iterable[Event]) -> int:
    return sum(event.used.calls for event in events if isinstance(event, AttemptEnded))


def no_run_exceeds(bias: Bias) -> Callable[[], None]:
    @given(cases(bias))
    def holds(case: Case) -> None:
        bound = most(case.workflow)
        assert made(case.workflow) <= bound
        for world in (case.world(), Stubborn(case.seed, HOSTILE), Wild(case.seed, HOSTILE)):
            assert used(drive(case.workflow, world).log) <= bound

    return holds


@pytest.mark.parametrize("bias", [ANY, CIRCLES, TIGHT], ids=["any", "circles", "tight"])
def test_no_run_of_a_random_workflow_exceeds_its_worst_case(bias: Bias) -> None:
    """X1: default odds, people who grant every wish, a hostile world, and the witness."""
    settings(max_examples=15)(no_run_exceeds(bias))()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("bias", [ANY, CIRCLES, TIGHT], ids=["any", "circles", "tight"])
def test_no_run_of_many_random_workflows_exceeds_its_worst_case(bias: Bias) -> None:
    """X1"""
    no_run_exceeds(bias)()
