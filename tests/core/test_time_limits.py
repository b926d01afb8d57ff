"""A limit on working time that runs out during an attempt belongs to the scope that declared it (decision 8)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from podium.core.events import AttemptStarted
from podium.core.model import Call, ForEach, Repeat, Step
from podium.core.policy import Limits, Retry
from podium.core.types import Millis
from tests.core.kit import FALSE, Game, agent, block, command, flow, gates, on, review, with_limits

ROUTED: Any = {"on": on(timeout="next", failed="next", error="next", partial="next")}
TIGHT = Limits(time=Millis(2_000))


def run_out(game: Game, path: str) -> None:
    """End the attempt in flight as the shell does when the time that it was given is over."""
    effect: Any = game.state.pending[("attempt", path)]  # type: ignore[index]  # an address
    game.now = Millis(effect.started.at + effect.started.timeout - 1_000)
    game.end(path, "timeout")


def check_limited(game: Game) -> None:
    ended = game.state.ended
    assert ended is not None
    assert (ended.status, ended.reason, ended.exit) == ("limited", "limit", 5)


@pytest.mark.req("R130", "C18")
@pytest.mark.parametrize("kind", ["seq", "dag", "par"])
def test_the_time_of_the_run_ends_it_and_no_route_catches_that(kind: str) -> None:
    game = Game(flow(command("a", **ROUTED), kind=kind, limits=TIGHT))
    run_out(game, "a")
    check_limited(game)
    ending = game.at("a").ending
    assert (
        ending is not None
        and ending.message == "the limit on time of the run is reached: 2 s used, 2 s allowed"
    )


@pytest.mark.req("R130", "C18")
@pytest.mark.parametrize(
    ("step", "path"),
    [
        (Step("s", block("seq", command("a", **ROUTED)), **ROUTED), "s/a"),
        (Step("s", Repeat(command("s"), FALSE, "until", 3), **ROUTED), "s[1]"),
        (Step("s", ForEach([1], command("s")), **ROUTED), "s[1]"),
        (Step("s", Call(flow(command("a", **ROUTED))), **ROUTED), "s/a"),
        (replace(review("s"), **ROUTED), "s/j1"),
        (agent("s", retry=Retry(attempts=3, on_exhausted="human", stated=True), **ROUTED), "s"),
    ],
    ids=["block", "repeat", "for_each", "workflow", "review", "agent"],
)
def test_no_verb_catches_the_time_of_the_run(step: Step, path: str) -> None:
    game = Game(flow(step, command("z"), limits=TIGHT))
    run_out(game, path)
    check_limited(game)
    assert len(game.events(AttemptStarted)) == 1


def test_a_gate_that_the_time_of_the_run_interrupts_ends_the_run() -> None:
    game = Game(flow(agent("a", gates=gates((command("t"),)), **ROUTED), limits=TIGHT))
    game.end_with_change("a")
    run_out(game, "a#1/t")
    check_limited(game)


@pytest.mark.req("R130")
@pytest.mark.parametrize("routes", [on(failed="next"), on(failed="next", timeout="fail")])
def test_the_time_of_a_step_ends_it_as_failed_and_its_own_route_applies(routes: Any) -> None:
    game = Game(flow(with_limits(command("a", on=routes), time=Millis(2_000)), command("z")))
    run_out(game, "a")
    assert game.outcome("a") == ("failed", "limit")
    game.end("z")
    assert game.outcome() == ("passed", "")


@pytest.mark.req("R130")
def test_no_route_inside_the_scope_that_declared_the_limit_applies() -> None:
    inner = Step("g", block("seq", command("a", **ROUTED), command("b")), on=on(failed="next"))
    game = Game(flow(with_limits(inner, time=Millis(2_000)), command("z")))
    run_out(game, "g/a")
    assert game.outcome("g") == ("failed", "limit")
    assert game.in_flight() == ["z"]


def test_a_sub_workflow_has_its_own_time() -> None:
    child = flow(command("a", **ROUTED), command("b"), limits=TIGHT)
    game = Game(flow(Step("k", Call(child), on=on(failed="next")), command("z")))
    run_out(game, "k/a")
    assert game.outcome("k") == ("failed", "limit")
    assert game.in_flight() == ["z"]


def test_of_two_limits_that_run_out_together_the_outer_one_applies() -> None:
    step = with_limits(command("a", **ROUTED), time=Millis(2_000))
    game = Game(flow(step, command("z"), limits=TIGHT))
    run_out(game, "a")
    check_limited(game)


def test_a_timeout_of_the_step_itself_can_still_be_routed() -> None:
    step = command("a", timeout=Millis(1_500), on=on(timeout="next"))
    game = Game(flow(step, command("z"), limits=TIGHT))
    run_out(game, "a")
    assert game.outcome("a") == ("timeout", "")
    assert game.in_flight() == ["z"]


def test_the_time_of_finally_ends_it_and_the_run_says_so() -> None:
    clean = Step("finally", block("seq", command("t", **ROUTED), command("u")))
    game = Game(flow(command("a"), finally_=clean))
    game.end("a")
    run_out(game, "finally/t")
    assert game.outcome("finally") == ("failed", "limit")
    assert game.state.ended is not None and game.state.ended.exit == 5
