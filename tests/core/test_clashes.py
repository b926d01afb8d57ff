"""Work that conflicts with the work of parallel steps (language.md 5-6), case by case."""

from __future__ import annotations

from typing import Any

import pytest

from podium.core.decide.decide import decide
from podium.core.events import AttemptQueued, StepReopened
from podium.core.model import Step
from podium.core.payloads import RefusedMember
from podium.core.policy import Retry
from podium.core.state import JoinRefusal
from podium.core.types import Address
from tests.core.kit import Game, agent, block, command, flow, gates, human, on

WORDS = "src/a.py: both changed it"


def beside(*members: Step, **block_keys: Any) -> Game:
    """A run in which the work of `a` is already on the head, and the other members started before that."""
    keys = {"parallel": 3, "rule": "any", **block_keys}
    game = Game(flow(agent("a", touches=("a/**",)), *members, kind="par", block_keys=keys))
    game.end_with_change("a")
    return game


def refuse(game: Game, path: str, scope: str = "") -> RefusedMember:
    refused = RefusedMember(Address(path), "conflict", WORDS)
    game.end_join(scope, None, refused=(refused,))
    return refused


def started(game: Game, path: str) -> tuple[str | None, str | None]:
    effect: Any = game.state.pending[("attempt", Address(path))]
    return effect.started.base, effect.started.start


def group(**rest: Any) -> Step:
    return Step("g", block("seq", agent("c", touches=("c/**",))), has_worker=True, **rest)


def test_a_members_next_attempt_knows_why_the_join_was_refused() -> None:
    """X8: the conflict is passed to the worker, until a join accepts its work."""
    game = beside(
        agent("b", touches=("b/**",), retry=Retry(attempts=3)), agent("d", touches=("d/**",)), join="queue"
    )
    game.end_with_change("b")
    refused = refuse(game, "b")
    assert game.events(AttemptQueued)[-1].feedback == ("b#1",)
    assert game.at("b").join_refusal == JoinRefusal(1, refused)
    game.end("b", "transient")
    assert game.at("b").join_refusal == JoinRefusal(1, refused)
    game.end_with_change("d")
    game.end_join("", "ad")
    game.fire_timer("b", game.at("b").due or 0)  # type: ignore[union-attr]  # a leaf
    game.end_with_change("b")
    game.end_join("", "abd")
    assert game.outcome("b") == ("passed", "")
    assert game.at("b").join_refusal is None


def test_a_refused_block_starts_again_from_the_work_of_the_others() -> None:
    """X8: from its old base it could only conflict again."""
    game = beside(group(retry=Retry(attempts=2, stated=True)))
    game.end_with_change("g/c")
    refused = refuse(game, "g")
    assert game.events(StepReopened)[-1].feedback == ("g#1",)
    assert game.at("g").join_refusal == JoinRefusal(1, refused)
    game.wait_for_retry("g")
    assert started(game, "g/c~2") == ("a#1", "a#1")
    assert "g#1" in game.at("g/c~2").feedback
    game.end_with_change("g/c~2")
    assert game.at("g").ending.tree == "g/c~2#1"  # type: ignore[union-attr]  # it has ended
    assert game.at("").ending.tree == "g/c~2#1"  # type: ignore[union-attr]  # it has ended


def test_a_block_without_attempts_left_ends_with_the_reason_of_the_refusal() -> None:
    game = beside(group())
    game.end_with_change("g/c")
    refuse(game, "g")
    assert game.outcome("g") == ("conflict", "conflict")
    assert game.at("g").ending.message == WORDS  # type: ignore[union-attr]  # it has ended


def test_conflicting_branches_get_the_reason_when_the_graph_is_retried() -> None:
    inner = block("dag", agent("x", touches=("x/**",)), agent("y", touches=("y/**",)))
    game = Game(flow(Step("g", inner, retry=Retry(attempts=2, stated=True), has_worker=True)))
    game.end_with_change("g/x")
    game.end_with_change("g/y")
    refused = refuse(game, "g", "g")
    assert game.events(StepReopened)[-1].feedback == ("g#1",)
    assert game.at("g").join_refusal == JoinRefusal(1, refused)
    game.wait_for_retry("g")
    assert game.at("g/x~2").feedback == ("g#1",)
    game.end_with_change("g/x~2")
    game.end_with_change("g/y~2")
    game.end_join("g", "xy")
    assert game.outcome("g") == ("passed", "")


