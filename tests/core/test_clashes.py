"""What becomes of work that does not go together with the work of others (language.md 5-6), case by case."""

from __future__ import annotations

from typing import Any

import pytest

from podium.core.decide.decide import decide
from podium.core.events import AttemptQueued, StepReopened
from podium.core.model import Step
from podium.core.payloads import RefusedMember
from podium.core.policy import Retry
from podium.core.state import JoinRefusal
from podium.core.types import Path
from tests.core.kit import Game, agent, block, command, flow, gates, human

WORDS = "src/a.py: both changed it"


def beside(*others: Step, **block_keys: Any) -> Game:
    """A run in which the work of `a` is on the head already, and the others began before that."""
    keys = {"parallel": 3, "rule": "any", **block_keys}
    game = Game(flow(agent("a", touches=("a/**",)), *others, kind="par", block_keys=keys))
    game.changed("a")
    return game


def refuse(game: Game, path: str, scope: str = "") -> RefusedMember:
    refused = RefusedMember(Path(path), "conflict", WORDS)
    game.joined(scope, None, refused=(refused,))
    return refused


def started(game: Game, path: str) -> tuple[str | None, str | None]:
    effect: Any = game.state.pending[("attempt", Path(path))]
    return effect.asked.base, effect.asked.start


def group(**rest: Any) -> Step:
    return Step("g", block("seq", agent("c", touches=("c/**",))), has_worker=True, **rest)


def test_why_a_member_was_refused_is_known_to_its_next_attempt_until_that_is_joined() -> None:
    """X8: the conflict is handed to the worker."""
    game = beside(
        agent("b", touches=("b/**",), retry=Retry(attempts=3)), agent("d", touches=("d/**",)), join="queue"
    )
    game.changed("b")
    refused = refuse(game, "b")
    assert game.events(AttemptQueued)[-1].feedback == ("b#1",)
    assert game.at("b").clash == JoinRefusal(1, refused)
    game.done("b", "transient")
    assert game.at("b").clash == JoinRefusal(1, refused)
    game.changed("d")
    game.joined("", "ad")
    game.fire("b", game.at("b").due or 0)  # type: ignore[union-attr]  # a leaf
    game.changed("b")
    game.joined("", "abd")
    assert game.outcome("b") == ("passed", "")
    assert game.at("b").clash is None


def test_a_block_that_was_refused_begins_again_with_the_work_of_the_others() -> None:
    """X8: from where it stood it could only clash again."""
    game = beside(group(retry=Retry(attempts=2, stated=True)))
    game.changed("g/c")
    refused = refuse(game, "g")
    assert game.events(StepReopened)[-1].feedback == ("g#1",)
    assert game.at("g").clash == JoinRefusal(1, refused)
    assert started(game, "g/c~2") == ("a#1", "a#1")
    assert "g#1" in game.at("g/c~2").feedback
    game.changed("g/c~2")
    assert game.at("g").ending.tree == "g/c~2#1"  # type: ignore[union-attr]  # it has ended
    assert game.at("").ending.tree == "g/c~2#1"  # type: ignore[union-attr]  # it has ended


def test_a_block_that_is_refused_once_and_for_all_says_why() -> None:
    game = beside(group())
    game.changed("g/c")
    refuse(game, "g")
    assert game.outcome("g") == ("conflict", "conflict")
    assert game.at("g").ending.message == WORDS  # type: ignore[union-attr]  # it has ended


def test_branches_that_clash_are_told_why_when_the_graph_is_tried_again() -> None:
    inner = block("dag", agent("x", touches=("x/**",)), agent("y", touches=("y/**",)))
    game = Game(flow(Step("g", inner, retry=Retry(attempts=2, stated=True), has_worker=True)))
    game.changed("g/x")
    game.changed("g/y")
    refused = refuse(game, "g", "g")
    assert game.events(StepReopened)[-1].feedback == ("g#1",)
    assert game.at("g").clash == JoinRefusal(1, refused)
    assert game.at("g/x~2").feedback == ("g#1",)
    game.changed("g/x~2")
    game.changed("g/y~2")
    game.joined("g", "xy")
    assert game.outcome("g") == ("passed", "")


