"""When a step that failed is tried again: an agent immediately, everything else after its backoff."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from podium.core.decide.repeats import backoff_delay
from podium.core.events import AttemptStarted, RetryScheduled
from podium.core.messages import Cancel
from podium.core.model import Agent, Command, Git, Step
from podium.core.policy import Backoff, Retry
from podium.core.types import Address, Millis
from tests.core.kit import TRUE, Game, agent, block, check, command, flow, gates

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


@pytest.mark.req("R138", "C22")
def test_a_command_that_names_124_is_tried_as_often_as_it_says() -> None:
    step = command("a", retry=PATIENT)
    game = Game(flow(replace(step, verb=Command(("x",), exit_codes=(1, 124)))))
    for pause in (2_000, 4_000, 5_000):
        game.end("a", "timeout")
        assert game.wait_for_retry("a") == pause
    game.end("a", "timeout")

    assert game.outcome("a") == ("timeout", "")


@pytest.mark.req("R136", "C22")
def test_the_exit_code_124_is_a_timeout_where_it_is_named() -> None:
    step = command("a", retry=PATIENT)
    limits_itself = Game(flow(replace(step, verb=Command(("x",), exit_codes=(1, 124)))))
    for pause in (2_000, 4_000, 5_000):
        limits_itself.end("a", "failed", result={"exit_code": 124})
        assert limits_itself.wait_for_retry("a") == pause
    limits_itself.end("a", "failed", result={"exit_code": 124})
    assert limits_itself.outcome("a") == ("timeout", "")

    fails = Game(flow(replace(step, verb=Command(("x",), exit_codes=(1,)))))
    fails.end("a", "failed", result={"exit_code": 124})
    assert fails.outcome("a") == ("failed", "")


def test_an_agent_with_a_literal_prompt_waits_like_a_command() -> None:
    step = agent("a", retry=PATIENT)
    game = Game(flow(replace(step, verb=Agent(agent="x", stdin="a.md"))))
    for pause in (2_000, 4_000):
        game.end("a", "timeout")
        assert game.wait_for_retry("a") == pause
    game.end("a", "ok")

    assert game.outcome("a") == ("passed", "")


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


def flaky_block(**rest: Any) -> Step:
    inner = Step("i", block("seq", command("c")))
    return Step("g", block("seq", check("ready", TRUE), inner), retry=PATIENT, has_worker=True, **rest)


@pytest.mark.req("R135", "R136")
def test_a_block_waits_longer_before_each_attempt() -> None:
    game = Game(flow(flaky_block()))
    pauses = []
    for visit in ("", "~2", "~3"):
        game.end(f"g/i{visit}/c", "failed")
        assert game.in_flight() == []
        pauses.append(game.wait_for_retry("g"))
    game.end("g/i~4/c", "failed")

    assert pauses == [2_000, 4_000, 5_000]
    assert game.outcome("g") == ("failed", "failed")


def test_a_block_whose_failure_an_earlier_run_had_starts_again_immediately() -> None:
    game = Game(flow(flaky_block()), facts={"reused": ((Address("g/i/c"), 1),)})
    game.end("g/i/c", "failed", reused="earlier")

    assert game.in_flight() == ["g/i~2/c"]


def test_a_person_who_grants_another_attempt_of_a_block_need_not_wait() -> None:
    asking = Retry(attempts=1, on_exhausted="human", stated=True)
    game = Game(flow(replace(flaky_block(), retry=asking)))
    game.end("g/i/c", "failed")
    game.answer("g#1/!exhausted", "retry")

    assert game.in_flight() == ["g/i~2/c"]


@pytest.mark.parametrize("pause", [2_000, 1_000])
def test_the_deadline_of_a_block_also_ends_its_pause(pause: int) -> None:
    patient = Retry(attempts=4, backoff=Backoff(Millis(2_000), 2, Millis(5_000), jitter=0))
    game = Game(flow(replace(flaky_block(timeout=Millis(pause)), retry=patient)))
    start = game.now
    game.end("g/i/c", "failed")
    game.fire_timer("g", start + pause)

    assert game.outcome("g") == ("timeout", "")
    assert len(game.state.pending) == 0


def test_a_cancelled_run_does_not_wait_for_the_next_attempt_of_a_block() -> None:
    game = Game(flow(flaky_block()))
    game.end("g/i/c", "failed")
    game.send(Cancel("me"))

    assert game.state.ended is not None and game.state.ended.status == "cancelled"
    assert len(game.state.pending) == 0


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
