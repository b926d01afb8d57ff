"""Only results that still count are read."""

from __future__ import annotations

from podium.core.graph import fresh_children
from podium.core.paths import ROOT
from podium.core.state import Scope
from tests.core.kit import Game, agent, flow


def test_a_stale_child_is_left_out() -> None:
    game = Game(flow(agent("a"), agent("b")))
    game.done("a")
    game.done("b")
    state = game.state
    root, visit = state.instances[ROOT], state.latest[(ROOT, 0)]
    assert isinstance(root, Scope)

    stale = state._replace(latest=state.latest.set((ROOT, 0), visit._replace(fresh=False)))

    assert [child.place.path for child in fresh_children(state, root)] == ["a", "b"]
    assert [child.place.path for child in fresh_children(stale, root)] == ["b"]
