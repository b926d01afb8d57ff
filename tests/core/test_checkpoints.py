"""Somebody is asked near a hard limit, before it ends the run."""

from __future__ import annotations

import pytest

from podium.core.payloads import Amounts
from podium.core.policy import Breaker, Limits
from podium.core.types import MicroUsd, Millis
from tests.core.kit import Game, agent, flow


@pytest.mark.req("R131")
@pytest.mark.parametrize(
    ("limits", "used"),
    [
        (Limits(usd=MicroUsd(10)), Amounts(MicroUsd(8))),
        (Limits(tokens=10), Amounts(tokens=8)),
        (Limits(calls=5), Amounts(calls=4)),
        (Limits(time=Millis(1_250)), Amounts()),
        (Limits(transitions=5), Amounts()),
    ],
    ids=["usd", "tokens", "calls", "time", "transitions"],
)
def test_near_any_hard_limit_somebody_is_asked_once_while_there_is_still_a_choice(
    limits: Limits, used: Amounts
) -> None:
    """The checkpoint that warns of a limit; the question itself is a transition, so one must be left."""
    steps = [agent(f"s{n}", touches=()) for n in range(6)]
    game = Game(flow(*steps, breaker=Breaker(near=80), limits=limits))
    for step in ("s0", "s1", "s2", "s3"):
        if game.asked():
            break
        game.done(step, used=used)

    assert game.at("#1/!advice").place.about == "near"
    assert game.state.ended is None
