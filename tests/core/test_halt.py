"""Who is asked by the breaker and says halt ends the run: no route leads around that."""

from __future__ import annotations

import pytest

from podium.core.messages import Approve
from podium.core.model import Call, ForEach, Step, Workflow
from podium.core.policy import Breaker, Retry
from podium.core.types import Millis, Path
from tests.core.kit import Game, agent, block, command, flow, on, signal
from tests.core.test_advice import LOOPING, ONCE, decided


def in_a_block(**keys: object) -> Game:
    """A run whose breaker asks inside of a block, the failure of which leads on."""
    inner = Step("g", block("seq", *LOOPING), on=on(failed="next"), **keys)  # type: ignore[arg-type]  # keys of a step
    game = Game(flow(inner, command("land"), breaker=ONCE))
    game.changed("g/a")
    game.done("g/b", "failed")
    return game


@pytest.mark.req("R129")
@pytest.mark.parametrize("action", ["halt", "dump_context"])
def test_no_route_of_a_block_around_it_goes_on_after_a_halt(action: str) -> None:
    game = in_a_block()

    decided(game, "g#1/!advice", action=action)

    assert (game.outcome("g"), game.outcome()) == (("failed", "halted"),) * 2
    assert game.state.ended is not None
    assert (game.state.ended.exit, game.state.ended.message) == (4, "because")


@pytest.mark.req("R129")
def test_a_halted_block_is_not_tried_again() -> None:
    game = in_a_block(retry=Retry(attempts=3))

    decided(game, "g#1/!advice", action="halt")

    assert game.flying() == []
    assert game.outcome() == ("failed", "halted")


@pytest.mark.req("R129")
def test_a_halt_between_two_attempts_ends_the_run_too() -> None:
    step = agent("a", retry=Retry(attempts=5), on=on(failed="next"))
    game = Game(flow(step, command("land"), breaker=Breaker(retries=1)))
    game.done("a", "failed")

    decided(game, "a#1/!advice", action="halt")

    assert (game.outcome("a"), game.outcome()) == (("failed", "halted"),) * 2
    assert game.state.ended is not None
    assert game.state.ended.exit == 4


@pytest.mark.req("R129")
def test_a_halt_in_a_called_workflow_or_a_loop_ends_the_run() -> None:
    child = Workflow("child", body=block("seq", *LOOPING), breaker=ONCE)
    game = Game(flow(Step("c", Call(child), on=on(failed="next")), command("land")))
    game.changed("c/a")
    game.done("c/b", "failed")
    decided(game, "c#1/!advice", action="halt")
    assert game.outcome() == ("failed", "halted")

    body = Step("e", block("seq", *LOOPING))
    loop = Game(flow(Step("e", ForEach((1, 2), body), on=on(partial="next", failed="next")), breaker=ONCE))
    loop.changed("e[1]/a")
    loop.done("e[1]/b", "failed")
    decided(loop, "e[1]#1/!advice", action="halt")
    assert loop.flying() == []
    assert (loop.outcome("e"), loop.outcome()) == (("failed", "halted"),) * 2


@pytest.mark.req("R129")
def test_after_a_halt_in_a_graph_nothing_is_begun_and_nothing_leads_back() -> None:
    """What is under way beside it is finished."""
    inner = Step("g", block("seq", *LOOPING), needs=())
    beside = command("x", needs=())
    back = command("y", needs=(1,), on=on(failed=1))
    game = Game(flow(inner, beside, back, command("z", needs=(2,)), kind="dag", breaker=ONCE))
    game.done("x")
    game.changed("g/a")
    game.done("g/b", "failed")
    decided(game, "g#1/!advice", action="halt")
    assert game.flying() == ["y"]

    game.done("y", "failed")

    assert game.outcome() == ("failed", "halted")


@pytest.mark.req("R129")
def test_a_block_that_runs_out_of_time_after_a_halt_ends_by_the_halt() -> None:
    inner = Step("g", block("seq", *LOOPING))
    slow = Step(
        "p", block("par", inner, signal("s"), parallel=2), timeout=Millis(60_000), on=on(timeout="next")
    )
    game = Game(flow(slow, command("land"), breaker=ONCE))
    game.changed("p/g/a")
    game.done("p/g/b", "failed")
    game.say(Approve(Path("p/g#1/!advice"), "halt", "me", "enough"))

    game.fire("p", 61_000)

    assert (game.outcome("p"), game.outcome()) == (("failed", "halted"),) * 2
