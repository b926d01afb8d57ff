"""A notice that nobody waited for can be vetoed while the run goes on (language.md 9)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from podium.core.events import AttemptStarted, JumpAsked
from podium.core.messages import Refusal
from podium.core.model import Oversight, Step
from podium.core.types import Millis
from tests.core.kit import Game, agent, block, command, flow, gates, human, name_of, on, review, sets
from tests.core.test_people import POLICIES

NOTICE: dict[str, Any] = {"level": "notify"}


def told(**sight: Any) -> Game:
    """A worker, a notice about its work, and a command that runs meanwhile."""
    notice = replace(human("h", **{**NOTICE, **sight}), on=on(rejected=0))
    game = Game(flow(agent("a"), notice, command("b"), policies=POLICIES, people={"team": ("ann",)}))
    game.changed("a")
    return game


def code(said: object) -> str:
    assert isinstance(said, Refusal)
    return said.code


@pytest.mark.req("C28")
def test_a_late_veto_brings_the_run_back_with_its_words() -> None:
    game = told()
    assert game.flying() == ["b"]

    game.answer("h", "reject", by="eve", text="not like this")

    assert [(event.target, event.by, event.why) for event in game.events(JumpAsked)] == [
        (0, "eve", "not like this")
    ]
    game.done("b", "cancelled")
    assert game.flying() == ["a~2"]
    assert game.events(AttemptStarted)[-1].guidance == ("not like this",)
    assert code(game.answer("h", "reject", by="eve")) == "not_waiting", "it has been heard"


@pytest.mark.req("C28")
def test_with_a_window_the_notice_waits_and_nobody_is_heard_after_it() -> None:
    game = told(veto=Millis(60_000))
    assert (game.asked(), game.flying()) == (["h"], [])
    game.fire("h", game.now + 60_000)
    assert game.flying() == ["b"]
    assert code(game.answer("h", "reject")) == "not_waiting"


@pytest.mark.req("C28")
def test_a_notice_at_a_gate_goes_back_to_the_step_of_the_gate() -> None:
    noticed = Step("q", review("q", oversight=Oversight(level="notify")).verb)
    game = Game(flow(agent("a", gates=gates((noticed,))), command("b")))
    game.changed("a")
    game.judged("a#1/q/j1")
    game.answer("a#1/q", "reject")
    game.done("b", "cancelled")
    assert game.flying() == ["a~2"]
    assert code(game.answer("a#1/q", "reject")) == "not_waiting"


def test_what_was_no_notice_or_leads_nowhere_cannot_be_vetoed() -> None:
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


def test_a_level_that_can_no_longer_be_found_out_is_no_notice() -> None:
    steps = (human("h", level=name_of("vars.level")), sets("s", level="nonsense"), command("b"))
    game = Game(flow(*steps, vars={"level": "notify"}))
    assert game.flying() == ["b"]
    assert code(game.answer("h", "reject")) == "not_waiting"
