"""Protected files that a worker has changed wait for a person, before any gate (X7, language.md 4)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from podium.core.events import AttemptQueued, StepEntered
from podium.core.policy import Limits, Retry
from tests.core.kit import Game, agent, command, flow, gates, with_limits

STEP = replace(agent("a"), gates=gates((command("t"),)), retry=Retry(attempts=2))
FILES = ("CLAUDE.md",)


def test_a_person_is_asked_before_any_gate_and_may_allow_it() -> None:
    game = Game(flow(STEP))
    game.changed("a", protected=FILES)
    assert game.asked() == ["a#1/!protected"]
    assert game.at("a#1/!protected").place.start == game.at("a").answer.tree  # type: ignore[union-attr]  # a Leaf
    assert not [event for event in game.events(StepEntered) if event.role == "gates"]

    game.answer("a#1/!protected")
    game.done("a#1/t")

    assert game.outcome("a") == ("passed", "")


def test_a_no_is_feedback_for_the_next_attempt_with_the_words_of_the_person() -> None:
    game = Game(flow(STEP))
    game.changed("a", protected=FILES)

    game.answer("a#1/!protected", "reject", text="leave it alone")

    assert game.events(AttemptQueued)[-1].feedback == ("a#1", "a#1/!protected")
    assert game.flying() == ["a"]
    game.changed("a", protected=FILES)
    assert game.asked() == ["a#2/!protected"], "the next attempt is another change"
    game.answer("a#2/!protected", "reject")
    assert game.outcome("a") == ("failed", "protected")


def test_whoever_stops_it_stops_all_attempts() -> None:
    game = Game(flow(STEP))
    game.changed("a", protected=FILES)

    game.answer("a#1/!protected", "abort")

    assert game.outcome("a") == ("failed", "protected")


def test_where_nobody_may_be_asked_it_is_refused() -> None:
    game = Game(flow(STEP), no_human=True)
    game.changed("a", protected=FILES)
    assert game.asked() == []
    assert game.events(AttemptQueued)[-1].feedback == ("a#1",)

    game.changed("a")
    game.done("a#2/t")

    assert game.outcome("a") == ("passed", "")


def test_the_files_are_named_where_it_fails_for_them() -> None:
    """The words of the worker, which are all there else is, say that it is done."""
    game = Game(flow(replace(STEP, retry=Retry(attempts=1, on_exhausted="fail"))), no_human=True)
    game.changed("a", protected=FILES)

    ending = game.at("a").ending
    assert ending is not None
    assert ending.message == "protected files were changed, and nobody has allowed it: CLAUDE.md"


@pytest.mark.req("R166")
def test_a_question_beyond_the_limit_of_transitions_is_not_asked() -> None:
    game = Game(flow(with_limits(STEP, transitions=0)))
    game.changed("a", protected=FILES)

    assert game.outcome("a") == ("failed", "limit")
    assert Limits(transitions=0).transitions == 0
