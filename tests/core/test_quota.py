"""When a call is retried after a quota error."""

from __future__ import annotations

from podium.core.events import RetryScheduled
from podium.core.policy import Backoff, Retry
from podium.core.queries.pending import next_due
from podium.core.types import Millis
from tests.core.kit import Game, agent, flow


def test_a_quota_error_that_says_to_retry_immediately_backs_off() -> None:
    game = Game(flow(agent("a", retry=Retry(backoff=Backoff(Millis(2_000), 2, Millis(60_000), jitter=0)))))
    for _ in range(3):
        game.end("a", "quota", retry_at=Millis(0))
        due = next_due(game.state)
        assert due is not None
        game.fire_timer("a", due)

    pauses = [event.due - event.at for event in game.events(RetryScheduled)]
    assert pauses == [2_000, 4_000, 8_000]
