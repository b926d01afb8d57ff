"""An attempt whose process is gone counts in full; its siblings are left alone."""

from __future__ import annotations

import pytest

from podium.core.addresses import ROOT
from podium.core.effects import RunAttempt
from podium.core.events import AttemptDoubted, AttemptEnded, AttemptLost, AttemptStarted
from podium.core.evolve.evolve import evolve
from podium.core.evolve.lifecycle import IllegalEvent
from podium.core.messages import Cancel
from podium.core.model import Agent, Step
from podium.core.payloads import Amounts
from podium.core.policy import Estimate, Limits
from podium.core.turn import Turn, turn
from podium.core.types import Address, MicroUsd, Millis
from tests.core.kit import Game, agent, command, flow

ONE = Estimate(MicroUsd(5), 50)


def called(name: str, *, repeatable: bool = True) -> Step:
    return agent(name, touches=(), verb=Agent(estimate=ONE), repeatable=repeatable)


def lost(path: str, attempt: int = 1) -> AttemptLost:
    return AttemptLost(Millis(0), Address(path), attempt)


def test_a_lost_attempt_is_performed_again_under_its_number_and_only_its_own_call_is_booked() -> None:
    steps = [called(name) for name in "ab"]
    game = Game(flow(*steps, kind="par", limits=Limits(calls=9), block_keys={"parallel": 2}))

    made = turn(game.state, lost("a"), Millis(1000))

    assert isinstance(made, Turn)
    assert [type(event) for event in made.events] == [AttemptLost]
    assert [effect.started.path for effect in made.effects if isinstance(effect, RunAttempt)] == ["a"]
    assert made.state.ledgers[ROOT].unknown == Amounts(MicroUsd(5), 50, 1)
    assert made.state.instances[Address("b")] == game.state.instances[Address("b")]


def test_a_late_or_repeated_report_of_a_loss_changes_nothing() -> None:
    game = Game(flow(called("a"), limits=Limits(calls=9)))
    game.send(lost("a", 2))
    assert game.events(AttemptLost) == []
    game.end("a")
    game.send(lost("a"))
    assert game.events(AttemptLost) == []


def test_losses_do_not_repeat_a_call_beyond_its_limit() -> None:
    game = Game(flow(called("a"), limits=Limits(calls=3)))
    game.send(lost("a"))
    game.send(lost("a"))
    game.send(lost("a"))

    assert game.outcome("a") == ("failed", "limit")
    assert game.state.ledgers[ROOT].unknown.calls == 3
    assert len(game.events(AttemptStarted)) == 1


def test_a_step_that_must_not_be_repeated_asks_first() -> None:
    game = Game(flow(called("a", repeatable=False), limits=Limits(calls=9)))
    game.send(lost("a"))

    assert len(game.events(AttemptDoubted)) == 1
    game.answer("a#1/!consent", "rerun")
    assert game.in_flight() == ["a"]


def test_the_loss_of_an_attempt_that_is_cancelled_ends_it() -> None:
    game = Game(flow(called("a"), limits=Limits(calls=9)))
    game.send(Cancel("eva"))
    game.send(lost("a"))

    assert [(event.kind, event.used.calls) for event in game.events(AttemptEnded)] == [("cancelled", 1)]
    assert game.state.ended is not None


def test_a_lost_command_books_no_call() -> None:
    game = Game(flow(command("a")))
    game.send(lost("a"))
    assert game.in_flight() == ["a"]
    assert game.state.ledgers[ROOT].unknown == Amounts()


def test_the_log_refuses_the_loss_of_an_attempt_that_is_not_in_flight() -> None:
    game = Game(flow(called("a")))
    with pytest.raises(IllegalEvent):
        evolve(game.state, lost("a", 2))
