"""Approvals: levels, policies, vetoes, reminders, escalation, and the effect of answers (language.md 9)."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from podium.core.expressions.nodes import Compare, Const, Field, Name
from podium.core.messages import Approve
from podium.core.model import Agent, Human, Step
from podium.core.policy import Oversight, PolicyRule
from podium.core.step_settings import Prompt
from podium.core.types import Address, Millis
from tests.core.kit import FALSE, TRUE, Game, agent, command, flow, gates, human, name_of, review
from tests.core.shapes import exists

MINUTE = 60_000


def confirmed(**sight: Any) -> Step:
    return review("r", "a", oversight=Oversight(**sight))


@pytest.mark.parametrize("sight", [{"level": "auto"}, {"level": "notify"}])
def test_a_level_without_approval_asks_no_person(sight: dict[str, Any]) -> None:
    game = Game(flow(human("h", **sight)))
    assert game.outcome("h") == ("passed", "")


def test_a_notice_passes_unless_a_person_objects_in_time() -> None:
    """R195."""
    quiet = Game(flow(human("h", level="notify", veto=Millis(MINUTE))))
    quiet.fire_timer("h", MINUTE + 1_000)
    assert quiet.outcome("h") == ("passed", "")
    objected = Game(flow(human("h", level="notify", veto=Millis(MINUTE))))
    objected.answer("h", "reject", text="no")
    assert objected.outcome("h") == ("rejected", "rejected")
    assert objected.state.ended is not None
    assert objected.state.ended.exit == 4


def test_an_unanswered_question_times_out() -> None:
    game = Game(flow(human("h", timeout=MINUTE)))
    game.fire_timer("h", MINUTE + 1_000)
    assert game.outcome("h") == ("timeout", "")
    assert game.state.ended is not None
    assert game.state.ended.exit == 124


def test_reminders_repeat_and_an_escalation_adds_people() -> None:
    """R195."""
    step = human(
        "h", by=("ann",), remind=Millis(MINUTE), escalate_after=Millis(90_000), escalate_to=("boss",)
    )
    game = Game(flow(step))
    first: Any = game.at("h")
    game.fire_timer("h", first.approval_request.remind)
    assert game.last is not None
    assert len(game.last.effects) == 1
    reminded: Any = game.at("h")
    assert reminded.approval_request.remind == first.approval_request.remind + MINUTE
    assert isinstance(game.answer("h", by="boss"), object)
    assert game.open_questions() == ["h"]
    game.fire_timer("h", first.approval_request.escalate)
    game.answer("h", by="boss")
    assert game.outcome("h") == ("passed", "")


def test_an_escalation_does_not_restrict_who_may_answer() -> None:
    game = Game(flow(human("h", escalate_after=Millis(MINUTE), escalate_to=("boss",))))
    leaf: Any = game.at("h")
    game.fire_timer("h", leaf.approval_request.escalate)
    game.answer("h", by="anybody")
    assert game.outcome("h") == ("passed", "")


POLICIES = MappingProxyType(
    {
        "risk": (
            PolicyRule("human", Compare(">", Field(Name("change"), "files"), Const(2)), ("ann",), 1),
            PolicyRule("notify"),
        ),
        "none": (PolicyRule("human", FALSE),),
        "broken": (PolicyRule("human", name_of("vars.none")),),
        "files": (PolicyRule("human", exists("x")), PolicyRule("auto")),
    }
)


@pytest.mark.req("C29")
@pytest.mark.parametrize(("files", "asked"), [(3, ["r#1/!confirm"]), (1, [])])
def test_a_policy_decides_by_facts_that_the_engine_measured(files: int, asked: list[str]) -> None:
    """R194."""
    game = Game(flow(agent("a"), confirmed(level="risk"), policies=POLICIES))
    game.end("a", change={"files": files, "paths": []})
    game.give_verdict("r/j1")
    assert game.open_questions() == asked


@pytest.mark.parametrize("level", ["none", "unknown", "broken", exists("x"), name_of("vars.none")])
def test_a_level_that_cannot_be_evaluated_is_an_error(level: Any) -> None:
    game = Game(flow(human("h", level=level), policies=POLICIES))
    assert game.outcome("h") == ("error", "expression")
    judged = Game(flow(agent("a"), confirmed(level=level), policies=POLICIES))
    judged.end_with_change("a")
    judged.give_verdict("r/j1")
    assert judged.outcome("r") == ("error", "expression")


def test_a_policy_rule_that_needs_a_fact_about_files_is_skipped() -> None:
    game = Game(flow(human("h", level="files"), policies=POLICIES))
    assert game.outcome("h") == ("passed", "")


def test_a_level_can_be_an_expression() -> None:
    game = Game(flow(human("h", level=name_of("inputs.level"))), inputs={"level": "auto"})
    assert game.outcome("h") == ("passed", "")


def test_a_person_confirms_the_approval_of_a_review_but_not_its_rejection() -> None:
    """R107."""
    game = Game(flow(agent("a"), confirmed(level="human", by=("ann",))))
    game.end_with_change("a")
    game.give_verdict("r/j1")
    assert game.open_questions() == ["r#1/!confirm"]
    game.answer("r#1/!confirm", "reject", by="ann")
    assert game.outcome("r") == ("rejected", "rejected")
    no = Game(flow(agent("a"), confirmed(level="human")))
    no.end_with_change("a")
    no.give_verdict("r/j1", "reject", 3)
    assert no.outcome("r") == ("rejected", "rejected")
    veto = Game(flow(agent("a"), confirmed(level="notify", veto=Millis(MINUTE))))
    veto.end_with_change("a")
    veto.give_verdict("r/j1")
    assert veto.open_questions() == ["r#1/!veto"]
    veto.fire_timer("r#1/!veto", veto.now + MINUTE)
    assert veto.outcome("r") == ("passed", "")


def test_with_no_human_a_question_fails_with_its_reason() -> None:
    game = Game(flow(human("h")), no_human=True)
    assert game.outcome("h") == ("aborted", "no_human")
    worker = Game(flow(agent("a", verb=Agent(by_hand=True))), no_human=True)
    assert worker.outcome("a") == ("error", "no_human")


def test_a_person_who_works_by_hand_takes_no_slot_and_no_working_time() -> None:
    """R192."""
    by_hand = agent("a", verb=Agent(by_hand=True))
    steps = (by_hand, command("b"))
    game = Game(flow(*steps, kind="par", max_parallel=1, block_keys={"parallel": 2, "join": "discard"}))
    assert game.in_flight() == ["a", "b"]
    assert game.state.busy == 1
    game.end("a")
    game.end("b")
    assert game.outcome() == ("passed", "")


def test_a_human_gate_comes_last_and_its_text_is_feedback() -> None:
    """R190."""
    gate = replace(human("ok"), on_fail="retry")
    game = Game(flow(agent("a", gates=gates((command("t"),), (gate,)))))
    game.end_with_change("a")
    assert game.open_questions() == []
    game.end("a#1/t")
    assert game.open_questions() == ["a#1/ok"]
    game.answer("a#1/ok", "reject", text="shorter")
    assert game.outcome("a") == ("failed", "gates")
    assert game.state.ended is not None
    assert game.state.ended.exit == 4


def test_without_a_value_the_text_is_the_answer() -> None:
    game = Game(flow(Step("h", Human(Prompt("Name?"), answers=True), touches=())))
    game.send(Approve(Address("h"), "answer", "me", "Zoe"))
    ending = game.at("h").ending
    assert ending is not None
    assert (ending.result or {})["output"] == "Zoe"
    assert TRUE.value is True
