"""Where steps start from and how their work comes together (language.md 6), case by case."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from podium.core.events import JoinAsked, StepEntered
from podium.core.messages import Cancel
from podium.core.model import Call, ForEach, Members, Repeat, Step, Workflow
from podium.core.payloads import RefusedMember
from podium.core.policy import Retry
from podium.core.types import Path
from tests.core.kit import BASE, FALSE, Game, agent, block, command, flow, gates, name_of, on


def started(game: Game, path: str) -> tuple[str | None, str | None]:
    effect: Any = game.state.pending[("attempt", Path(path))]
    return effect.asked.base, effect.asked.start


def test_what_passed_is_what_the_next_step_starts_from() -> None:
    game = Game(flow(agent("a"), command("x"), agent("b")))
    assert started(game, "a") == (BASE, BASE)
    game.changed("a")
    game.done("x")
    assert started(game, "b") == ("a#1", "a#1")


def test_a_retry_goes_on_from_what_the_last_attempt_left() -> None:
    game = Game(flow(agent("a", retry=Retry(attempts=2))))
    game.done("a", "failed", tree="half")
    assert started(game, "a") == (BASE, "half")


def test_after_a_way_back_a_step_goes_on_from_its_own_last_tree() -> None:
    game = Game(flow(agent("a"), command("t", on=on(failed=0))))
    game.changed("a")
    game.done("t", "failed")
    assert started(game, "a~2") == (BASE, "a#1")
    game.changed("a~2")
    assert started(game, "t~2") == ("a~2#1", "a~2#1")


def test_a_target_that_was_jumped_over_starts_before_all_that_became_stale() -> None:
    """X4: what was done after it is not on the head any more."""
    steps = (agent("a", on=on(passed=2)), agent("b"), agent("c", on=on(passed=1)))
    game = Game(flow(*steps))
    game.changed("a")
    game.changed("c")
    assert started(game, "b") == ("a#1", "a#1")


def test_a_member_that_leads_moves_the_head_and_the_others_are_merged() -> None:
    """X8."""
    game = Game(
        flow(Step("e", ForEach((1, 2, 3), agent("e", touches=(name_of("inputs.g"),)), parallel=3))),
        inputs={"g": "src/**"},
    )
    assert game.flying() == ["e[1]"]
    other = Game(
        flow(
            agent("a", touches=("a/**",)),
            agent("b", touches=("b/**",)),
            kind="par",
            block_keys={"parallel": 2},
        )
    )
    other.changed("a")
    other.changed("b")
    (join,) = other.events(JoinAsked)
    assert (join.onto, join.members, join.gated) == ("a#1", (("b", "b#1"),), True)
    other.joined("", "both")
    assert other.at("").ending.tree == "both"  # type: ignore[union-attr]  # it has ended


@pytest.mark.parametrize(
    ("kind", "outcome"), [("conflict", ("conflict", "conflict")), ("failed", ("failed", "gates"))]
)
def test_a_member_that_clashes_goes_back_to_its_worker_while_it_has_attempts(
    kind: Any, outcome: tuple[str, str]
) -> None:
    """X8."""
    retry = Retry(attempts=2)
    steps = (agent("a", touches=("a/**",)), agent("b", touches=("b/**",), retry=retry))
    game = Game(flow(*steps, kind="par", block_keys={"parallel": 2, "rule": "any"}))
    game.changed("a")
    game.changed("b")
    game.joined("", None, refused=(RefusedMember(Path("b"), kind, "both changed x"),))
    assert started(game, "b") == ("a#1", "a#1")
    game.changed("b")
    assert game.outcome("b") == ("passed", "")
    stubborn = Game(
        flow(
            steps[0], replace(steps[1], retry=Retry()), kind="par", block_keys={"parallel": 2, "rule": "any"}
        )
    )
    stubborn.changed("a")
    stubborn.changed("b")
    stubborn.joined("", None, refused=(RefusedMember(Path("b"), kind, "both changed x"),))
    assert stubborn.outcome("b") == outcome
    assert stubborn.outcome() == ("passed", "")


@pytest.mark.parametrize(
    ("kind", "outcome"), [("conflict", ("conflict", "conflict")), ("failed", ("failed", "gates"))]
)
def test_a_block_that_clashes_fails_as_its_member_would(kind: Any, outcome: tuple[str, str]) -> None:
    inner = Step("g", block("seq", agent("c", touches=("c/**",))), has_worker=True)
    game = Game(
        flow(agent("a", touches=("a/**",)), inner, kind="par", block_keys={"parallel": 2, "rule": "any"})
    )
    game.changed("a")
    game.changed("g/c")
    game.joined("", None, refused=(RefusedMember(Path("g"), kind),))
    assert game.outcome("g") == outcome


def test_a_batch_waits_until_it_is_full_or_nobody_else_can_come() -> None:
    """X8: also when fewer run at once than a batch holds."""
    names = ("a", "b", "c", "d")
    steps = tuple(agent(name, touches=(f"{name}/**",)) for name in names)
    game = Game(flow(*steps, kind="par", max_parallel=9, block_keys={"parallel": 4, "join": 2}))
    game.changed("a")
    game.changed("b")
    assert game.events(JoinAsked) == []
    game.changed("c")
    assert [len(join.members) for join in game.events(JoinAsked)] == [2]
    game.joined("", "abc")
    game.changed("d")
    assert [len(join.members) for join in game.events(JoinAsked)] == [2, 1]
    game.joined("", "abcd")
    assert game.outcome() == ("passed", "")
    narrow = Game(flow(*steps, kind="par", block_keys={"parallel": 2, "join": 3}))
    for name in ("a", "b", "c"):
        narrow.changed(name)
    assert [len(join.members) for join in narrow.events(JoinAsked)] == [2]


def test_best_takes_the_highest_score_else_the_first_that_passed() -> None:
    """R106."""
    judged = gates((Step("q", _panel()),))
    members = tuple(agent(name, gates=judged) for name in ("one", "two"))
    game = Game(flow(Step("m", Members(members, "any", "best"))))
    game.changed("m/one")
    game.changed("m/two")
    game.judged("m/one#1/q/j1", score=7)
    game.judged("m/two#1/q/j1", score=9)
    assert game.at("m").ending.tree == "m/two#1"  # type: ignore[union-attr]  # it has ended
    plain = Game(flow(Step("m", Members((agent("one"), agent("two"), agent("three")), "any", "best"))))
    plain.done("m/one", "failed")
    plain.changed("m/two")
    plain.changed("m/three")
    assert plain.at("m").ending.tree == "m/two#1"  # type: ignore[union-attr]  # it has ended


def test_a_best_member_with_nothing_to_add_hands_on_what_it_was_given() -> None:
    """R106: on a later visit that is the work of the visit before, not what the list builds on."""
    members = Members((agent("one"), agent("two")), "any", "best")
    game = Game(flow(Step("m", members, has_worker=True), command("t", on=on(failed=0))))
    game.changed("m/one")
    game.done("m/two", tree=BASE)
    game.done("t", "failed")
    game.done("m~2/one", tree="m/one#1")
    game.changed("m~2/two")
    assert game.at("m~2").ending.tree == "m/one#1"  # type: ignore[union-attr]  # it has ended


def test_a_graph_that_was_blocked_begins_its_next_visit_with_the_head() -> None:
    """X8: it was never opened, so there is no tree of its own to go on from."""
    inner = Step("g", block("dag", agent("x")), needs=(1,), has_worker=True, on=on(blocked=1))
    game = Game(flow(agent("a"), command("t", needs=(0,)), inner, kind="dag"))
    game.changed("a")
    game.done("t", "failed")
    game.done("t~2")
    assert started(game, "g~2/x") == ("a#1", "a#1")


def _panel() -> Any:
    from tests.core.kit import review

    return review("q").verb


def test_a_graph_builds_on_the_joined_work_of_its_needs() -> None:
    a, b = agent("a", touches=("a/**",)), agent("b", touches=("b/**",))
    c = Step("c", agent("c").verb, needs=(0, 1), touches=("c/**",), has_worker=True)
    game = Game(flow(a, b, c, kind="dag"))
    game.changed("a")
    game.changed("b")
    assert game.events(JoinAsked)[0].path == "c"
    game.joined("c", "ab")
    assert started(game, "c") == ("ab", "ab")
    game.changed("c")
    assert game.at("").ending.tree == "c#1"  # type: ignore[union-attr]  # it has ended


def test_a_block_inside_a_graph_joins_its_needs_and_then_its_own_branches() -> None:
    """X8: the two joins are different things."""
    inner = block("dag", agent("x", touches=("x/**",)), agent("y", touches=("y/**",)))
    g = Step("g", inner, needs=(0, 1), has_worker=True)
    game = Game(flow(agent("a", touches=("a/**",)), agent("b", touches=("b/**",)), g, kind="dag"))
    game.changed("a")
    game.changed("b")
    game.joined("g", "ab")
    assert started(game, "g/x") == ("ab", "ab")
    game.changed("g/x")
    game.changed("g/y")
    assert [join.path for join in game.events(JoinAsked)] == ["g", "g"]
    game.joined("g", "all")
    assert game.at("g").ending.tree == "all"  # type: ignore[union-attr]  # it has ended


def test_a_graph_whose_branches_clash_ends_in_conflict() -> None:
    game = Game(flow(agent("a", touches=("a/**",)), agent("b", touches=("b/**",)), kind="dag"))
    game.changed("a")
    game.changed("b")
    game.joined("", None, refused=(RefusedMember(Path(""), "conflict", "both"),))
    assert game.outcome() == ("conflict", "conflict")


def test_a_graph_with_one_branch_or_no_change_needs_no_join() -> None:
    game = Game(flow(agent("a"), command("b"), kind="dag"))
    game.changed("a")
    game.done("b")
    assert game.events(JoinAsked) == []
    assert game.at("").ending.tree == "a#1"  # type: ignore[union-attr]  # it has ended
    still = Game(flow(command("a"), kind="dag"))
    still.done("a")
    assert still.at("").ending.tree is None  # type: ignore[union-attr]  # it has ended


def test_rounds_build_on_each_other_and_a_child_workflow_hands_its_tree_on() -> None:
    again = Step("r", Repeat(agent("r"), FALSE, "until", 2, "accept_best"), has_worker=True)
    child = Workflow("child", block("seq", agent("c")))
    game = Game(flow(again, Step("k", Call(child), has_worker=True), command("z")))
    game.changed("r[1]")
    assert started(game, "r[2]") == ("r[1]#1", "r[1]#1")
    game.changed("r[2]")
    game.changed("k/c")
    assert started(game, "z")[0] == "k/c#1"


def test_a_run_without_a_tree_works_too() -> None:
    game = Game(flow(agent("a"), command("b")), tree=None)
    assert started(game, "a") == (None, None)
    game.done("a", tree=None)
    game.done("b")
    assert game.outcome() == ("passed", "")
    assert [event.base for event in game.events(StepEntered)] == [None, None]


def test_items_of_a_graph_that_need_not_wait_for_each_other_are_merged() -> None:
    """X8."""
    items = [{"k": "a", "n": []}, {"k": "b", "n": []}, {"k": "c", "n": ["a", "b"]}]
    body = agent("e", touches=(name_of("item.k"),))
    loop = ForEach(items, body, key=name_of("item.k"), needs=name_of("item.n"), parallel=3)
    game = Game(flow(Step("e", loop, has_worker=True)))
    game.changed("e[1]")
    game.changed("e[2]")
    assert [join.members for join in game.events(JoinAsked)] == [(("e[2]", "e[2]#1"),)]
    game.joined("e", "ab")
    assert started(game, "e[3]") == ("ab", "ab")


def test_a_gate_that_changes_files_changes_nothing() -> None:
    game = Game(flow(agent("a", gates=gates((command("t"),))), command("z")))
    game.changed("a")
    game.done("a#1/t", tree="dirty")
    assert started(game, "z") == ("a#1", "a#1")


def test_members_that_wait_for_a_join_are_forgotten_with_their_scope() -> None:
    """P1."""
    names = ("a", "b", "c")
    steps = tuple(agent(name, touches=(f"{name}/**",)) for name in names)
    game = Game(flow(*steps, kind="par", block_keys={"parallel": 3}))
    game.changed("a")
    game.changed("b")
    assert len(game.state.joins) == 1
    game.say(Cancel("me"))
    game.done("c", "cancelled")
    assert game.state.ended is not None
    assert not game.state.joins
    assert not game.state.pending


def test_items_of_a_graph_start_from_the_head_of_the_loop() -> None:
    items = [{"k": "a", "n": []}, {"k": "b", "n": ["a"]}]
    loop = ForEach(items, agent("e"), key=name_of("item.k"), needs=name_of("item.n"), parallel=2)
    game = Game(flow(Step("e", loop, has_worker=True)))
    game.changed("e[1]")
    assert started(game, "e[2]")[0] in ("e[1]#1", BASE)
    game.changed("e[2]")
    while ("join", Path("e")) in game.state.pending:
        game.joined("e", "both")
    assert game.outcome() == ("passed", "")
