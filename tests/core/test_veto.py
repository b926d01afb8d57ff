"""A notice that passed without waiting can be vetoed while the run continues (language.md 9)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from podium.core.events import AttemptStarted, JumpAsked
from podium.core.messages import Refusal
from podium.core.model import Step
from podium.core.policy import Oversight
from podium.core.types import Millis
from tests.core.kit import Game, agent, block, command, flow, gates, human, name_of, on, review, sets
from tests.core.test_people import POLICIES

NOTICE: dict[str, Any] = {"level": "notify"}


def told(**sight: Any) -> Game:
    """A run with a worker, a notice about its work, and a command that is running."""
    notice = replace(human("h", **{**NOTICE, **sight}), on=on(rejected=0))
    game = Game(flow(agent("a"), notice, command("b"), policies=POLICIES, people={"team": ("ann",)}))
    game.end_with_change("a")
    return game


def code(said: object) -> str:
    assert isinstance(said, Refusal)
    return said.code


@pytest.mark.req("C28")
def test_a_late_veto_jumps_back_and_its_text_is_guidance() -> None:
    game = told()
    assert game.in_flight() == ["b"]

    game.answer("h", "reject", by="eve", text="not like this")

    assert [(event.target, event.by, event.why) for event in game.events(JumpAsked)] == [
        (0, "eve", "not like this")
    ]
    game.end("b", "cancelled")
    assert game.in_flight() == ["a~2"]
    assert game.events(AttemptStarted)[-1].guidance == ("not like this",)
    assert code(game.answer("h", "reject", by="eve")) == "not_waiting", "it has been heard"


@pytest.mark.req("C28")
def test_a_notice_with_a_veto_window_cannot_be_vetoed_afterwards() -> None:
    game = told(veto=Millis(60_000))
    assert (game.open_questions(), game.in_flight()) == (["h"], [])
    game.fire_timer("h", game.now + 60_000)
    assert game.in_flight() == ["b"]
    assert code(game.answer("h", "reject")) == "not_waiting"


@pytest.mark.req("C28")
def test_a_veto_at_a_gate_goes_back_to_the_judged_step() -> None:
    noticed = Step("q", review("q", oversight=Oversight(level="notify")).verb)
    game = Game(flow(agent("a", gates=gates((noticed,))), command("b")))
    game.end_with_change("a")
    game.give_verdict("a#1/q/j1")
    game.answer("a#1/q", "reject")
    game.end("b", "cancelled")
    assert game.in_flight() == ["a~2"]
    assert code(game.answer("a#1/q", "reject")) == "not_waiting"


def test_a_step_without_a_notice_or_a_route_cannot_be_vetoed() -> None:
    assert code(told(level="auto").answer("h", "reject")) == "not_waiting"
    assert code(told().answer("h", "approve")) == "not_waiting"
    assert code(told().answer("a", "reject")) == "not_waiting"
    assert code(told().answer("nobody", "reject")) == "not_waiting"
    assert code(told(by=("team",)).answer("h", "reject", by="eve")) == "not_asked"
    for steps in (
        (human("h", **NOTICE), command("b")),
        (replace(human("h", **NOTICE), on=on(rejected="fail")), command("b")),
    ):
        assert code(Game(flow(*steps)).answer("h", "reject")) == "no_way_back"
    par = block("par", replace(human("h", **NOTICE), on=on(rejected="next")), command("c"), parallel=2)
    assert code(Game(flow(Step("g", par))).answer("g/h", "reject")) == "no_way_back"


def test_a_level_that_can_no_longer_be_evaluated_cannot_be_vetoed() -> None:
    steps = (human("h", level=name_of("vars.level")), sets("s", level="nonsense"), command("b"))
    game = Game(flow(*steps, vars={"level": "notify"}))
    assert game.in_flight() == ["b"]
    assert code(game.answer("h", "reject")) == "not_waiting"
