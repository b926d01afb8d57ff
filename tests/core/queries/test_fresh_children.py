"""Only valid results can be read, and the trail of a loop is bounded."""

from __future__ import annotations

from podium.core.addresses import ROOT
from podium.core.evolve.scopes import TRAIL_KEPT
from podium.core.model import ForEach, Step
from podium.core.queries.graph import fresh_children
from podium.core.state import Scope
from podium.core.types import Address
from tests.core.kit import Game, agent, command, flow


def test_a_stale_child_is_not_read() -> None:
    game = Game(flow(agent("a"), agent("b")))
    game.end("a")
    game.end("b")
    state = game.state
    root, visit = state.instances[ROOT], state.latest[(ROOT, 0)]
    assert isinstance(root, Scope)

    stale = state._replace(latest=state.latest.set((ROOT, 0), visit._replace(fresh=False)))

    assert [child.place.path for child in fresh_children(state, root)] == ["a", "b"]
    assert [child.place.path for child in fresh_children(stale, root)] == ["b"]


def test_the_trail_of_a_loop_is_bounded() -> None:
    count = 3 * TRAIL_KEPT
    each = Step("each", ForEach(tuple(range(count)), command("each")))
    game = Game(flow(each))
    for number in range(1, count):
        game.end(f"each[{number}]")

    loop = game.state.instances[Address("each")]

    assert isinstance(loop, Scope)
    assert loop.recent_children == tuple(range(count - TRAIL_KEPT, count))
