"""Calls of tools that a person has to approve: one question each, a decision that lasts, and questions that are withdrawn."""

from __future__ import annotations

from typing import Any

import pytest

from podium.core.effects import RunAttempt
from podium.core.events import AttemptStarted, StepEnded, ToolAsked
from podium.core.messages import Cancel
from podium.core.model import Agent, Step
from podium.core.payloads import Amounts, ToolCall
from podium.core.policy import Limits, Retry
from podium.core.queries.tool_calls import decision_of, decisions_of
from podium.core.state import Leaf
from podium.core.step_settings import Prompt
from podium.core.types import Address, Millis
from podium.views.run.questions import as_written
from tests.core.kit import BASE, Game, agent, flow

PUSH, TAG = ToolCall("run", "git push"), ToolCall("run", "git tag v1", '{"cwd": "."}')
FIRST, SECOND = "ship#1/!tool", "ship#2/!tool"


def ship(**rest: Any) -> Step:
    return agent("ship", touches=(), verb=Agent(agent="claude", prompt=Prompt("Ship")), **rest)


def hold(game: Game, *calls: ToolCall, attempt: int = 1) -> None:
    for call in calls:
        game.send(ToolAsked(Millis(0), Address("ship"), attempt, call))


def end(game: Game, kind: str = "ok", *calls: ToolCall) -> None:
    game.end("ship", kind, tree=BASE, used=Amounts(calls=1), calls=calls)


def leaf_of(game: Game) -> Leaf:
    leaf = game.at("ship")
    assert isinstance(leaf, Leaf)
    return leaf


def allowed(game: Game, call: ToolCall = PUSH) -> bool | None:
    decision = decision_of(game.state, leaf_of(game), call)
    return None if decision is None else decision.is_allowed


def test_a_held_call_is_a_question_with_exactly_this_call() -> None:
    game = Game(flow(ship()))
    hold(game, TAG)
    assert game.open_questions() == [FIRST]
    question = game.at(FIRST)
    assert isinstance(question, Leaf)
    assert as_written(game.state, question) == 'May the agent do this?\n\nrun: git tag v1\n{"cwd": "."}'


@pytest.mark.parametrize(("action", "is_allowed"), [("approve", True), ("reject", False)])
def test_an_answer_while_the_call_is_held_is_the_decision_and_the_attempt_goes_on(
    action: str, is_allowed: bool
) -> None:
    game = Game(flow(ship()))
    hold(game, PUSH)
    game.answer(FIRST, action, text="because")
    assert allowed(game) is is_allowed
    (decision,) = decisions_of(game.state, leaf_of(game))
    assert (decision.by, decision.why) == ("me", "because")
    end(game)
    assert game.outcome() == ("passed", "") and len(game.events(AttemptStarted)) == 1


def test_an_attempt_that_waits_is_repeated_only_when_it_is_decided() -> None:
    game = Game(flow(ship()))
    hold(game, PUSH)
    end(game, "asked", PUSH)
    assert game.in_flight() == [] and game.open_questions() == [FIRST]
    game.answer(FIRST)
    assert game.in_flight() == ["ship"] and allowed(game) is True
    end(game)
    assert [event.attempt for event in game.events(AttemptStarted)] == [1, 2]
    assert leaf_of(game).tries == 0


def test_an_attempt_that_nobody_drives_asks_when_it_has_ended() -> None:
    """On a worker of a cluster no call is held."""
    game = Game(flow(ship()))
    end(game, "asked", PUSH)
    assert game.open_questions() == [FIRST]


def test_several_calls_are_asked_about_one_after_the_other() -> None:
    game = Game(flow(ship()))
    hold(game, PUSH, TAG)
    assert game.open_questions() == [FIRST]
    game.answer(FIRST)
    assert game.open_questions() == [SECOND]
    end(game, "asked", TAG)
    game.answer(SECOND, "reject")
    assert (allowed(game, PUSH), allowed(game, TAG)) == (True, False)
    assert game.in_flight() == ["ship"]


def test_the_same_call_is_asked_about_once_also_after_a_crash() -> None:
    game = Game(flow(ship()))
    hold(game, PUSH, PUSH)
    game.answer(FIRST)
    hold(game, PUSH)
    assert game.open_questions() == [] and len(game.events(ToolAsked)) == 1


def test_a_question_is_withdrawn_if_the_attempt_ends_in_another_way_and_may_be_asked_again() -> None:
    game = Game(flow(ship(retry=Retry(attempts=2))))
    hold(game, PUSH)
    end(game, "failed")
    assert game.open_questions() == [] and game.in_flight() == ["ship"]
    assert game.outcome(FIRST)[0] == "cancelled" and allowed(game) is None
    hold(game, PUSH, attempt=2)
    assert game.open_questions() == [SECOND]
    game.answer(SECOND)
    assert allowed(game) is True


def test_a_late_report_of_another_attempt_asks_nobody() -> None:
    game = Game(flow(ship()))
    hold(game, PUSH, attempt=7)
    assert game.open_questions() == []


def test_a_run_that_may_ask_nobody_refuses_the_call() -> None:
    game = Game(flow(ship()), no_human=True)
    hold(game, PUSH)
    assert allowed(game) is False and game.in_flight() == ["ship"]


def test_a_cancel_withdraws_the_question() -> None:
    game = Game(flow(ship()))
    hold(game, PUSH)
    game.send(Cancel("me"))
    assert game.open_questions() == []
    game.end("ship", "cancelled")
    assert game.outcome()[0] == "cancelled"


def test_without_transitions_left_nobody_is_asked_and_the_attempt_that_waits_ends_the_step() -> None:
    game = Game(flow(ship(), limits=Limits(transitions=1)))
    hold(game, PUSH)
    assert game.open_questions() == [] and game.in_flight() == ["ship"]
    end(game, "asked", PUSH)
    assert game.outcome() == ("failed", "limit")
    assert next(event.path for event in game.events(StepEnded)) == "ship"


def test_no_effect_is_left_when_the_run_has_ended() -> None:
    game = Game(flow(ship()))
    hold(game, PUSH)
    game.answer(FIRST)
    end(game)
    assert not [effect for _, effect in game.state.pending.items() if isinstance(effect, RunAttempt)]


def test_a_call_whose_question_is_open_has_no_decision_yet() -> None:
    game = Game(flow(ship()))
    hold(game, PUSH, TAG)
    game.answer(FIRST)
    assert [decision.call for decision in decisions_of(game.state, leaf_of(game))] == [PUSH]
