"""No decision of an advisor or a person overrides a hard limit."""

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
def test_a_hard_limit_hit_by_the_advisor_ends_the_run() -> None:
    poor = replace(ADVISOR, verb=Agent(estimate=Estimate(MicroUsd(9_000_000))))
    game = looped(advisor=poor, limits=Limits(usd=MicroUsd(1_000_000)))
    assert game.outcome() == ("failed", "limit")
    attempts = agent("a", retry=Retry(attempts=3), on=on(failed="next"))
    limits = Limits(usd=MicroUsd(1_000_000))
    within = Game(flow(attempts, breaker=Breaker(retries=1), advisor=poor, limits=limits))
    within.end("a", "failed")
    assert (within.open_questions(), within.outcome("a"), within.outcome()) == (
        [],
        *[("failed", "limit")] * 2,
    )


@pytest.mark.req("R130")
def test_no_answer_overrides_a_limit_that_was_hit_while_the_question_was_open() -> None:
    steps = (
        command("a"),
        command("b", needs=(0,), on=on(failed=0)),
        agent("c", touches=(), retry=Retry(attempts=2)),
    )
    game = Game(flow(*steps, kind="dag", breaker=ONCE, limits=Limits(calls=1)))
    game.end("a")
    game.end("b", "failed")
    assert game.open_questions() == ["#1/!advice"]
    game.end("c", "failed", used=Amounts(calls=1))

    decided(game, action="force_complete")

    assert game.outcome() == ("failed", "limit")
