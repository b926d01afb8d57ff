"""Results that a decision accepts as they are: what follows them, what they may be named by, and who is not asked again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from podium.core.messages import Approve, Refusal
from podium.core.model import Members, Step
from podium.core.policy import Breaker
from podium.core.queries.file_versions import visits_with_file
from podium.core.queries.step_results import fields_of
from podium.core.state import Scope
from podium.core.types import Address
from tests.core.kit import Game, agent, block, command, flow, on, review

NONE = Breaker(visits=None, cycle=None, repeat=None, plateau=None, reversals=None)
TWICE = replace(NONE, visits=2)
FILES = [{"file": "ann.md", "hash": "0", "project": "drafts/ann.md"}]


def drafted(*more: Step, breaker: Breaker = TWICE) -> Game:
    """Two drafts that a gate sent back, the first with the better score."""
    draft, gate = agent("draft"), review("gate", "draft")
    game = Game(flow(draft, replace(gate, on=on(rejected=0)), *more, breaker=breaker))
    for suffix, score in (("", 6), ("~2", 4)):
        game.end(f"draft{suffix}", result={"text": suffix, "artifacts": FILES})
        game.give_verdict(f"gate{suffix}/j1", "reject", score)
    return game


def decide(game: Game, **fields: Any) -> object:
    number = len(game.open_questions()) and game.open_questions()[0]
    return game.send(
        Approve(Address(str(number)), fields.pop("action", "force_complete"), "me", "", fields or None)
    )


def test_a_gate_is_not_asked_again_about_work_that_a_decision_accepted() -> None:
    game = drafted(command("last"))
    decide(game)
    assert game.outcome("draft~3") == ("passed", "exhausted")
    assert game.outcome("gate~3") == ("passed", "exhausted")
    # By the score that the gate gave to that visit, although both have the same tree.
    assert fields_of(game.state, game.at("draft~3"))["text"] == ""
    assert game.in_flight() == ["last"]


@pytest.mark.parametrize("name", ["drafts/ann_v2.md", "ann_v2.md", "drafts/ann.md", "draft~2"])
def test_a_result_is_named_by_its_visit_or_by_a_file_of_it(name: str) -> None:
    game = drafted(command("last"))
    decide(game, use_output=name)
    assert fields_of(game.state, game.at("draft~3"))["text"] == "~2"


def test_a_decision_names_the_step_that_follows() -> None:
    game = drafted(command("middle"), command("last-one"), command("last_step"))
    assert isinstance(decide(game, proceed_from="nowhere"), Refusal)
    assert isinstance(decide(game, use_output="other.md"), Refusal)
    decide(game, proceed_from="last-step")
    assert game.in_flight() == ["last_step"]


def test_a_gate_that_would_be_asked_too_often_passes_with_its_best_verdict() -> None:
    game = drafted(command("last"))
    decide(game, action="proceed")
    game.end("draft~3", result={"text": "~3"})
    decide(game)
    assert game.outcome("gate~3") == ("passed", "exhausted")
    assert game.in_flight() == ["last"]


def test_a_decision_about_a_step_without_a_result_can_only_name_what_follows() -> None:
    looping = (command("a", on=on(failed=0)), command("b"))
    game = Game(flow(*looping, breaker=replace(NONE, visits=1)))
    game.end("a", "failed")
    decide(game, proceed_from="b")
    assert game.in_flight() == ["b"]


def test_a_graph_has_no_step_to_proceed_from() -> None:
    body = block("dag", agent("a"), command("b", needs=(0,), on=on(failed=0)))
    game = Game(replace(flow(agent("x")), body=body, breaker=replace(NONE, visits=1)))
    game.end("a")
    game.end("b", "failed")
    refused = decide(game, proceed_from="b")
    assert isinstance(refused, Refusal)
    assert "choose from none" in refused.message


def test_the_members_of_an_adopted_list_are_those_of_the_visit_that_worked() -> None:
    members = Step("draft", Members((agent("ann", touches=()), agent("ben", touches=()))), touches=())
    gate = replace(review("gate", "draft"), on=on(rejected=0))
    game = Game(flow(members, gate, command("last"), breaker=replace(NONE, visits=1)))
    for name in ("ann", "ben"):
        game.end(f"draft/{name}", result={"text": name, "artifacts": FILES})
    game.give_verdict("gate/j1", "reject", 4)
    decide(game)
    assert [member["text"] for member in fields_of(game.state, game.at("draft~2"))["members"]] == [
        "ann",
        "ben",
    ]
    root = game.at("")
    assert isinstance(root, Scope)
    assert visits_with_file(game.state, root, "ann.md") == ("draft",)


def test_a_step_that_was_sent_back_often_is_asked_about() -> None:
    game = drafted(breaker=replace(NONE, sent_back=2))
    assert game.open_questions() == ["#1/!advice"]
    assert game.at("#1/!advice").place.topic == "sent_back"


@pytest.mark.parametrize("score", [9, 4])
def test_gates_with_scores_far_apart_for_the_same_work_are_asked_about(score: int) -> None:
    breaker = replace(NONE, disagree=3)
    game = Game(flow(agent("a"), review("one", "a"), review("two", "a"), command("b"), breaker=breaker))
    game.end("a")
    game.give_verdict("one/j1", "approve", 9)
    game.give_verdict("two/j1", "approve", score)
    if score == 9:
        assert game.in_flight() == ["b"]
        return
    assert game.at("#1/!advice").place.topic == "disagree"
    decide(game)
    assert game.in_flight() == ["b"]


def test_gates_that_disagree_at_the_end_are_asked_about_once() -> None:
    breaker = replace(NONE, disagree=3, complete=True)
    game = Game(flow(agent("a"), review("one", "a"), review("two", "a"), breaker=breaker))
    game.end("a")
    game.give_verdict("one/j1", "approve", 9)
    game.give_verdict("two/j1", "approve", 4)
    topics = []
    while game.open_questions():
        topics.append(game.at(game.open_questions()[0]).place.topic)
        decide(game, action="proceed")
    assert topics == ["disagree", "complete"]
    assert game.outcome() == ("passed", "")
