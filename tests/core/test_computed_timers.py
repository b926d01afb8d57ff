"""A timer whose duration is a value: computed when the wait starts, stored in its event, and an error if it is no duration."""

from __future__ import annotations

import pytest

from podium.core.events import WaitStarted
from podium.core.model import Input, Step, Wait
from podium.workflow.expressions.parser import parse_expression
from tests.core.kit import Game, flow


def pause(value: object) -> Game:
    wait = Step("a", Wait("timer", timer=parse_expression("inputs.pause")), touches=())
    return Game(flow(wait, inputs=(Input("pause"),)), inputs={"pause": value})


@pytest.mark.parametrize(("value", "length"), [("90s", 90_000), ("1h30m", 5_400_000), (0, 0)])
def test_the_time_is_computed_when_the_wait_starts_and_stored_in_its_event(
    value: object, length: int
) -> None:
    game = pause(value)
    [started] = [event for event in game.log if isinstance(event, WaitStarted)]
    assert started.due == started.at + length

    game.fire_timer("a", started.due)

    assert game.outcome() == ("passed", "")


@pytest.mark.parametrize("value", ["soon", -3, True, None, "4000d", [1]])
def test_a_value_that_is_no_duration_is_an_error_with_the_value_and_what_is_needed(value: object) -> None:
    game = pause(value)

    assert game.outcome("a") == ("error", "expression")
    ending = game.at("a").ending
    assert ending is not None
    assert ending.message.startswith("wait.timer is ")


def test_an_expression_that_cannot_be_computed_is_an_error() -> None:
    wait = Step("a", Wait("timer", timer=parse_expression("inputs.other")), touches=())

    assert Game(flow(wait), inputs={}).outcome("a") == ("error", "expression")
