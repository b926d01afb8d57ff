"""Which branches of a graph hold the work of others, so that one that lands later brings only what is new (decision 55)."""

from __future__ import annotations

from podium.core.expressions.nodes import ListOf
from podium.core.model import ForEach, Git, Step
from podium.core.queries.branch_trees import holds_work_of
from podium.core.state import Scope
from tests.core.kit import Game, agent, flow

A, LAND_A, B, LAND_B = range(4)


def landing(name: str, need: int) -> Step:
    return Step(name, Git(land="main"), touches=(), needs=(need,))


def in_graph(game: Game, path: str, index: int, other: int) -> bool:
    scope = game.at(path)
    assert isinstance(scope, Scope)
    return holds_work_of(game.state, scope, index, other)


def branches(files: str) -> Game:
    steps = (
        agent("a", touches=("x",)),
        landing("land_a", A),
        agent("b", touches=(files,)),
        landing("land_b", B),
    )
    return Game(flow(*steps, kind="dag"))


def test_a_branch_with_the_same_files_holds_the_work_that_the_other_lands() -> None:
    game = branches("x")
    assert not in_graph(game, "", LAND_B, LAND_A), "there is no work yet"
    game.end_with_change("a")
    game.end("land_a")
    game.end_with_change("b")

    assert in_graph(game, "", LAND_B, LAND_A)
    assert not in_graph(game, "", LAND_A, LAND_B)


def test_a_branch_with_other_files_does_not_hold_it() -> None:
    game = branches("y")
    game.end_with_change("a")
    game.end_with_change("b")

    assert not in_graph(game, "", LAND_B, LAND_A)


def test_a_landing_without_work_of_its_own_holds_nothing_for_others() -> None:
    game = branches("x")
    game.end("a", "ok")

    assert not in_graph(game, "", LAND_B, LAND_A)


def test_items_of_a_loop_are_merged_one_by_one() -> None:
    loop = ForEach((1, 2), agent("one", touches=("x",)), needs=ListOf(()))
    game = Game(flow(Step("all", loop)))

    assert not in_graph(game, "all", 1, 0)
