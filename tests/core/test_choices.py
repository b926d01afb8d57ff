"""Routes that are chosen by a value, and what they hand to the step that they lead to."""

from __future__ import annotations

from typing import Any

import pytest

from podium.core.events import StepEnded
from podium.core.model import Choice, Set, Step, Target
from podium.core.payloads import ChosenRoute
from podium.core.policy import Retry
from podium.core.queries.graph import targets_of
from podium.core.types import Address
from podium.workflow.expressions.parser import parse_expression, parse_value
from tests.core.kit import BASE, Game, agent, block, command, flow


def choose(*entries: tuple[str | None, Target]) -> Target:
    choices = (Choice(None if when is None else parse_expression(when), target) for when, target in entries)
    return Target("choose", choices=tuple(choices))


def to(index: int, **rest: Any) -> Target:
    return Target("step", index, **rest)


def ending(game: Game, path: str) -> StepEnded:
    ended = game.state.instances[Address(path)].ending
    assert ended is not None
    return ended


KIND = choose(('steps.c.output == "bug"', to(1)), (None, to(2)))


def test_all_targets_of_a_step_are_listed() -> None:
    step = agent("a", on={"passed": KIND, "failed": to(0)})
    assert [(outcome, target.step) for outcome, target in targets_of(step)] == [
        ("passed", 1),
        ("passed", 2),
        ("failed", 0),
    ]


def router(target: Target = KIND, **rest: Target) -> Game:
    return Game(flow(agent("c", on={"passed": target, **rest}), agent("bug"), agent("other")))


@pytest.mark.parametrize(("kind", "entry", "step"), [("bug", 0, "bug"), ("feature", 1, "other")])
def test_the_first_entry_that_holds_is_taken_and_stored(kind: str, entry: int, step: str) -> None:
    game = router()
    game.end("c", result={"output": kind})
    assert ending(game, "c").route == ChosenRoute(entry)
    assert game.in_flight() == [step]


@pytest.mark.parametrize(
    ("when", "message"),
    [
        ("steps.c.missing == 1", "c has no missing"),
        ("steps.c.output", "a condition must be true or false"),
        ('exists("x")', "a route cannot use exists or glob"),
    ],
)
def test_a_condition_that_cannot_be_evaluated_ends_the_step_as_an_error(when: str, message: str) -> None:
    game = router(choose((when, to(1)), (None, to(2))))
    game.end("c", result={"output": "bug"})
    assert (ending(game, "c").outcome, ending(game, "c").reason) == ("error", "expression")
    assert message in ending(game, "c").message
    assert game.state.ended is not None

    routed = router(choose((when, to(1)), (None, to(2))), error=to(2))
    routed.end("c", result={"output": "bug"})
    assert routed.in_flight() == ["other"]


def test_an_error_in_the_route_of_an_error_fails_the_block() -> None:
    game = router(choose(("1 == 2", to(1))), error=choose(("steps.c.missing", to(2))))
    game.end("c", result={"output": "bug"})
    assert "no entry of the route applies" in ending(game, "c").message
    assert game.state.ended is not None
    assert game.state.ended.status == "failed"


def test_variables_that_the_step_sets_can_be_read() -> None:
    target = choose(("vars.n == 2 and vars.old == 1", to(2)), (None, to(1)))
    step = Step("s", Set((("n", 2),)), on={"passed": target})
    game = Game(flow(Step("first", Set((("old", 1),))), step, agent("other")))
    assert ending(game, "s").route == ChosenRoute(0)


def test_a_route_back_may_be_chosen_in_a_graph() -> None:
    target = choose(("steps.b.output", to(0)), (None, Target("next")))
    game = Game(flow(agent("a"), agent("b", needs=(0,), on={"passed": target}), kind="dag"))
    game.end("a")
    game.end("b", result={"output": True})
    assert game.in_flight() == ["a~2"]
    game.end("a~2")
    game.end("b~2", result={"output": False})
    assert game.state.ended is not None
    assert game.state.ended.status == "passed"


def test_words_of_a_route_reach_the_step_it_leads_to_forwards_and_back() -> None:
    words = parse_value("Kind: ${{ steps.c.output }}")
    game = router(to(2, feedback=words))
    game.end("c", result={"output": "bug"})
    assert ending(game, "c").route == ChosenRoute(words="Kind: bug")
    assert game.state.instances[Address("other")].feedback == ("c",)


def test_a_step_may_start_from_the_work_of_the_one_that_failed() -> None:
    once = Retry(attempts=1)
    for index, path in ((2, "c"), (0, "a~2")):
        failing = agent("b", retry=once, on={"failed": to(index, keeps_work=True)})
        game = Game(flow(agent("a"), failing, agent("c")))
        game.end_with_change("a")
        game.end("b", "failed", tree="half")
        effect: Any = game.state.pending[("attempt", Address(path))]
        assert effect.started.start == "half"
        assert effect.started.base == (BASE if index == 0 else "a#1")


def test_a_block_that_failed_hands_on_the_work_it_had() -> None:
    inner = block("seq", agent("x"), command("y"))
    failing = Step("b", inner, on={"failed": to(1, keeps_work=True)}, has_worker=True)
    game = Game(flow(failing, agent("c")))
    game.end_with_change("b/x")
    game.end("b/y", "failed")
    effect: Any = game.state.pending[("attempt", Address("c"))]
    assert (effect.started.base, effect.started.start) == (BASE, "b/x#1")
