"""Agents of `finally` after a limit: only from what was reserved for them, and never beyond the limit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from podium.core.addresses import ROOT
from podium.core.events import AttemptStarted
from podium.core.ledger import total
from podium.core.model import Agent, Step, Workflow
from podium.core.payloads import Amounts
from podium.core.policy import Estimate, Limits, Reserve
from podium.core.types import MicroUsd, Millis
from tests.core.kit import Game, agent, block, flow, on, with_limits


def one(name: str, **rest: Any) -> Step:
    return agent(name, touches=(), verb=Agent(estimate=Estimate(MicroUsd(5), 50)), **rest)


def with_finally(*steps: Step, limits: Limits, last: int = 1) -> Workflow:
    clean = Step("finally", block("seq", *(one(f"clean{n + 1}") for n in range(last))))
    return replace(flow(*steps, limits=limits), finally_=clean)


def starts(game: Game) -> list[str]:
    return [event.path for event in game.events(AttemptStarted)]


@pytest.mark.req("R130")
def test_steps_leave_the_reserve_and_finally_uses_it_after_the_limit() -> None:
    limits = Limits(usd=MicroUsd(15), finally_=Reserve(usd=MicroUsd(5)))
    game = Game(with_finally(one("a"), one("b"), one("c"), limits=limits, last=2))
    for path in ("a", "b"):
        game.end(path, used=Amounts(MicroUsd(5), 0, 1))
    assert game.outcome("c") == ("failed", "limit")

    game.end("finally/clean1", used=Amounts(MicroUsd(5), 0, 1))

    assert starts(game) == ["a", "b", "finally/clean1"]
    assert game.outcome("finally/clean2") == ("skipped", "limit")
    assert total(game.state.ledgers[ROOT]).usd == 15
    assert game.state.ended is not None and game.state.ended.status == "limited"


@pytest.mark.req("R130")
@pytest.mark.parametrize(
    "limits",
    [
        Limits(calls=2, finally_=Reserve(calls=1)),
        Limits(tokens=100, finally_=Reserve(tokens=50)),
        Limits(transitions=1, usd=MicroUsd(20), finally_=Reserve(usd=MicroUsd(5))),
        Limits(time=Millis(500), usd=MicroUsd(20), finally_=Reserve(usd=MicroUsd(5))),
        Limits(calls=1, usd=MicroUsd(20), finally_=Reserve(usd=MicroUsd(5))),
    ],
)
def test_every_unit_can_be_reserved_and_another_limit_does_not_take_it(limits: Limits) -> None:
    """A limit without a reserve of its own that is used up still refuses the call."""
    game = Game(with_finally(one("a"), one("b"), limits=limits))
    game.end("a", used=Amounts(MicroUsd(1), 50, 1))

    allowed = limits.calls != 1
    assert starts(game) == (["a", "finally/clean1"] if allowed else ["a"])


def test_without_a_reserve_no_agent_is_called_after_a_limit() -> None:
    game = Game(with_finally(one("a"), one("b"), limits=Limits(transitions=1, usd=MicroUsd(50))))
    game.end("a")

    assert game.outcome("finally/clean1") == ("skipped", "limit")


def test_the_own_limit_of_a_step_that_was_routed_takes_nothing_from_finally() -> None:
    inner = with_limits(Step("g", block("seq", one("x"), one("y")), on=on(failed="next")), calls=1)
    game = Game(with_finally(inner, limits=Limits(usd=MicroUsd(50))))
    game.end("g/x", used=Amounts(MicroUsd(1), 0, 1))

    assert game.outcome("g") == ("failed", "limit")
    assert starts(game)[-1] == "finally/clean1"


def test_a_run_that_reaches_no_limit_gives_finally_all_that_is_left() -> None:
    limits = Limits(usd=MicroUsd(15), finally_=Reserve(usd=MicroUsd(5)))
    game = Game(with_finally(one("a"), limits=limits, last=2))
    game.end("a", used=Amounts(MicroUsd(5), 0, 1))
    game.end("finally/clean1", used=Amounts(MicroUsd(5), 0, 1))

    assert starts(game) == ["a", "finally/clean1", "finally/clean2"]
