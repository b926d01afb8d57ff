"""A review whose reviewers judge one after the other."""

from __future__ import annotations

import pytest

from tests.core.kit import Game, agent, flow, review


@pytest.mark.req("R035")
def test_reviewers_follow_each_other_where_the_review_is_not_parallel() -> None:
    game = Game(flow(agent("a"), review("r", "a", judges=2, parallel=1)))
    game.end_with_change("a")
    assert game.in_flight() == ["r/j1"]
    game.give_verdict("r/j1")
    assert game.in_flight() == ["r/j2"]
    game.give_verdict("r/j2")
    assert game.outcome() == ("passed", "")
