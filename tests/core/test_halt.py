"""A decision to halt ends the run, whatever the routes."""

from __future__ import annotations

import pytest

from podium.core.messages import Approve
from podium.core.model import Call, ForEach, Step, Workflow
from podium.core.policy import Breaker, Retry
from podium.core.types import Address, Millis
from tests.core.kit import Game, agent, block, command, flow, on, signal
from tests.core.test_advice import LOOPING, ONCE, decided


def in_a_block(**keys: object) -> Game:
    """A run whose breaker asks inside a block; the block's failure has a route."""
    inner = Step("g", block("seq", *LOOPING), on=on(failed="next"), **keys)  # type: ignore[arg-type]  # keys of a step
    game = Game(flow(inner, command("land"), breaker=ONCE))
    game.end_with_change("g/a")
    game.end("g/b", "failed")
    return game


@pytest.mark.req("R129")
@pytest.mark.parametrize("action", ["halt", "dump_context"])
def test_no_route_of_an_enclosing_block_continues_after_a_halt(action: str) -> None:
    game = in_a_block()

    decided(game, "g#1/!advice", action=action)

    assert (game.outcome("g"), game.outcome()) == (("failed", "halted"),) * 2
    assert game.state.ended is not None
    assert (game.state.ended.exit, game.state.ended.message) == (4, "because")


@pytest.mark.req("R129")
def test_a_halted_block_is_not_retried() -> None:
    game = in_a_block(retry=Retry(attempts=3))

    decided(game, "g#1/!advice", action="halt")

    assert game.in_flight() == []
    assert game.outcome() == ("failed", "halted")


@pytest.mark.req("R129")
def test_a_halt_between_two_attempts_ends_the_run() -> None:
    step = agent("a", retry=Retry(attempts=5), on=on(failed="next"))
    game = Game(flow(step, command("land"), breaker=Breaker(retries=1)))
    game.end("a", "failed")

    decided(game, "a#1/!advice", action="halt")

    assert (game.outcome("a"), game.outcome()) == (("failed", "halted"),) * 2
    assert game.state.ended is not None
    assert game.state.ended.exit == 4


@pytest.mark.req("R129")
def test_a_halt_in_a_called_workflow_or_a_loop_ends_the_run() -> None:
    child = Workflow("child", body=block("seq", *LOOPING), breaker=ONCE)
    game = Game(flow(Step("c", Call(child), on=on(failed="next")), command("land")))
    game.end_with_change("c/a")
    game.end("c/b", "failed")
    decided(game, "c#1/!advice", action="halt")
    assert game.outcome() == ("failed", "halted")

    body = Step("e", block("seq", *LOOPING))
    loop = Game(flow(Step("e", ForEach((1, 2), body), on=on(partial="next", failed="next")), breaker=ONCE))
    loop.end_with_change("e[1]/a")
    loop.end("e[1]/b", "failed")
    decided(loop, "e[1]#1/!advice", action="halt")
    assert loop.in_flight() == []
    assert (loop.outcome("e"), loop.outcome()) == (("failed", "halted"),) * 2


@pytest.mark.req("R129")
def test_after_a_halt_in_a_graph_no_step_starts_and_no_jump_happens() -> None:
    """Running siblings finish."""
    inner = Step("g", block("seq", *LOOPING), needs=())
    beside = command("x", needs=())
    back = command("y", needs=(1,), on=on(failed=1))
    game = Game(flow(inner, beside, back, command("z", needs=(2,)), kind="dag", breaker=ONCE))
    game.end("x")
    game.end_with_change("g/a")
    game.end("g/b", "failed")
    decided(game, "g#1/!advice", action="halt")
    assert game.in_flight() == ["y"]

    game.end("y", "failed")

    assert game.outcome() == ("failed", "halted")


@pytest.mark.req("R129")
def test_a_block_that_times_out_after_a_halt_ends_as_halted() -> None:
    inner = Step("g", block("seq", *LOOPING))
    slow = Step(
        "p", block("par", inner, signal("s"), parallel=2), timeout=Millis(60_000), on=on(timeout="next")
    )
    game = Game(flow(slow, command("land"), breaker=ONCE))
    game.end_with_change("p/g/a")
    game.end("p/g/b", "failed")
    game.send(Approve(Address("p/g#1/!advice"), "halt", "me", "enough"))

    game.fire_timer("p", 61_000)

    assert (game.outcome("p"), game.outcome()) == (("failed", "halted"),) * 2
