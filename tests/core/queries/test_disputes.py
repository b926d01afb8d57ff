"""Disputed tests stay open until a judge who was shown them accepts them (decision 48)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from podium.core.model import Git, Step
from podium.core.payloads import Verdict
from podium.core.policy import Retry
from podium.core.queries.disputes import (
    accepted_by_person,
    claims_before,
    claims_of,
    disputes_shown_to,
    open_disputes,
    steps_above,
)
from podium.core.queries.steps import has_judge_after
from podium.core.state import Leaf
from tests.core.kit import Game, agent, block, command, flow, gates, human, on, review

ROW = {"id": "T1", "test": "t::a", "files": ["t.py"], "problem": "fails", "why": "new rule"}
OTHER = {**ROW, "id": "T2"}


def result_with(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"disputed": list(rows), "disputed_diff": "-old\n+new"}


def open_ids(game: Game) -> list[str]:
    return [row["id"] for dispute in open_disputes(game.state) for row in dispute.rows]


def accept(game: Game, path: str, *ids: str) -> None:
    start = game.at(path).place.start
    game.end(path, verdict=Verdict("approve", 8, tree=start), result={"accepted_tests": list(ids)})


def test_a_person_who_approves_accepts_what_the_question_named() -> None:
    game = Game(flow(replace(agent("a"), gates=gates((command("t"),), (human("h"),)))))
    game.end_with_change("a", result={"tests_changed": [{"test": "a", "why": "b"}]})
    assert claims_of(game.state, game.at("a")) == ({"test": "a", "why": "b"},)
    game.end("a#1/t", result=result_with(ROW))
    question = game.at("a#1/h")
    assert isinstance(question, Leaf)
    assert open_ids(game) == ["T1"]
    assert disputes_shown_to(game.state, question)[0].diff == "-old\n+new"
    assert accepted_by_person(game.state, question) == ("T1",)

    game.answer("a#1/h")

    assert open_ids(game) == []
    assert game.outcome("a") == ("passed", "")


def test_a_person_who_was_not_asked_accepts_nothing() -> None:
    game = Game(flow(command("t"), human("h", level="notify")))
    game.end("t", result=result_with(ROW))

    assert game.outcome() == ("passed", "")
    assert open_ids(game) == ["T1"]
    question = game.at("h")
    assert isinstance(question, Leaf)
    assert accepted_by_person(game.state, question) == ()


def test_a_question_for_a_value_accepts_nothing() -> None:
    game = Game(flow(command("t"), human("h", answers=True)))
    game.end("t", result=result_with(ROW))
    game.answer("h", "answer", text="yes")

    assert open_ids(game) == ["T1"]


def test_a_review_accepts_only_if_it_passes_as_a_whole() -> None:
    game = Game(flow(agent("a"), command("t"), replace(review("r", "a", judges=2), on=on(rejected="next"))))
    game.end_with_change("a")
    game.end("t", result=result_with(ROW))
    accept(game, "r/j1", "T1")
    game.give_verdict("r/j2", "reject", findings=({"severity": "major", "issue": "x", "status": "open"},))

    assert open_ids(game) == ["T1"]


def test_a_review_that_passes_accepts_what_its_members_accepted() -> None:
    game = Game(flow(agent("a"), command("t"), review("r")))
    game.end_with_change("a")
    game.end("t", result=result_with(ROW, OTHER))
    assert len(disputes_shown_to(game.state, game.at("r/j1"))[0].rows) == 2
    accept(game, "r/j1", "T1")

    assert open_ids(game) == ["T2"]


def test_a_review_of_a_step_is_shown_the_rows_of_that_step_only() -> None:
    gated = replace(agent("a"), gates=gates((command("t"),)))
    game = Game(flow(gated, agent("b"), command("c"), review("r", "a"), review("s", "b")))
    game.end_with_change("a")
    game.end("a#1/t", result=result_with(ROW))
    game.end_with_change("b")
    game.end("c", result=result_with(OTHER))

    shown = [row["id"] for dispute in disputes_shown_to(game.state, game.at("r/j1")) for row in dispute.rows]
    assert shown == ["T1"]
    game.give_verdict("r/j1")
    assert disputes_shown_to(game.state, game.at("s/j1")) == ()


def test_a_command_that_ends_again_replaces_its_rows() -> None:
    looping = replace(command("look"), on=on(failed=0))
    game = Game(flow(command("t"), looping))
    game.end("t", result=result_with(ROW))
    game.end("look", "failed")
    assert open_ids(game) == ["T1"], "until the command has ended again"

    game.end("t~2", result=result_with(OTHER))
    assert open_ids(game) == ["T2"]
    game.end("look~2", "failed")
    game.end("t~3", "failed")

    assert open_ids(game) == ["T2"], "a failed command says nothing"


def test_a_landing_knows_the_reasons_of_the_whole_run_and_shows_them_to_its_judges() -> None:
    land = Step("land", Git(land="main"), gates=gates((command("t"),), (human("h"),)))
    game = Game(flow(command("c"), land))
    game.end("c", result=result_with(ROW))
    game.end("land", result={"onto": "tip"}, tree=game.at("land").place.start, reason="moved")

    assert claims_of(game.state, game.at("land")) == (ROW,)
    game.end("land#1/t")
    assert [dispute.path for dispute in disputes_shown_to(game.state, game.at("land#1/h"))] == ["c"]


def test_a_command_of_its_own_knows_the_reasons_of_the_steps_before_it() -> None:
    inner = Step("b", block("seq", agent("a"), agent("n")))
    game = Game(flow(inner, command("t"), human("h")))
    game.end_with_change("b/a", result={"tests_changed": [ROW]})
    game.end_with_change("b/n")

    assert claims_before(game.state, game.at("t")) == (ROW,)
    assert has_judge_after(steps_above(game.state, game.at("t")))


def test_gates_of_a_failed_attempt_do_not_count_with_those_of_the_next() -> None:
    step = replace(agent("a"), gates=gates((command("t"),), (human("h"),)), retry=Retry(attempts=2))
    game = Game(flow(step))
    game.end_with_change("a")
    game.end("a#1/t", result=result_with(ROW))
    game.answer("a#1/h", "reject")
    game.end_with_change("a")
    game.end("a#2/t", result=result_with(OTHER))

    assert open_ids(game) == ["T2"]


def test_a_judge_of_a_step_that_was_passed_over_is_shown_no_disputed_test() -> None:
    judged = replace(agent("a"), gates=gates((command("t"),)), on=on(passed=2))
    game = Game(flow(judged, agent("b"), review("c", "b"), human("h")))
    game.end_with_change("a")
    game.end("a#1/t", result=result_with(ROW))
    game.end("c/j1", "failed", reason="crash")

    question = game.at("c#1/!no_verdict")
    assert disputes_shown_to(game.state, question) == ()
    game.answer("c#1/!no_verdict")
    assert open_ids(game) == ["T1"], "its approval says nothing about tests that it did not show"


def test_a_person_who_judges_for_the_reviewers_accepts_what_the_question_named() -> None:
    game = Game(flow(replace(agent("a"), gates=gates((command("t"),), (review("q"),)))))
    game.end_with_change("a")
    game.end("a#1/t", result=result_with(ROW))
    game.end("a#1/q/j1", "failed", reason="crash")
    game.answer("a#1/q#1/!no_verdict")

    assert open_ids(game) == []
