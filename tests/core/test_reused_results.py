"""Results reused from an earlier run, together with limits that it has used up."""

from __future__ import annotations

import pytest

from podium.core.events import AttemptStarted
from podium.core.model import Agent, Step
from podium.core.payloads import Amounts, CarriedSpend
from podium.core.policy import Estimate, Limits
from podium.core.types import GONE, Address, MicroUsd, Millis
from tests.core.kit import Game, agent, block, flow, with_limits


def one(name: str) -> Step:
    return agent(name, touches=(), verb=Agent(estimate=Estimate(MicroUsd(5), 50)))


@pytest.mark.req("X10", "R130")
def test_a_step_with_limits_starts_with_what_the_earlier_run_used() -> None:
    inner = with_limits(Step("g", block("seq", one("a"))), calls=1)
    past = CarriedSpend(Address("g"), Amounts(calls=1), MicroUsd(5), Millis(7))
    game = Game(flow(inner), facts={"carried_steps": (past,)})

    book = game.state.ledgers[Address("g")]
    assert (book.spent.calls, book.unknown.usd, book.worked) == (1, 5, 7)
    assert game.outcome("g/a") == ("failed", "limit")


@pytest.mark.req("X10")
def test_a_reused_result_counts_against_no_limit() -> None:
    """Neither money nor time; a call that must be made after all does count."""
    limits = Limits(usd=MicroUsd(6), calls=1, time=Millis(9))
    facts = {"carried": Amounts(MicroUsd(6), 0, 1), "carried_time": Millis(9), "reused": ((Address("a"), 2),)}
    game = Game(flow(one("a"), one("b"), limits=limits), facts=facts)
    started = game.events(AttemptStarted)[0]
    assert (started.reused, started.reserve, started.timeout) == (True, Amounts(), None)

    game.end("a", "malformed")
    assert [event.reused for event in game.events(AttemptStarted)] == [True, True]
    game.end("a", reused="earlier")
    assert (game.outcome("a"), game.outcome("b")) == (("passed", ""), ("failed", "limit"))


@pytest.mark.req("X10", "R130")
def test_the_earlier_run_is_tried_before_a_limit_refuses_a_step() -> None:
    """A step after a repeated one may send exactly the same request as before."""
    limits = Limits(calls=1)
    for reason, ended in (("", ("passed", "")), (GONE, ("failed", "limit"))):
        game = Game(flow(one("a"), one("b"), limits=limits), facts={"reusable": ((Address("b"), 1),)})
        game.end("a", used=Amounts(calls=1))
        started = game.events(AttemptStarted)[-1]
        assert (started.path, started.reused, started.reserve) == ("b", True, Amounts())

        game.end("b", "transient" if reason else "ok", reason=reason, reused="" if reason else "earlier")

        assert game.outcome("b") == ended


def test_a_result_that_can_no_longer_be_reused_must_be_paid_for() -> None:
    game = Game(flow(one("a"), limits=Limits(calls=1)), facts={"reused": ((Address("a"), 1),)})
    game.end("a", "transient", reason=GONE)

    started = game.events(AttemptStarted)[1]
    assert (started.reused, started.reserve.calls) == (False, 1)
