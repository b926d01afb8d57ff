"""A person judges work of which no reviewer gave a valid verdict (issue 16, D5)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from podium.core.decide.scopes import NEXT
from podium.core.model import Step
from podium.core.policy import Retry
from podium.core.queries.graph import HALTED
from tests.core.kit import Game, agent, flow, gates, review

QUESTION = "q#1/!no_verdict"


def broken(look: Step) -> Game:
    game = Game(flow(agent("a"), look))
    game.end_with_change("a")
    game.end("q/j1", "failed", reason="crash")
    return game


@pytest.mark.parametrize(
    ("action", "outcome"),
    [("approve", ("passed", "")), ("reject", ("rejected", "rejected")), ("abort", ("aborted", "aborted"))],
)
def test_the_answer_of_a_person_is_the_verdict(action: str, outcome: tuple[str, str]) -> None:
    game = broken(review("q", "a"))
    assert game.state.ended is None
    game.answer(QUESTION, action, by="ann")

    assert game.outcome("q") == outcome
    ending = game.at("q").ending
    assert ending is not None and ending.result is not None
    assert ending.result["verdict"] == {"decision": outcome[0], "by": ["ann"], "tree": "a#1"}


def test_one_valid_verdict_is_enough_to_ask_no_person() -> None:
    game = Game(flow(agent("a"), review("q", "a", judges=2, rule="any")))
    game.end_with_change("a")
    game.end("q/j1", "failed", reason="crash")
    game.give_verdict("q/j2", "reject", 2)

    assert game.outcome("q") == ("rejected", "rejected")


def test_a_route_for_errors_comes_before_the_question() -> None:
    game = broken(replace(review("q", "a"), on={"error": NEXT}))

    assert game.outcome("q") == ("error", "no_verdict")
    assert game.outcome() == ("passed", "")


def test_a_gate_asks_unless_the_judged_step_has_a_route_for_errors() -> None:
    judged = agent("a", gates=gates((), (review("q"),)), retry=Retry(attempts=3))
    asked = Game(flow(judged))
    asked.end_with_change("a")
    asked.end("a#1/q/j1", "failed", reason="crash")
    asked.answer("a#1/q#1/!no_verdict", "reject")
    assert asked.in_flight() == ["a"], "a rejection is feedback, as that of any judge"

    routed = Game(flow(replace(judged, on={"error": NEXT})))
    routed.end_with_change("a")
    routed.end("a#1/q/j1", "failed", reason="crash")
    assert routed.outcome("a") == ("error", "no_verdict")


def test_a_person_who_has_stopped_the_reviewer_is_not_asked_again() -> None:
    game = Game(flow(agent("a"), review("q", "a")))
    game.end_with_change("a")
    game.end("q/j1", "error", reason=HALTED)

    assert game.outcome("q") == ("error", "no_verdict")
