"""A message becomes events, nothing, or a refusal with a reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from podium.core.events import (
    AttemptDoubted,
    AttemptEnded,
    AttemptTaken,
    CancelAsked,
    FactsFound,
    GuidanceGiven,
    JoinEnded,
    JumpAsked,
    LimitRaised,
    RunPaused,
    RunRecovered,
    RunResumed,
    SignalReceived,
    WaitEnded,
)
from podium.core.evolve.evolve import evolve, initial
from podium.core.evolve.lifecycle import IllegalEvent
from podium.core.handle import handle
from podium.core.messages import (
    Approve,
    Cancel,
    Fired,
    Guide,
    Jump,
    Pause,
    RaiseLimit,
    Recover,
    Refusal,
    Resume,
    Signal,
    Start,
)
from podium.core.model import Agent, ForEach, Output, Step
from podium.core.payloads import RunFacts
from podium.core.policy import Limits
from podium.core.types import Address, Millis, Tree
from tests.core.kit import Game, agent, block, command, flow, human, signal

NOW = Millis(5_000)
START = Start(RunFacts("r", "w"))


def code(answer: Any) -> str:
    assert isinstance(answer, Refusal), answer
    assert answer.message
    return answer.code


def test_a_run_is_started_once_and_before_anything_else() -> None:
    workflow = flow(command("a"))
    assert code(handle(initial(workflow), Pause("me"), NOW)) == "not_started"
    assert code(Game(workflow).send(START)) == "started"


def test_after_the_end_commands_are_refused_and_reports_are_ignored() -> None:
    game = Game(flow(command("a")))
    game.end("a")
    assert game.state.ended is not None
    assert code(game.send(Pause("me"))) == "ended"
    assert handle(game.state, AttemptEnded(NOW, Address("a"), 1, "ok"), NOW) == ()
    assert handle(game.state, Recover(1), NOW) == ()


@pytest.mark.parametrize(
    "message",
    [
        AttemptEnded(NOW, Address("a"), 2, "ok"),
        AttemptEnded(NOW, Address("b"), 1, "ok"),
        WaitEnded(NOW, Address("a"), "ok"),
        JoinEnded(NOW, Address("a"), None),
        FactsFound(NOW, Address("a"), "exists", "x", None, value=True),
        Fired(Address("a"), Millis(1)),
        Fired(Address("a"), Millis(99_999)),
        Resume("me"),
    ],
    ids=lambda message: type(message).__name__,
)
def test_a_report_without_a_pending_effect_changes_nothing(message: Any) -> None:
    """P6: stale, duplicate, early or misdirected reports."""
    game = Game(flow(command("a"), command("b")))
    assert handle(game.state, message, NOW) == ()


def test_a_fact_about_another_tree_is_ignored() -> None:
    """P6, X4."""
    from tests.core.shapes import exists

    game = Game(flow(replace(command("a"), when=exists("x"))))
    wrong = FactsFound(NOW, Address("a"), "exists", "x", Tree("other"), value=True)
    assert handle(game.state, wrong, NOW) == ()
    game.report_fact("a", value=True)
    assert game.in_flight() == ["a"]


def test_a_report_gets_the_time_of_its_turn() -> None:
    game = Game(flow(command("a")))
    (event,) = handle(game.state, AttemptEnded(Millis(0), Address("a"), 1, "ok"), NOW)  # type: ignore[misc]  # events
    assert event.at == NOW


APPROVALS = flow(
    human("a", by=("boss", "team"), approvals=2, timeout=60_000), people={"team": ("ann", "bob")}
)


@pytest.mark.req("C48")
def test_an_approval_must_match_the_question() -> None:
    """R190, R195."""
    game = Game(APPROVALS)
    asked = game.at("a")
    assert code(game.answer("nobody")) == "not_waiting"
    assert code(game.answer("a", "shrug", by="boss")) == "unknown_action"
    assert code(game.answer("a", by="eve")) == "not_asked"
    assert code(game.answer("a", by="ann", tree=Tree("other"))) == "stale"
    assert game.at("a") == asked
    game.answer("a", by="ann", tree=Tree("base"))
    again = game.answer("a", by="ann", text="and again")
    assert again == Refusal("answered", "ann has already approved 'a'")
    game.answer("a", by="boss")
    assert game.outcome("a") == ("passed", "")
    refusal = game.answer("a", by="bob")
    assert isinstance(refusal, Refusal)
    assert refusal.code == "ended"


@pytest.mark.req("R195")
@pytest.mark.parametrize(("action", "outcome"), [("reject", "rejected"), ("abort", "aborted")])
def test_a_person_who_approved_can_reject_while_the_question_is_open(action: str, outcome: str) -> None:
    game = Game(APPROVALS)
    game.answer("a", by="ann")
    game.answer("a", action, by="ann", text="no wait")
    assert game.outcome("a") == (outcome, outcome)
    leaf: Any = game.at("a")
    assert [(each.by, each.action, each.text) for each in leaf.approvals] == [("ann", action, "no wait")]


def test_a_late_answer_is_refused_with_the_name_of_the_earlier_approver() -> None:
    game = Game(flow(human("a"), command("b")))
    game.answer("a", by="ann")
    refusal = game.answer("a", by="bob")
    assert isinstance(refusal, Refusal)
    assert "ann has already answered" in refusal.message


def test_an_answer_after_the_deadline_is_refused_even_if_the_timer_is_late() -> None:
    game = Game(APPROVALS)
    assert code(game.send(Approve(Address("a"), "approve", "boss"), at=900_000)) == "expired"


def test_an_answer_must_be_one_of_the_choices() -> None:
    question = replace(human("a", answers=True), output=Output("choice", choices=("red", "blue")))
    game = Game(flow(question))
    assert code(game.answer("a", "approve")) == "unknown_action"
    assert code(game.answer("a", "answer", answer="green")) == "unknown_answer"
    game.answer("a", "answer", answer="red")
    assert game.at("a").ending is not None
    assert game.state.ended is not None
    assert (game.at("a").ending.result or {})["output"] == "red"  # type: ignore[union-attr]  # it has ended


def test_a_signal_ends_every_wait_for_it() -> None:
    """R199."""
    game = Game(
        flow(
            signal("a"),
            signal("b"),
            signal("c", "stop"),
            command("d"),
            kind="par",
            block_keys={"parallel": 4},
        )
    )
    assert code(game.send(Signal("nothing"))) == "nobody_waits"
    game.send(Signal("go", {"n": 1}, "ci"))
    assert [event.path for event in game.events(SignalReceived)] == ["a", "b"]
    assert game.outcome("a") == ("passed", "")


def test_a_cancel_during_clean_up_is_refused_unless_forced() -> None:
    """R142."""
    clean = Step("finally", block("seq", command("tidy")))
    game = Game(flow(command("a"), finally_=clean))
    game.send(Cancel("me", "enough"))
    assert handle(game.state, Cancel("me"), NOW) == ()
    game.end("a", "cancelled")
    assert game.in_flight() == ["finally/tidy"]
    game.send(Cancel("me", force=True))
    assert handle(game.state, Cancel("me", force=True), NOW) == ()
    assert [event.force for event in game.events(CancelAsked)] == [False, True]
    game.end("finally/tidy", "cancelled")
    assert game.state.ended is not None
    closing = Game(flow(command("a"), finally_=clean))
    closing.end("a")
    assert code(closing.send(Cancel("me"))) == "closing"


@pytest.mark.req("R198")
def test_a_cancel_ends_a_pause_so_that_the_clean_up_runs() -> None:
    clean = Step("finally", block("seq", command("f")))
    game = Game(flow(human("ask"), command("b"), finally_=clean))
    game.send(Pause("me"))
    game.send(Cancel("ann"))
    assert [type(event) for event in game.log if event.at == game.now][:2] == [RunResumed, CancelAsked]
    assert game.in_flight() == ["finally/f"]
    game.send(Pause("me"))
    game.send(Cancel("ann"))
    assert not game.state.paused
    game.end("finally/f")
    assert game.outcome() == ("cancelled", "")


def test_a_jump_needs_a_running_sequence_and_a_step_that_was_entered() -> None:
    game = Game(flow(command("a"), command("b"), Step("g", block("par", command("c")))))
    game.end("a")
    assert code(game.send(Jump(Address("a"), "x", "me"))) == "not_running"
    assert code(game.send(Jump(Address(""), "nothing", "me"))) == "no_step"
    assert code(game.send(Jump(Address(""), "g", "me"))) == "no_step"
    game.send(Jump(Address(""), "a", "me", "again please"))
    assert [event.target for event in game.events(JumpAsked)] == [0]
    game.end("b", "cancelled")
    assert game.in_flight() == ["a~2"]
    game.end("a~2")
    game.end("b~2")
    assert code(game.send(Jump(Address("g"), "c", "me"))) == "no_sequence"


def test_repeated_pause_and_resume_change_nothing() -> None:
    """R198."""
    game = Game(flow(command("a"), command("b")))
    game.send(Pause("me"))
    assert handle(game.state, Pause("me"), NOW) == ()
    game.end("a")
    assert game.in_flight() == []
    game.send(Resume("me"))
    assert game.in_flight() == ["b"]
    assert len(game.events(RunPaused)) == len(game.events(RunResumed)) == 1


def test_guidance_is_kept_for_the_next_worker() -> None:
    """R198."""
    game = Game(flow(command("a"), agent("b")))
    game.send(Guide("me", "be brief"))
    game.end("a")
    assert [event.text for event in game.events(GuidanceGiven)] == ["be brief"]
    effect: Any = game.state.pending[("attempt", Address("b"))]
    assert effect.started.guidance == ("be brief",)
    assert game.state.guidance == ()


def test_a_person_takes_only_an_attempt_that_is_running() -> None:
    game = Game(flow(agent("a"), agent("b")))
    game.send(AttemptTaken(Millis(0), Address("a"), 1, "ann", "claude"))
    assert handle(game.state, AttemptTaken(NOW, Address("a"), 2, "ann", "claude"), NOW) == ()
    assert handle(game.state, AttemptTaken(NOW, Address("b"), 1, "ann", "claude"), NOW) == ()
    assert [(event.path, event.by) for event in game.events(AttemptTaken)] == [("a", "ann")]
    game.end("a")
    assert game.in_flight() == ["b"]
    assert handle(game.state, AttemptTaken(NOW, Address("a"), 1, "ann", "claude"), NOW) == ()
    with pytest.raises(IllegalEvent):
        evolve(game.state, AttemptTaken(NOW, Address("a"), 1, "ann", "claude"))


def test_a_limit_can_only_be_raised() -> None:
    """R130."""
    game = Game(flow(command("a"), limits=Limits(transitions=3)))
    assert code(game.send(RaiseLimit(Address("x"), "usd", 5, "me"))) == "no_ledger"
    assert code(game.send(RaiseLimit(Address(""), "usd", 5, "me"))) == "not_raised"
    assert code(game.send(RaiseLimit(Address(""), "transitions", 3, "me"))) == "not_raised"
    game.send(RaiseLimit(Address(""), "transitions", 9, "me"))
    assert [event.to for event in game.events(LimitRaised)] == [9]
    assert game.state.ledgers[Address("")].limits.transitions == 9


def test_a_new_owner_doubts_only_attempts_that_must_not_be_repeated() -> None:
    """P17, R146: work by hand is not in doubt."""
    by_hand = agent("c", verb=Agent(by_hand=True), repeatable=False)
    steps = (command("a"), command("b", repeatable=False), by_hand)
    game = Game(flow(*steps, kind="par", block_keys={"parallel": 3}))
    game.send(Recover(2))
    assert [event.epoch for event in game.events(RunRecovered)] == [2]
    assert [event.path for event in game.events(AttemptDoubted)] == ["b"]
    assert game.open_questions() == ["b#1/!consent"]
    game.answer("b#1/!consent", "fail")
    assert game.outcome("b") == ("error", "doubted")


def test_a_jump_into_a_loop_over_items_is_refused() -> None:
    game = Game(flow(Step("e", ForEach((1, 2), command("e")))))
    assert code(game.send(Jump(Address("e"), "e", "me"))) == "no_sequence"