def test_a_refused_attempt_is_not_accepted_as_the_best_later() -> None:
    """X8: it lacks the conflicting work, so accepting it would undo that work."""
    retry = Retry(attempts=2, on_exhausted="accept_best", stated=True)
    game = beside(agent("b", touches=("b/**",), retry=retry, gates=gates((command("t"),))))
    game.end_with_change("b")
    game.end("b#1/t")
    refuse(game, "b")
    game.end("b", "failed")
    assert game.outcome("b")[0] == "failed"
    assert game.at("").ending.tree == "a#1"  # type: ignore[union-attr]  # it has ended


def test_an_older_attempt_is_not_accepted_after_others_moved_the_head() -> None:
    """X8: only the newest tree of a member can be merged."""
    retry = Retry(attempts=2, on_exhausted="accept_best", stated=True)
    judged = gates((command("t"),), (human("h"),))
    steps = (agent("a", touches=("a/**",)), agent("b", touches=("b/**",), retry=retry, gates=judged))
    game = Game(flow(*steps, kind="par", block_keys={"parallel": 2, "rule": "any"}))
    game.end_with_change("b")
    game.end("b#1/t")
    game.answer("b#1/h", "reject")
    game.end_with_change("a")
    game.end("b", "failed")
    assert game.outcome("b")[0] == "failed"
    alone = Game(flow(*steps, kind="par", block_keys={"parallel": 2, "rule": "any"}))
    alone.end_with_change("b")
    alone.end("b#1/t")
    alone.answer("b#1/h", "reject")
    alone.end("b", "failed")
    assert alone.outcome("b") == ("passed", "exhausted")
    assert alone.at("b").ending.tree == "b#1"  # type: ignore[union-attr]  # it has ended


@pytest.mark.parametrize("refused", [False, True])
def test_the_best_attempt_is_merged_before_it_is_accepted(refused: bool) -> None:
    """X8: other members may have moved the head in the meantime."""
    retry = Retry(attempts=1, on_exhausted="accept_best", stated=True)
    game = beside(agent("b", touches=("b/**",), retry=retry, gates=gates((command("t"),), (human("h"),))))
    game.end_with_change("b")
    game.end("b#1/t")
    game.answer("b#1/h", "reject")
    if refused:
        refuse(game, "b")
        assert game.outcome("b")[0] == "conflict"
        return
    game.end_join("", "ab")
    assert game.outcome("b") == ("passed", "exhausted")
    assert game.at("").ending.tree == "ab"  # type: ignore[union-attr]  # it has ended


@pytest.mark.parametrize("refused", [False, True])
def test_the_last_attempt_of_a_block_is_merged_before_it_is_accepted(refused: bool) -> None:
    """X8: the same as for a single step."""
    retry = Retry(attempts=1, on_exhausted="accept_best", stated=True)
    game = beside(group(retry=retry, gates=gates((command("t"),), (human("h"),))))
    game.end_with_change("g/c")
    game.end("g#1/t")
    game.answer("g#1/h", "reject")
    assert ("join", Address("")) in game.state.pending
    assert decide(game.state, game.now, None)[1] == ()
    if refused:
        refuse(game, "g")
        assert game.outcome("g")[0] == "conflict"
        return
    game.end_join("", "ag")
    assert game.outcome("g") == ("passed", "exhausted")
    assert game.at("").ending.tree == "ag"  # type: ignore[union-attr]  # it has ended


def test_a_persons_text_is_added_to_the_feedback_of_a_retried_block() -> None:
    """The text of a person does not replace the feedback of the gates."""
    retry = Retry(attempts=1, on_exhausted="human", stated=True)
    game = Game(flow(group(retry=retry, gates=gates((command("t"),)))))
    game.end_with_change("g/c")
    game.end("g#1/t", "failed")
    game.answer("g#1/!exhausted", "retry")
    assert game.events(StepReopened)[-1].feedback == ("g#1", "g#1/!exhausted")
    assert started(game, "g/c~2") == ("g/c#1", "g/c#1")


def test_a_member_may_route_its_conflict() -> None:
    """Issue 16, C6: the block passes without the work that could not be merged."""
    game = beside(agent("b", touches=("b/**",), on=on(conflict="next")), rule="all")
    game.end_with_change("b")
    refuse(game, "b")
    assert game.outcome("b") == ("conflict", "conflict")
    assert game.outcome() == ("passed", "")
    assert game.at("").ending.tree == "a#1"  # type: ignore[union-attr]  # it has ended


def test_a_block_whose_work_waits_to_be_merged_is_queued_once() -> None:
    """A new owner of the run looks at all ends again."""
    game = beside(group(), agent("d", touches=("d/**",)), join="queue")
    game.end_with_change("g/c")
    assert game.at("g").join_status == "queued"

    assert decide(game.state, game.now, None)[1] == ()
    assert game.at("g").ending is None