def test_an_attempt_that_was_refused_is_not_taken_as_the_best_later() -> None:
    """X8: it lacks the work it clashed with, so taking it would undo that work."""
    retry = Retry(attempts=2, on_exhausted="accept_best", stated=True)
    game = beside(agent("b", touches=("b/**",), retry=retry, gates=gates((command("t"),))))
    game.changed("b")
    game.done("b#1/t")
    refuse(game, "b")
    game.done("b", "failed")
    assert game.outcome("b")[0] == "failed"
    assert game.at("").ending.tree == "a#1"  # type: ignore[union-attr]  # it has ended


def test_an_older_attempt_is_not_taken_once_others_have_moved_the_head() -> None:
    """X8: only the newest tree of a member can be merged."""
    retry = Retry(attempts=2, on_exhausted="accept_best", stated=True)
    judged = gates((command("t"),), (human("h"),))
    steps = (agent("a", touches=("a/**",)), agent("b", touches=("b/**",), retry=retry, gates=judged))
    game = Game(flow(*steps, kind="par", block_keys={"parallel": 2, "rule": "any"}))
    game.changed("b")
    game.done("b#1/t")
    game.answer("b#1/h", "reject")
    game.changed("a")
    game.done("b", "failed")
    assert game.outcome("b")[0] == "failed"
    alone = Game(flow(*steps, kind="par", block_keys={"parallel": 2, "rule": "any"}))
    alone.changed("b")
    alone.done("b#1/t")
    alone.answer("b#1/h", "reject")
    alone.done("b", "failed")
    assert alone.outcome("b") == ("passed", "exhausted")
    assert alone.at("b").ending.tree == "b#1"  # type: ignore[union-attr]  # it has ended


@pytest.mark.parametrize("refused", [False, True])
def test_the_best_attempt_is_merged_before_it_is_taken(refused: bool) -> None:
    """X8: whatever the reviewers thought of it, others have worked meanwhile."""
    retry = Retry(attempts=1, on_exhausted="accept_best", stated=True)
    game = beside(agent("b", touches=("b/**",), retry=retry, gates=gates((command("t"),), (human("h"),))))
    game.changed("b")
    game.done("b#1/t")
    game.answer("b#1/h", "reject")
    if refused:
        refuse(game, "b")
        assert game.outcome("b")[0] == "conflict"
        return
    game.joined("", "ab")
    assert game.outcome("b") == ("passed", "exhausted")
    assert game.at("").ending.tree == "ab"  # type: ignore[union-attr]  # it has ended


@pytest.mark.parametrize("refused", [False, True])
def test_the_last_attempt_of_a_block_is_merged_before_it_is_taken(refused: bool) -> None:
    """X8: as that of a single step."""
    retry = Retry(attempts=1, on_exhausted="accept_best", stated=True)
    game = beside(group(retry=retry, gates=gates((command("t"),), (human("h"),))))
    game.changed("g/c")
    game.done("g#1/t")
    game.answer("g#1/h", "reject")
    assert ("join", Path("")) in game.state.pending
    assert decide(game.state, game.now, None)[1] == ()
    if refused:
        refuse(game, "g")
        assert game.outcome("g")[0] == "conflict"
        return
    game.joined("", "ag")
    assert game.outcome("g") == ("passed", "exhausted")
    assert game.at("").ending.tree == "ag"  # type: ignore[union-attr]  # it has ended


def test_a_person_who_wants_a_block_tried_again_adds_to_what_went_wrong() -> None:
    """Feedback accumulates: the words of a person do not replace those of the gates."""
    retry = Retry(attempts=1, on_exhausted="human", stated=True)
    game = Game(flow(group(retry=retry, gates=gates((command("t"),)))))
    game.changed("g/c")
    game.done("g#1/t", "failed")
    game.answer("g#1/!exhausted", "retry")
    assert game.events(StepReopened)[-1].feedback == ("g#1", "g#1/!exhausted")
    assert started(game, "g/c~2") == ("g/c#1", "g/c#1")
