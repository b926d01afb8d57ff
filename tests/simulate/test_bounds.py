"""The parts of the worst case: what each of them adds, and that nothing the core can do is left out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import pytest

from podium.core.events import ApprovalAsked, AttemptEnded, Event
from podium.core.expr import Const
from podium.core.messages import Approve
from podium.core.model import Repeat, Step, Workflow
from podium.core.policy import Breaker, Limits, Retry
from podium.core.state import State
from podium.core.words import Millis
from podium.simulate import shell
from podium.simulate.bounds import calls, worst
from podium.simulate.witness import witness
from podium.simulate.world import Later
from podium.simulate.worst import Worst
from tests.core.kit import agent, block, command, flow

ONCE: Final = Retry(transient=0, repair=0)
ASKED: Final = Retry(transient=0, repair=0, on_exhausted="human")
TEN: Final = Limits(transitions=10)


def most(workflow: Workflow) -> int:
    return worst(workflow, {}, calls).either[-1]


@pytest.mark.parametrize(("rounds", "left"), [(3, 10), (20, 4)])
def test_a_further_round_costs_a_transition_and_needs_a_good_end(rounds: int, left: int) -> None:
    body = Step("body", block("seq", command("x"), agent("a", retry=ONCE), command("y")))
    loop = Step("loop", Repeat(body, Const(value=False), "until", rounds))
    workflow = flow(loop, limits=Limits(transitions=1 + left))

    # Three entries a round; what is left after the last whole round may do for the agent's step once more.
    assert most(workflow) == {10: 3, 4: 1}[left]
    assert made(workflow) == most(workflow)


def test_a_round_that_a_person_grants_costs_the_question_and_itself() -> None:
    body = agent("a", retry=ONCE)
    loop = Step("loop", Repeat(body, Const(value=False), "until", 2, "human"))
    workflow = flow(loop, limits=TEN)

    assert most(workflow) == 2 + 4  # one entry, one further round, four times a question and a round
    assert made(workflow) == most(workflow)


def test_a_loop_that_may_not_begin_can_pass_without_a_transition() -> None:
    body = Step("body", block("seq", agent("a", retry=ONCE)))
    loop = Step("loop", Repeat(body, Const(value=False), "while", 2))

    assert worst(flow(loop, limits=Limits(transitions=1)), {}, calls).good[-1] == 0


def test_the_breaker_grants_one_more_try_in_a_visit() -> None:
    step = agent("a", retry=replace(ONCE, attempts=3))
    workflow = flow(step, limits=TEN, breaker=Breaker(retries=2))

    assert most(workflow) == 3 + 1
    assert made(workflow) == most(workflow)


class Answering(Worst):
    """As many people as are asked."""

    def person(self, asked: ApprovalAsked, state: State, number: int) -> Later | None:
        later = super().person(asked, state, number)
        if later is None or not isinstance(later.message, Approve):
            return later
        return Later(Millis(0), replace(later.message, by=f"person{number + 1}"))


def made(workflow: Workflow) -> int:
    """The calls of the run that goes the way of the witness."""
    return used(shell.simulate(workflow, Answering(witness(worst(workflow, {}, calls)))).events)


def used(events: Iterable[Event]) -> int:
    return sum(event.used.calls for event in events if isinstance(event, AttemptEnded))
