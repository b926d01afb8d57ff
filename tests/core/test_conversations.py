"""A conversation of a worker with a person: turns, the last word, and everything else that ends it."""

from __future__ import annotations

from typing import Any

import pytest

from podium.core.events import AttemptQueued, AttemptStarted, StepEntered
from podium.core.messages import Cancel
from podium.core.model import Agent, Human, Step, TeamMember
from podium.core.payloads import Amounts, Ask
from podium.core.policy import Limits, Oversight
from podium.core.queries.conversations import conversation_of, says_last_word
from podium.core.queries.names import InstanceNames
from podium.core.step_settings import Prompt
from tests.core.kit import BASE, FALSE, Game, agent, check, flow, gates

OWNER = "talk#{}/owner"


def person(turns: int = 0, until: str = "done", **rest: Any) -> TeamMember:
    verb = Human(Prompt("?"), Oversight(level="human"), answers=True)
    return TeamMember(Step(name="owner", verb=verb, **rest), until=until, turns=turns)


def talk(*team: TeamMember, **rest: Any) -> Step:
    return agent("talk", touches=(), verb=Agent(role="analyst", prompt=Prompt("Talk"), team=team), **rest)


def say(game: Game, text: str) -> None:
    game.end("talk", "asked", asks=(Ask("owner", text),), tree=BASE, used=Amounts(calls=1))


def is_open(game: Game) -> bool:
    conversation = conversation_of(game.state, game.at("talk"))
    assert conversation is not None
    return conversation.is_open


def test_each_turn_is_an_attempt_and_the_last_word_ends_the_conversation() -> None:
    game = Game(flow(talk(person())))
    say(game, "which colour?")
    assert game.open_questions() == [OWNER.format(1)]
    game.answer(OWNER.format(1), "answer", answer="blue")
    assert is_open(game)
    say(game, "how large?")
    game.answer(OWNER.format(2), "answer", answer="large\nDone.")
    assert not is_open(game)
    game.end("talk", "ok", tree=BASE)
    assert game.outcome() == ("passed", "")
    assert [event.attempt for event in game.events(AttemptStarted)] == [1, 2, 3]


def test_a_turn_says_which_it_is_and_how_the_conversation_ends() -> None:
    game = Game(flow(talk(person(turns=4, until="that is all"))))
    say(game, "hello")
    message = InstanceNames(game.state, game.at(OWNER.format(1))).lookup("message")
    assert message["turn"].startswith("turn 1 of at most 4;") and '"that is all"' in message["turn"]


def test_after_the_last_turn_the_person_is_not_asked_again() -> None:
    game = Game(flow(talk(person(turns=1))))
    say(game, "one")
    game.answer(OWNER.format(1), "answer", answer="go on")
    assert not is_open(game)
    say(game, "two")
    assert game.open_questions() == []
    (reply,) = game.events(AttemptQueued)[-1].replies
    assert reply.refused == "the conversation with owner is over; continue with what you know"


def test_the_same_turn_again_is_not_answered_from_the_log() -> None:
    game = Game(flow(talk(person())))
    for number in (1, 2):
        say(game, "anything else?")
        assert game.open_questions() == [OWNER.format(number)]
        game.answer(OWNER.format(number), "answer", answer="go on")


def test_a_person_who_does_not_answer_in_time_ends_the_conversation() -> None:
    game = Game(flow(talk(person(timeout=1000))))
    say(game, "hello?")
    game.fire_timer(OWNER.format(1), 3000)
    assert game.outcome(OWNER.format(1)) == ("timeout", "")
    assert not is_open(game) and game.in_flight() == ["talk"]


def test_a_run_that_may_ask_nobody_has_no_conversation() -> None:
    game = Game(flow(talk(person())), no_human=True)
    assert not is_open(game)


def test_gates_judge_only_what_follows_the_conversation() -> None:
    step = talk(person(turns=1), gates=gates((check("never", FALSE),)))
    game = Game(flow(step))
    say(game, "one")
    assert [event.path for event in game.events(StepEntered)][-1] == OWNER.format(1)


def test_a_conversation_ends_at_exactly_the_limit_on_messages() -> None:
    game = Game(flow(talk(person(), limits=Limits(messages=2))))
    for number in (1, 2):
        say(game, f"turn {number}")
        game.answer(OWNER.format(number), "answer", answer="go on")
    say(game, "turn 3")
    assert game.outcome() == ("failed", "limit")


def test_a_cancel_in_the_middle_leaves_no_question() -> None:
    game = Game(flow(talk(person())))
    say(game, "hello")
    game.send(Cancel("me"))
    assert game.open_questions() == [] and game.outcome()[0] == "cancelled"


@pytest.mark.parametrize(
    ("answer", "ends"),
    [
        ("done", True),
        (" DONE. ", True),
        ("use tabs\n\nDone!", True),
        ("done, but use tabs", False),
        ("not done", False),
        ("done\nno, wait", False),
        ("", False),
    ],
)
def test_the_last_line_decides_whether_it_is_the_last_word(answer: str, ends: bool) -> None:
    assert says_last_word(answer, "done") is ends
