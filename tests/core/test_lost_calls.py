"""A call that a crash interrupts counts in full before it is repeated."""

from __future__ import annotations

import pytest

from podium.core.addresses import ROOT
from podium.core.events import AttemptDoubted, AttemptStarted, RunRecovered
from podium.core.evolve.evolve import evolve
from podium.core.evolve.lifecycle import IllegalEvent
from podium.core.messages import Recover
from podium.core.model import Agent, Step
from podium.core.payloads import Amounts
from podium.core.policy import Estimate, Limits
from podium.core.types import Address, MicroUsd, Millis
from tests.core.kit import Game, agent, block, command, flow, with_limits

ONE = Estimate(MicroUsd(5), 50)


def called(name: str, *, repeatable: bool = True) -> Step:
    return agent(name, touches=(), verb=Agent(estimate=ONE), repeatable=repeatable)


@pytest.mark.req("X2", "R130")
@pytest.mark.parametrize(
    "limits", [Limits(calls=3), Limits(usd=MicroUsd(19)), Limits(tokens=199)], ids=["calls", "usd", "tokens"]
)
def test_repeated_crashes_do_not_repeat_a_call_beyond_its_limit(limits: Limits) -> None:
    game = Game(flow(called("a"), limits=limits))
    game.send(Recover(2))
    game.send(Recover(3))
    assert (game.in_flight(), game.at("a").attempt) == (["a"], 1)  # type: ignore[union-attr]  # a leaf
    assert game.state.ledgers[ROOT].unknown == Amounts(MicroUsd(10), 100, 2)

    game.send(Recover(4))

    assert game.outcome("a") == ("failed", "limit")
    assert game.state.ledgers[ROOT].reserved == Amounts()
    assert game.state.ledgers[ROOT].unknown == Amounts(MicroUsd(15), 150, 3)
    assert len(game.events(AttemptStarted)) == 1


def test_the_cost_of_a_repeated_call_is_added_to_that_of_the_lost_one() -> None:
    game = Game(flow(called("a"), limits=Limits(calls=9)))
    game.send(Recover(2))
    game.end("a", used=Amounts(MicroUsd(2), 20, 1))

    book = game.state.ledgers[ROOT]
    assert (book.spent, book.unknown) == (Amounts(MicroUsd(2), 20, 1), Amounts(MicroUsd(5), 50, 1))
    assert game.outcome("a") == ("passed", "")


def test_only_as_many_calls_in_flight_are_repeated_as_the_limits_cover() -> None:
    steps = [called(name) for name in "abc"]
    game = Game(flow(*steps, kind="par", limits=Limits(calls=5), block_keys={"parallel": 3}))
    game.send(Recover(2))

    assert [event.lost for event in game.events(RunRecovered)] == [("a", "b")]
    assert [event.path for event in game.events(AttemptDoubted)] == ["c"]
    assert game.in_flight() == ["a", "b"]
    for path in "ab":
        game.end(path, used=Amounts(calls=1))
    assert game.outcome("c") == ("failed", "limit")


def test_a_steps_own_limit_counts_lost_calls() -> None:
    inner = with_limits(Step("g", block("seq", called("a"))), calls=1)
    game = Game(flow(inner, command("z")))
    game.send(Recover(2))

    assert game.outcome("g/a") == ("failed", "limit")
    assert game.state.ledgers[ROOT].unknown.calls == 1


def test_a_call_repeated_with_consent_counts_twice() -> None:
    """R146"""
    game = Game(flow(called("a", repeatable=False), limits=Limits(calls=1)))
    game.send(Recover(2))
    game.answer("a#1/!consent", "rerun")

    assert game.outcome("a") == ("failed", "limit")


def test_a_repeated_command_books_nothing() -> None:
    game = Game(flow(command("a"), limits=Limits(calls=1, usd=MicroUsd(1))))
    game.send(Recover(2))

    assert [event.lost for event in game.events(RunRecovered)] == [()]
    assert game.state.ledgers[ROOT].unknown == Amounts()
    assert game.in_flight() == ["a"]


@pytest.mark.req("X3")
def test_with_count_tokens_a_lost_call_costs_no_money() -> None:
    game = Game(flow(called("a"), limits=Limits(usd=MicroUsd(5)), unknown_cost="count_tokens"))
    game.send(Recover(2))

    assert game.in_flight() == ["a"]
    assert game.state.ledgers[ROOT].unknown == Amounts(MicroUsd(0), 50, 1)


def test_only_an_attempt_in_flight_can_be_lost() -> None:
    game = Game(flow(command("a"), called("b")))
    with pytest.raises(IllegalEvent, match="in flight"):
        evolve(game.state, RunRecovered(Millis(9), 2, (Address("b"),)))
