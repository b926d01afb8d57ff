"""After a gate with `on_fail: block` failed there is no further attempt."""

from __future__ import annotations

from dataclasses import replace

import pytest

from podium.core.model import Step
from podium.core.policy import Retry
from tests.core.kit import Game, agent, block, command, flow, gates

GATED = gates((replace(command("t"), on_fail="block"),))


@pytest.mark.req("R120")
def test_a_block_is_not_retried_after_a_blocking_gate_failed() -> None:
    step = Step("g", block("seq", agent("x")), gates=GATED, retry=Retry(attempts=3), has_worker=True)
    game = Game(flow(step))
    game.end_with_change("g/x")
    game.end("g#1/t", "failed")
    assert game.outcome("g") == ("failed", "gates")


@pytest.mark.req("R120")
def test_a_worker_is_not_retried_after_a_blocking_gate_failed() -> None:
    game = Game(flow(agent("x", gates=GATED, retry=Retry(attempts=3))))
    game.end_with_change("x")
    game.end("x#1/t", "failed")
    assert game.outcome("x") == ("failed", "gates")
