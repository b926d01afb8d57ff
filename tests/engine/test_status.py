"""When a run stands until somebody comes, so that its process lets go of it."""

from __future__ import annotations

from podium.core.model import Step
from podium.core.types import Millis
from podium.runtime.status import status_of, waits_for_person
from tests.core.kit import Game, agent, block, flow, human

HOUR = Millis(3_600_000)


def test_a_question_in_a_block_with_a_deadline_parks_like_any_other() -> None:
    """Only an answer moves it on; that the block ends some day is no reason to keep a process."""
    game = Game(flow(Step("g", block("seq", human("ask")), timeout=HOUR)))
    assert (waits_for_person(game.state), status_of(game.state)) == (True, "waiting")


def test_a_question_in_finally_parks() -> None:
    game = Game(flow(agent("a"), finally_=Step("finally", block("seq", human("ask")), timeout=HOUR)))
    game.end_with_change("a")
    assert game.open_questions() == ["finally/ask"]
    assert waits_for_person(game.state)


def test_a_pause_before_a_retry_is_waited_for() -> None:
    game = Game(flow(Step("g", block("seq", agent("a")), timeout=HOUR)))
    game.end("g/a", "transient")
    assert (waits_for_person(game.state), waits_for_person(game.state, or_time=True)) == (False, True)
