"""The breaker asks near a hard limit, before the limit ends the run."""

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
def test_the_breaker_asks_once_near_any_hard_limit(limits: Limits, used: Amounts) -> None:
    """The question itself is a transition, so one must be left when the warning comes."""
    steps = [agent(f"s{n}", touches=()) for n in range(6)]
    game = Game(flow(*steps, breaker=Breaker(near=80), limits=limits))
    for step in ("s0", "s1", "s2", "s3"):
        if game.open_questions():
            break
        game.end(step, used=used)

    assert game.at("#1/!advice").place.topic == "near"
    assert game.state.ended is None
