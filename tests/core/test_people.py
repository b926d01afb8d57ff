"""People: levels, policies, vetoes, reminders, escalation, and what their answers amount to (language.md 9)."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from podium.core.expressions.nodes import Compare, Const, Field, Name
from podium.core.messages import Approve
from podium.core.model import Agent, Human, Oversight, Prompt, Step
from podium.core.policy import PolicyRule
from podium.core.types import Millis, Path
from tests.core.kit import FALSE, TRUE, Game, agent, command, flow, gates, human, name_of, review
from tests.core.shapes import exists

MINUTE = 60_000


def confirmed(**sight: Any) -> Step:
    return review("r", "a", oversight=Oversight(**sight))


@pytest.mark.parametrize("sight", [{"level": "auto"}, {"level": "notify"}])
def test_where_no_person_is_wanted_nobody_is_asked(sight: dict[str, Any]) -> None:
    game = Game(flow(human("h", **sight)))
    assert game.outcome("h") == ("passed", "")


def test_a_notice_stands_unless_somebody_objects_in_time() -> None:
    """R195."""
    quiet = Game(flow(human("h", level="notify", veto=Millis(MINUTE))))
    quiet.fire("h", MINUTE + 1_000)
    assert quiet.outcome("h") == ("passed", "")
    objected = Game(flow(human("h", level="notify", veto=Millis(MINUTE))))
    objected.answer("h", "reject", text="no")
    assert objected.outcome("h") == ("rejected", "rejected")
    assert objected.state.ended is not None
    assert objected.state.ended.exit == 4


def test_silence_is_only_ever_a_timeout() -> None:
    game = Game(flow(human("h", timeout=MINUTE)))
    game.fire("h", MINUTE + 1_000)
    assert game.outcome("h") == ("timeout", "")
    assert game.state.ended is not None
    assert game.state.ended.exit == 124


def test_reminders_come_again_and_an_escalation_widens_the_circle() -> None:
    """R195."""
    step = human(
        "h", by=("ann",), remind=Millis(MINUTE), escalate_after=Millis(90_000), escalate_to=("boss",)
    )
    game = Game(flow(step))
    first: Any = game.at("h")
    game.fire("h", first.asked.remind)
    assert game.last is not None
    assert len(game.last.effects) == 1
    again: Any = game.at("h")
    assert again.asked.remind == first.asked.remind + MINUTE
    assert isinstance(game.answer("h", by="boss"), object)
    assert game.asked() == ["h"]
    game.fire("h", first.asked.escalate)
    game.answer("h", by="boss")
    assert game.outcome("h") == ("passed", "")


def test_an_escalation_shuts_nobody_out() -> None:
    game = Game(flow(human("h", escalate_after=Millis(MINUTE), escalate_to=("boss",))))
    asked: Any = game.at("h")
    game.fire("h", asked.asked.escalate)
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
def test_a_policy_decides_by_what_the_engine_measured(files: int, asked: list[str]) -> None:
    """R194."""
    game = Game(flow(agent("a"), confirmed(level="risk"), policies=POLICIES))
    game.done("a", change={"files": files, "paths": []})
    game.judged("r/j1")
    assert game.asked() == asked


@pytest.mark.parametrize("level", ["none", "unknown", "broken", exists("x"), name_of("vars.none")])
def test_a_level_that_cannot_be_found_out_is_an_error(level: Any) -> None:
    game = Game(flow(human("h", level=level), policies=POLICIES))
    assert game.outcome("h") == ("error", "expression")
    judged = Game(flow(agent("a"), confirmed(level=level), policies=POLICIES))
    judged.changed("a")
    judged.judged("r/j1")
    assert judged.outcome("r") == ("error", "expression")


def test_a_rule_of_a_policy_that_needs_the_files_is_passed_over() -> None:
    game = Game(flow(human("h", level="files"), policies=POLICIES))
    assert game.outcome("h") == ("passed", "")


def test_a_level_may_be_computed() -> None:
    game = Game(flow(human("h", level=name_of("inputs.level"))), inputs={"level": "auto"})
    assert game.outcome("h") == ("passed", "")


def test_approvals_of_a_review_are_confirmed_and_rejections_stand() -> None:
    """R107."""
    game = Game(flow(agent("a"), confirmed(level="human", by=("ann",))))
    game.changed("a")
    game.judged("r/j1")
    assert game.asked() == ["r#1/!confirm"]
    game.answer("r#1/!confirm", "reject", by="ann")
    assert game.outcome("r") == ("rejected", "rejected")
    no = Game(flow(agent("a"), confirmed(level="human")))
    no.changed("a")
    no.judged("r/j1", "reject", 3)
    assert no.outcome("r") == ("rejected", "rejected")
    veto = Game(flow(agent("a"), confirmed(level="notify", veto=Millis(MINUTE))))
    veto.changed("a")
    veto.judged("r/j1")
    assert veto.asked() == ["r#1/!veto"]
    veto.fire("r#1/!veto", veto.now + MINUTE)
    assert veto.outcome("r") == ("passed", "")


def test_without_people_what_would_ask_fails_with_its_reason() -> None:
    game = Game(flow(human("h")), no_human=True)
    assert game.outcome("h") == ("aborted", "no_human")
    worker = Game(flow(agent("a", verb=Agent(by_hand=True))), no_human=True)
    assert worker.outcome("a") == ("error", "no_human")


def test_a_person_who_works_by_hand_takes_no_slot_and_no_working_time() -> None:
    """R192."""
    by_hand = agent("a", verb=Agent(by_hand=True))
    steps = (by_hand, command("b"))
    game = Game(flow(*steps, kind="par", max_parallel=1, block_keys={"parallel": 2, "join": "discard"}))
    assert game.flying() == ["a", "b"]
    assert game.state.busy == 1
    game.done("a")
    game.done("b")
    assert game.outcome() == ("passed", "")


def test_a_human_gate_comes_last_and_its_words_are_feedback() -> None:
    """R190."""
    gate = replace(human("ok"), on_fail="retry")
    game = Game(flow(agent("a", gates=gates((command("t"),), (gate,)))))
    game.changed("a")
    assert game.asked() == []
    game.done("a#1/t")
    assert game.asked() == ["a#1/ok"]
    game.answer("a#1/ok", "reject", text="shorter")
    assert game.outcome("a") == ("failed", "gates")
    assert game.state.ended is not None
    assert game.state.ended.exit == 4


def test_free_text_is_the_answer_where_no_value_is_given() -> None:
    game = Game(flow(Step("h", Human(Prompt("Name?"), answers=True), touches=())))
    game.say(Approve(Path("h"), "answer", "me", "Zoe"))
    ending = game.at("h").ending
    assert ending is not None
    assert (ending.result or {})["output"] == "Zoe"
    assert TRUE.value is True
