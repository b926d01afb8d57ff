"""A change of protected files needs a person's approval before any gate runs (X7, language.md 4)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from podium.core.events import AttemptQueued, StepEntered
from podium.core.policy import Limits, Retry
from tests.core.kit import Game, agent, command, flow, gates, with_limits

STEP = replace(agent("a"), gates=gates((command("t"),)), retry=Retry(attempts=2))
FILES = ("CLAUDE.md",)


def test_a_person_is_asked_before_any_gate_and_can_allow_the_change() -> None:
    game = Game(flow(STEP))
    game.end_with_change("a", protected=FILES)
    assert game.open_questions() == ["a#1/!protected"]
    assert game.at("a#1/!protected").place.start == game.at("a").answer.tree  # type: ignore[union-attr]  # a Leaf
    assert not [event for event in game.events(StepEntered) if event.role == "gates"]

    game.answer("a#1/!protected")
    game.end("a#1/t")

    assert game.outcome("a") == ("passed", "")


def test_a_rejection_and_its_text_are_feedback_for_the_next_attempt() -> None:
    game = Game(flow(STEP))
    game.end_with_change("a", protected=FILES)

    game.answer("a#1/!protected", "reject", text="leave it alone")

    assert game.events(AttemptQueued)[-1].feedback == ("a#1", "a#1/!protected")
    assert game.in_flight() == ["a"]
    game.end_with_change("a", protected=FILES)
    assert game.open_questions() == ["a#2/!protected"], "the next attempt is another change"
    game.answer("a#2/!protected", "reject")
    assert game.outcome("a") == ("failed", "protected")


def test_an_abort_ends_all_attempts() -> None:
    game = Game(flow(STEP))
    game.end_with_change("a", protected=FILES)

    game.answer("a#1/!protected", "abort")

    assert game.outcome("a") == ("failed", "protected")


def test_with_no_human_a_change_of_protected_files_is_refused() -> None:
    game = Game(flow(STEP), no_human=True)
    game.end_with_change("a", protected=FILES)
    assert game.open_questions() == []
    assert game.events(AttemptQueued)[-1].feedback == ("a#1",)

    game.end_with_change("a")
    game.end("a#2/t")

    assert game.outcome("a") == ("passed", "")


def test_the_message_names_the_protected_files() -> None:
    """Without them the only text would be the worker's claim that it is done."""
    game = Game(flow(replace(STEP, retry=Retry(attempts=1, on_exhausted="fail"))), no_human=True)
    game.end_with_change("a", protected=FILES)

    ending = game.at("a").ending
    assert ending is not None
    assert ending.message == "protected files were changed without approval: CLAUDE.md"


@pytest.mark.req("R166")
def test_a_question_beyond_the_limit_of_transitions_is_not_asked() -> None:
    game = Game(flow(with_limits(STEP, transitions=0)))
    game.end_with_change("a", protected=FILES)

    assert game.outcome("a") == ("failed", "limit")
    assert Limits(transitions=0).transitions == 0
