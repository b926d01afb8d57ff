"""A call that died with the owner of its run was made: it counts before it is made again."""

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
from podium.core.types import MicroUsd, Millis, Path
from tests.core.kit import Game, agent, block, command, flow, with_limits

ONE = Estimate(MicroUsd(5), 50)


def called(name: str, *, repeatable: bool = True) -> Step:
    return agent(name, touches=(), verb=Agent(estimate=ONE), repeatable=repeatable)


@pytest.mark.req("X2", "R130")
@pytest.mark.parametrize(
    "limits", [Limits(calls=3), Limits(usd=MicroUsd(19)), Limits(tokens=199)], ids=["calls", "usd", "tokens"]
)
def test_a_call_is_not_repeated_for_ever_by_one_crash_after_the_other(limits: Limits) -> None:
    game = Game(flow(called("a"), limits=limits))
    game.say(Recover(2))
    game.say(Recover(3))
    assert (game.flying(), game.at("a").attempt) == (["a"], 1)  # type: ignore[union-attr]  # a leaf
    assert game.state.ledgers[ROOT].unknown == Amounts(MicroUsd(10), 100, 2)

    game.say(Recover(4))

    assert game.outcome("a") == ("failed", "limit")
    assert game.state.ledgers[ROOT].held == Amounts()
    assert game.state.ledgers[ROOT].unknown == Amounts(MicroUsd(15), 150, 3)
    assert len(game.events(AttemptStarted)) == 1


def test_what_a_repeated_call_tells_is_booked_beside_what_was_lost() -> None:
    game = Game(flow(called("a"), limits=Limits(calls=9)))
    game.say(Recover(2))
    game.done("a", used=Amounts(MicroUsd(2), 20, 1))

    book = game.state.ledgers[ROOT]
    assert (book.spent, book.unknown) == (Amounts(MicroUsd(2), 20, 1), Amounts(MicroUsd(5), 50, 1))
    assert game.outcome("a") == ("passed", "")


def test_only_as_many_of_the_calls_in_flight_are_repeated_as_can_be_paid() -> None:
    steps = [called(name) for name in "abc"]
    game = Game(flow(*steps, kind="par", limits=Limits(calls=5), block_keys={"parallel": 3}))
    game.say(Recover(2))

    assert [event.lost for event in game.events(RunRecovered)] == [("a", "b")]
    assert [event.path for event in game.events(AttemptDoubted)] == ["c"]
    assert game.flying() == ["a", "b"]
    for path in "ab":
        game.done(path, used=Amounts(calls=1))
    assert game.outcome("c") == ("failed", "limit")


def test_a_limit_of_the_step_itself_counts_lost_calls_too() -> None:
    inner = with_limits(Step("g", block("seq", called("a"))), calls=1)
    game = Game(flow(inner, command("z")))
    game.say(Recover(2))

    assert game.outcome("g/a") == ("failed", "limit")
    assert game.state.ledgers[ROOT].unknown.calls == 1


def test_a_call_that_a_person_lets_be_repeated_counts_twice() -> None:
    """R146"""
    game = Game(flow(called("a", repeatable=False), limits=Limits(calls=1)))
    game.say(Recover(2))
    game.answer("a#1/!consent", "rerun")

    assert game.outcome("a") == ("failed", "limit")


def test_commands_are_repeated_without_being_booked() -> None:
    game = Game(flow(command("a"), limits=Limits(calls=1, usd=MicroUsd(1))))
    game.say(Recover(2))

    assert [event.lost for event in game.events(RunRecovered)] == [()]
    assert game.state.ledgers[ROOT].unknown == Amounts()
    assert game.flying() == ["a"]


@pytest.mark.req("X3")
def test_where_only_tokens_bind_what_has_no_price_a_lost_call_costs_no_money() -> None:
    game = Game(flow(called("a"), limits=Limits(usd=MicroUsd(5)), unknown_cost="count_tokens"))
    game.say(Recover(2))

    assert game.flying() == ["a"]
    assert game.state.ledgers[ROOT].unknown == Amounts(MicroUsd(0), 50, 1)


def test_what_is_not_in_flight_cannot_be_lost() -> None:
    game = Game(flow(command("a"), called("b")))
    with pytest.raises(IllegalEvent, match="in flight"):
        evolve(game.state, RunRecovered(Millis(9), 2, (Path("b"),)))
