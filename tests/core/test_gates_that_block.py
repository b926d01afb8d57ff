"""A gate with `on_fail: block` leaves no further attempt."""

from __future__ import annotations

from dataclasses import replace

import pytest

from podium.core.model import Step
from podium.core.policy import Retry
from tests.core.kit import Game, agent, block, command, flow, gates

GATED = gates((replace(command("t"), on_fail="block"),))


@pytest.mark.req("R120")
def test_a_gate_that_blocks_leaves_a_block_no_further_attempt() -> None:
    step = Step("g", block("seq", agent("x")), gates=GATED, retry=Retry(attempts=3), has_worker=True)
    game = Game(flow(step))
    game.changed("g/x")
    game.done("g#1/t", "failed")
    assert game.outcome("g") == ("failed", "gates")


@pytest.mark.req("R120")
def test_a_gate_that_blocks_leaves_a_worker_no_further_attempt() -> None:
    game = Game(flow(agent("x", gates=GATED, retry=Retry(attempts=3))))
    game.changed("x")
    game.done("x#1/t", "failed")
    assert game.outcome("x") == ("failed", "gates")
