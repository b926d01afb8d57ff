"""When a step that failed is tried again: an agent immediately, everything else after its backoff."""

from __future__ import annotations

import pytest

from podium.core.decide.repeats import backoff_delay
from podium.core.events import AttemptStarted, RetryScheduled
from podium.core.messages import Cancel
from podium.core.model import Git, Step
from podium.core.policy import Backoff, Retry
from podium.core.types import Address, Millis
from tests.core.kit import Game, agent, command, flow, gates

PATIENT = Retry(attempts=4, backoff=Backoff(Millis(2_000), 2, Millis(5_000), jitter=0))


@pytest.mark.req("R135", "R136")
def test_a_command_waits_longer_before_each_attempt() -> None:
    game = Game(flow(command("a", retry=PATIENT)))
    pauses = []
    for _ in range(3):
        game.end("a", "failed")
        assert game.in_flight() == []
        pauses.append(game.wait_for_retry("a"))
    game.end("a", "failed")

    assert pauses == [2_000, 4_000, 5_000]
    assert game.outcome("a") == ("failed", "")
    assert [event.why for event in game.events(RetryScheduled)] == ["counted"] * 3


def test_a_command_that_ran_out_of_time_waits_as_well() -> None:
    game = Game(flow(command("a", retry=PATIENT)))
    game.end("a", "timeout")
    assert game.wait_for_retry("a") == 2_000
    game.end("a", "timeout")

    assert game.outcome("a") == ("timeout", "")
    assert len(game.events(AttemptStarted)) == 2


def test_a_landing_waits_and_a_gate_waits() -> None:
    landing = Game(flow(Step("land", Git(land="main"), touches=(), retry=PATIENT)))
    landing.end("land", "failed")
    assert landing.wait_for_retry("land") == 2_000

    judged = Game(flow(agent("a", gates=gates((command("t", retry=PATIENT),)))))
    judged.end_with_change("a")
    judged.end("a#1/t", "failed")
    assert judged.wait_for_retry("a#1/t") == 2_000
    judged.end("a#1/t")
    assert judged.outcome("a") == ("passed", "")


def test_an_agent_starts_its_next_attempt_immediately() -> None:
    game = Game(flow(agent("a", retry=PATIENT)))
    game.end("a", "failed")
    assert game.in_flight() == ["a"]
    assert game.events(RetryScheduled) == []


def test_a_cancelled_run_does_not_wait_for_the_next_attempt() -> None:
    game = Game(flow(command("a", retry=PATIENT)))
    game.end("a", "failed")
    game.send(Cancel("me"))

    assert game.state.ended is not None and game.state.ended.status == "cancelled"
    assert len(game.state.pending) == 0


def test_the_delay_of_a_late_attempt_is_bounded() -> None:
    """A thousand doublings are too large for a float."""
    steep = Backoff(Millis(2_000), 2.0, Millis(30_000), jitter=0)
    assert backoff_delay(steep, 5_000, Address("a")) == 30_000
