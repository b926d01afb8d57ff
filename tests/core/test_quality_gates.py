"""Quality gates: reviews whose decision no finding overrides."""

from __future__ import annotations

from typing import Literal

import pytest

from tests.core.kit import Game, agent, flow, review


@pytest.mark.parametrize(
    ("decision", "score", "outcome"),
    [
        ("approve", 8, "passed"),
        ("approve", 6, "rejected"),
        ("reject", 8, "rejected"),
        ("abort", 8, "aborted"),
    ],
)
def test_the_decision_of_a_quality_gate_counts_whatever_its_findings(
    decision: Literal["approve", "reject", "abort"], score: int, outcome: str
) -> None:
    game = Game(flow(agent("a"), review("q", "a", min_score=7, verdict="quality_gate")))
    game.end_with_change("a")
    game.give_verdict("q/j1", decision, score, findings=({"severity": "major"}, {"severity": "minor"}))
    assert game.outcome("q")[0] == outcome
