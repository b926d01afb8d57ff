"""`retry: {per: run}`: failures count over all visits of a step, and a person decides about the last one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from podium.core.model import Step
from podium.core.policy import Retry
from tests.core.kit import Game, agent, flow, gates, on, review

PER_RUN = Retry(attempts=2, per="run", on_exhausted="human", stated=True)


def judged() -> Step:
    return agent("a", gates=gates((), (review("q"),)), retry=PER_RUN)


def failed_once_then_sent_back() -> Game:
    """`a` fails its gate once and passes; a later review sends it back."""
    look = replace(review("look", "a"), on=on(rejected=0))
    game = Game(flow(judged(), look))
    game.end_with_change("a")
    game.give_verdict("a#1/q/j1", "reject", 2)
    game.end_with_change("a")
    game.give_verdict("a#2/q/j1", "approve", 9)
    game.give_verdict("look/j1", "reject", 2)
    game.end_with_change("a~2")
    return game


def test_failures_of_earlier_visits_count() -> None:
    game = failed_once_then_sent_back()
    game.give_verdict("a~2#1/q/j1", "reject", 2)

    assert game.at("a~2#1/!exhausted").phase != "ended"


def test_an_attempt_that_a_person_granted_is_not_counted() -> None:
    game = failed_once_then_sent_back()
    game.give_verdict("a~2#1/q/j1", "reject", 2)
    game.answer("a~2#1/!exhausted", "retry")
    game.end_with_change("a~2")
    game.give_verdict("a~2#2/q/j1", "reject", 2)

    assert game.at("a~2#2/!exhausted").phase != "ended"


def rejected_twice(retry: Retry = PER_RUN, *, no_human: bool = False) -> Game:
    look = replace(review("look", "a"), on=on(rejected=0), retry=retry)
    game = Game(flow(agent("a"), look), no_human=no_human)
    for visit in ("", "~2"):
        game.end_with_change(f"a{visit}")
        game.give_verdict(f"look{visit}/j1", "reject", 2)
    return game


@pytest.mark.parametrize(
    ("action", "outcome"), [("accept", ("passed", "exhausted")), ("fail", ("failed", "exhausted"))]
)
def test_a_person_decides_about_the_last_rejection_of_a_review(action: str, outcome: tuple[str, str]) -> None:
    game = rejected_twice()
    game.answer("look~2#1/!exhausted", action)

    assert game.outcome("look~2") == outcome


def test_a_person_may_let_the_review_send_the_work_back_again_and_is_asked_each_time() -> None:
    game = rejected_twice()
    game.answer("look~2#1/!exhausted", "retry", text="shorter")
    assert game.outcome("look~2") == ("rejected", "rejected")
    game.end_with_change("a~3")
    game.give_verdict("look~3/j1", "reject", 2)

    assert game.at("look~3#1/!exhausted").phase != "ended"


def test_without_people_the_last_rejection_fails() -> None:
    assert rejected_twice(no_human=True).outcome("look~2") == ("failed", "exhausted")
    assert rejected_twice(replace(PER_RUN, on_exhausted="fail")).outcome("look~2") == ("failed", "exhausted")
