"""The trees that steps start from, and how their work is joined (language.md 6), case by case."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from podium.core.events import JoinAsked, StepEntered
from podium.core.messages import Cancel
from podium.core.model import Call, ForEach, Members, Repeat, Step, Workflow
from podium.core.payloads import RefusedMember
from podium.core.policy import Retry
from podium.core.types import Address
from tests.core.kit import BASE, FALSE, Game, agent, block, command, flow, gates, name_of, on


def started(game: Game, path: str) -> tuple[str | None, str | None]:
    effect: Any = game.state.pending[("attempt", Address(path))]
    return effect.started.base, effect.started.start


def test_the_next_step_starts_from_the_tree_of_the_passed_one() -> None:
    game = Game(flow(agent("a"), command("x"), agent("b")))
    assert started(game, "a") == (BASE, BASE)
    game.end_with_change("a")
    game.end("x")
    assert started(game, "b") == ("a#1", "a#1")


def test_a_retry_starts_from_the_tree_of_the_last_attempt() -> None:
    game = Game(flow(agent("a", retry=Retry(attempts=2))))
    game.end("a", "failed", tree="half")
    assert started(game, "a") == (BASE, "half")


def test_after_a_jump_back_a_step_starts_from_its_own_last_tree() -> None:
    game = Game(flow(agent("a"), command("t", on=on(failed=0))))
    game.end_with_change("a")
    game.end("t", "failed")
    assert started(game, "a~2") == (BASE, "a#1")
    game.end_with_change("a~2")
    assert started(game, "t~2") == ("a~2#1", "a~2#1")


def test_a_skipped_jump_target_starts_before_all_stale_steps() -> None:
    """X4: work after it is no longer on the head."""
    steps = (
        agent("a", on=on(passed=2)),
        agent("b"),
        agent("c", on=on(passed=3)),
        command("t", on=on(failed=1)),
    )
    game = Game(flow(*steps))
    game.end_with_change("a")
    game.end_with_change("c")
    game.end("t", "failed")
    assert started(game, "b") == ("a#1", "a#1")


def test_a_failure_that_leads_back_to_a_command_puts_the_head_back() -> None:
    game = Game(flow(agent("a"), command("c"), agent("b"), command("t", on=on(failed=1))))
    game.end_with_change("a")
    game.end("c")
    game.end_with_change("b")
    game.end("t", "failed")
    game.end("c~2")
    assert started(game, "b~2") == ("a#1", "b#1")


def test_a_step_that_passed_leads_back_without_losing_its_work() -> None:
    judge, fixer = command("judge", on=on(failed=2, passed=3)), agent("fix", on=on(passed=1))
    game = Game(flow(agent("a"), judge, fixer, agent("last")))
    game.end_with_change("a")
    game.end("judge", "failed")
    assert started(game, "fix") == ("a#1", "a#1")
    assert game.state.instances[Address("fix")].feedback == ("judge",)
    game.end_with_change("fix")
    assert started(game, "judge~2") == ("fix#1", "fix#1")
    game.end("judge~2")
    assert started(game, "last") == ("fix#1", "fix#1")


def test_an_author_to_whom_it_leads_back_is_compared_with_the_first_entry() -> None:
    game = Game(flow(agent("a"), agent("b", on=on(passed=0))))
    game.end_with_change("a")
    game.end_with_change("b")
    assert started(game, "a~2") == (BASE, "b#1")
    game.end_with_change("a~2")
    assert started(game, "b~2") == ("a~2#1", "a~2#1")


def test_the_work_of_some_members_stays_if_a_route_accepts_it() -> None:
    work = agent("e", retry=Retry(attempts=1))
    for target, is_kept in (("next", True), (1, True), ("fail", False)):
        loop = Step("e", ForEach((1, 2), work), on=on(partial=target), has_worker=True)
        game = Game(flow(loop, agent("last")))
        game.end_with_change("e[1]")
        game.end("e[2]", "failed")
        if is_kept:
            assert started(game, "last") == ("e[1]#1", "e[1]#1")
        else:
            assert game.state.ended is not None
            assert game.state.instances[Address("e")].ending.tree is None  # type: ignore[union-attr]


def test_the_first_member_moves_the_head_and_the_others_are_merged() -> None:
    """X8."""
    game = Game(
        flow(Step("e", ForEach((1, 2, 3), agent("e", touches=(name_of("inputs.g"),)), parallel=3))),
        inputs={"g": "src/**"},
    )
    assert game.in_flight() == ["e[1]"]
    other = Game(
        flow(
            agent("a", touches=("a/**",)),
            agent("b", touches=("b/**",)),
            kind="par",
            block_keys={"parallel": 2},
        )
    )
    other.end_with_change("a")
    other.end_with_change("b")
    (join,) = other.events(JoinAsked)
    assert (join.onto, join.members, join.gated) == ("a#1", (("b", "b#1"),), True)
    other.end_join("", "both")
    assert other.at("").ending.tree == "both"  # type: ignore[union-attr]  # it has ended


@pytest.mark.parametrize(
    ("kind", "outcome"), [("conflict", ("conflict", "conflict")), ("failed", ("failed", "gates"))]
)
def test_a_refused_member_is_retried_while_it_has_attempts(kind: Any, outcome: tuple[str, str]) -> None:
    """X8."""
    retry = Retry(attempts=2)
    steps = (agent("a", touches=("a/**",)), agent("b", touches=("b/**",), retry=retry))
    game = Game(flow(*steps, kind="par", block_keys={"parallel": 2, "rule": "any"}))
    game.end_with_change("a")
    game.end_with_change("b")
    game.end_join("", None, refused=(RefusedMember(Address("b"), kind, "both changed x"),))
    assert started(game, "b") == ("a#1", "a#1")
    game.end_with_change("b")
    assert game.outcome("b") == ("passed", "")
    stubborn = Game(
        flow(
            steps[0], replace(steps[1], retry=Retry()), kind="par", block_keys={"parallel": 2, "rule": "any"}
        )
    )
    stubborn.end_with_change("a")
    stubborn.end_with_change("b")
    stubborn.end_join("", None, refused=(RefusedMember(Address("b"), kind, "both changed x"),))
    assert stubborn.outcome("b") == outcome
    assert stubborn.outcome() == ("passed", "")


@pytest.mark.parametrize(
    ("kind", "outcome"), [("conflict", ("conflict", "conflict")), ("failed", ("failed", "gates"))]
)
def test_a_refused_block_fails_like_a_refused_member(kind: Any, outcome: tuple[str, str]) -> None:
    inner = Step("g", block("seq", agent("c", touches=("c/**",))), has_worker=True)
    game = Game(
        flow(agent("a", touches=("a/**",)), inner, kind="par", block_keys={"parallel": 2, "rule": "any"})
    )
    game.end_with_change("a")
    game.end_with_change("g/c")
    game.end_join("", None, refused=(RefusedMember(Address("g"), kind),))
    assert game.outcome("g") == outcome


def test_a_batch_is_joined_when_it_is_full_or_no_member_can_follow() -> None:
    """X8: also if fewer members run in parallel than fit a batch."""
    names = ("a", "b", "c", "d")
    steps = tuple(agent(name, touches=(f"{name}/**",)) for name in names)
    game = Game(flow(*steps, kind="par", max_parallel=9, block_keys={"parallel": 4, "join": 2}))
    game.end_with_change("a")
    game.end_with_change("b")
    assert game.events(JoinAsked) == []
    game.end_with_change("c")
    assert [len(join.members) for join in game.events(JoinAsked)] == [2]
    game.end_join("", "abc")
    game.end_with_change("d")
    assert [len(join.members) for join in game.events(JoinAsked)] == [2, 1]
    game.end_join("", "abcd")
    assert game.outcome() == ("passed", "")
    narrow = Game(flow(*steps, kind="par", block_keys={"parallel": 2, "join": 3}))
    for name in ("a", "b", "c"):
        narrow.end_with_change(name)
    assert [len(join.members) for join in narrow.events(JoinAsked)] == [2]


def test_best_takes_the_highest_score_else_the_first_passed_member() -> None:
    """R106."""
    judged = gates((Step("q", _panel()),))
    members = tuple(agent(name, gates=judged) for name in ("one", "two"))
    game = Game(flow(Step("m", Members(members, "any", "best"))))
    game.end_with_change("m/one")
    game.end_with_change("m/two")
    game.give_verdict("m/one#1/q/j1", score=7)
    game.give_verdict("m/two#1/q/j1", score=9)
    assert game.at("m").ending.tree == "m/two#1"  # type: ignore[union-attr]  # it has ended
    plain = Game(flow(Step("m", Members((agent("one"), agent("two"), agent("three")), "any", "best"))))
    plain.end("m/one", "failed")
    plain.end_with_change("m/two")
    plain.end_with_change("m/three")
    assert plain.at("m").ending.tree == "m/two#1"  # type: ignore[union-attr]  # it has ended


def test_a_best_member_without_changes_passes_on_its_start_tree() -> None:
    """R106: on a later visit that is the tree of the previous visit, not the base of the list."""
    members = Members((agent("one"), agent("two")), "any", "best")
    game = Game(flow(Step("m", members, has_worker=True), command("t", on=on(failed=0))))
    game.end_with_change("m/one")
    game.end("m/two", tree=BASE)
    game.end("t", "failed")
    game.end("m~2/one", tree="m/one#1")
    game.end_with_change("m~2/two")
    assert game.at("m~2").ending.tree == "m/one#1"  # type: ignore[union-attr]  # it has ended


def test_a_blocked_graph_starts_its_next_visit_from_the_head() -> None:
    """X8: it was never opened, so it has no tree of its own."""
    inner = Step("g", block("dag", agent("x")), needs=(1,), has_worker=True, on=on(blocked=1))
    game = Game(flow(agent("a"), command("t", needs=(0,)), inner, kind="dag"))
    game.end_with_change("a")
    game.end("t", "failed")
    game.end("t~2")
    assert started(game, "g~2/x") == ("a#1", "a#1")


def _panel() -> Any:
    from tests.core.kit import review

    return review("q").verb


def test_a_graph_builds_on_the_joined_work_of_its_needs() -> None:
    a, b = agent("a", touches=("a/**",)), agent("b", touches=("b/**",))
    c = Step("c", agent("c").verb, needs=(0, 1), touches=("c/**",), has_worker=True)
    game = Game(flow(a, b, c, kind="dag"))
    game.end_with_change("a")
    game.end_with_change("b")
    assert game.events(JoinAsked)[0].path == "c"
    game.end_join("c", "ab")
    assert started(game, "c") == ("ab", "ab")
    game.end_with_change("c")
    assert game.at("").ending.tree == "c#1"  # type: ignore[union-attr]  # it has ended


def test_a_block_inside_a_graph_joins_its_needs_and_then_its_own_branches() -> None:
    """X8: these are two different joins."""
    inner = block("dag", agent("x", touches=("x/**",)), agent("y", touches=("y/**",)))
    g = Step("g", inner, needs=(0, 1), has_worker=True)
    game = Game(flow(agent("a", touches=("a/**",)), agent("b", touches=("b/**",)), g, kind="dag"))
    game.end_with_change("a")
    game.end_with_change("b")
    game.end_join("g", "ab")
    assert started(game, "g/x") == ("ab", "ab")
    game.end_with_change("g/x")
    game.end_with_change("g/y")
    assert [join.path for join in game.events(JoinAsked)] == ["g", "g"]
    game.end_join("g", "all")
    assert game.at("g").ending.tree == "all"  # type: ignore[union-attr]  # it has ended


def test_a_graph_with_conflicting_branches_ends_in_conflict() -> None:
    game = Game(flow(agent("a", touches=("a/**",)), agent("b", touches=("b/**",)), kind="dag"))
    game.end_with_change("a")
    game.end_with_change("b")
    game.end_join("", None, refused=(RefusedMember(Address(""), "conflict", "both"),))
    assert game.outcome() == ("conflict", "conflict")


def test_a_graph_with_one_branch_or_no_change_needs_no_join() -> None:
    game = Game(flow(agent("a"), command("b"), kind="dag"))
    game.end_with_change("a")
    game.end("b")
    assert game.events(JoinAsked) == []
    assert game.at("").ending.tree == "a#1"  # type: ignore[union-attr]  # it has ended
    still = Game(flow(command("a"), kind="dag"))
    still.end("a")
    assert still.at("").ending.tree is None  # type: ignore[union-attr]  # it has ended


def test_rounds_build_on_each_other_and_a_child_workflow_returns_its_tree() -> None:
    again = Step("r", Repeat(agent("r"), FALSE, "until", 2, "accept_best"), has_worker=True)
    child = Workflow("child", block("seq", agent("c")))
    game = Game(flow(again, Step("k", Call(child), has_worker=True), command("z")))
    game.end_with_change("r[1]")
    assert started(game, "r[2]") == ("r[1]#1", "r[1]#1")
    game.end_with_change("r[2]")
    game.end_with_change("k/c")
    assert started(game, "z")[0] == "k/c#1"


def test_a_run_without_a_tree_works() -> None:
    game = Game(flow(agent("a"), command("b")), tree=None)
    assert started(game, "a") == (None, None)
    game.end("a", tree=None)
    game.end("b")
    assert game.outcome() == ("passed", "")
    assert [event.base for event in game.events(StepEntered)] == [None, None]


def test_independent_items_of_a_graph_are_merged() -> None:
    """X8."""
    items = [{"k": "a", "n": []}, {"k": "b", "n": []}, {"k": "c", "n": ["a", "b"]}]
    body = agent("e", touches=(name_of("item.k"),))
    loop = ForEach(items, body, key=name_of("item.k"), needs=name_of("item.n"), parallel=3)
    game = Game(flow(Step("e", loop, has_worker=True)))
    game.end_with_change("e[1]")
    game.end_with_change("e[2]")
    assert [join.members for join in game.events(JoinAsked)] == [(("e[2]", "e[2]#1"),)]
    game.end_join("e", "ab")
    assert started(game, "e[3]") == ("ab", "ab")


def test_changes_made_by_a_gate_are_discarded() -> None:
    game = Game(flow(agent("a", gates=gates((command("t"),))), command("z")))
    game.end_with_change("a")
    game.end("a#1/t", tree="dirty")
    assert started(game, "z") == ("a#1", "a#1")


def test_members_waiting_for_a_join_are_dropped_with_their_scope() -> None:
    """P1."""
    names = ("a", "b", "c")
    steps = tuple(agent(name, touches=(f"{name}/**",)) for name in names)
    game = Game(flow(*steps, kind="par", block_keys={"parallel": 3}))
    game.end_with_change("a")
    game.end_with_change("b")
    assert len(game.state.joins) == 1
    game.send(Cancel("me"))
    game.end("c", "cancelled")
    assert game.state.ended is not None
    assert not game.state.joins
    assert not game.state.pending


def test_items_of_a_graph_start_from_the_head_of_the_loop() -> None:
    items = [{"k": "a", "n": []}, {"k": "b", "n": ["a"]}]
    loop = ForEach(items, agent("e"), key=name_of("item.k"), needs=name_of("item.n"), parallel=2)
    game = Game(flow(Step("e", loop, has_worker=True)))
    game.end_with_change("e[1]")
    assert started(game, "e[2]")[0] in ("e[1]#1", BASE)
    game.end_with_change("e[2]")
    while ("join", Address("e")) in game.state.pending:
        game.end_join("e", "both")
    assert game.outcome() == ("passed", "")
