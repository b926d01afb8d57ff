"""No advice takes a run past a hard limit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from podium.core.model import Agent
from podium.core.payloads import Amounts
from podium.core.policy import Breaker, Estimate, Limits, Retry
from podium.core.types import MicroUsd
from tests.core.kit import Game, agent, command, flow, on
from tests.core.shapes import ADVISOR
from tests.core.test_advice import ONCE, decided, looped


@pytest.mark.req("R014", "C4")
def test_a_hard_limit_of_the_advisor_is_a_hard_limit() -> None:
    poor = replace(ADVISOR, verb=Agent(estimate=Estimate(MicroUsd(9_000_000))))
    game = looped(advisor=poor, limits=Limits(usd=MicroUsd(1_000_000)))
    assert game.outcome() == ("failed", "limit")
    attempts = agent("a", retry=Retry(attempts=3), on=on(failed="next"))
    limits = Limits(usd=MicroUsd(1_000_000))
    within = Game(flow(attempts, breaker=Breaker(retries=1), advisor=poor, limits=limits))
    within.done("a", "failed")
    assert (within.asked(), within.outcome("a"), within.outcome()) == ([], *[("failed", "limit")] * 2)


@pytest.mark.req("R130")
def test_no_answer_takes_a_run_past_a_limit_that_was_hit_while_the_question_was_open() -> None:
    steps = (
        command("a"),
        command("b", needs=(0,), on=on(failed=0)),
        agent("c", touches=(), retry=Retry(attempts=2)),
    )
    game = Game(flow(*steps, kind="dag", breaker=ONCE, limits=Limits(calls=1)))
    game.done("a")
    game.done("b", "failed")
    assert game.asked() == ["#1/!advice"]
    game.done("c", "failed", used=Amounts(calls=1))

    decided(game, action="force_complete")

    assert game.outcome() == ("failed", "limit")
