"""Joins: members that only have to end, needs that may fail, and the first that pass stop the others."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from podium.core.decide.pass_rules import rule_of
from podium.core.events import CancelOrdered, JoinAsked, StepEnded
from podium.core.ledger import cancelled_attempt
from podium.core.model import ForEach, Members, Set, Step
from podium.core.payloads import Amounts
from podium.core.policy import Limits, Retry
from podium.core.types import Address, Tree
from tests.core.bias import Bias
from tests.core.driver import drive
from tests.core.kit import BASE, Game, agent, block, flow, on
from tests.core.oracles_races import check_races
from tests.core.run_log import RunLog
from tests.core.strategies import Case, cases

ONCE = Retry(transient=0, repair=0)


def ending(game: Game, path: str) -> StepEnded:
    ended = game.state.instances[Address(path)].ending
    assert ended is not None
    return ended


def outcome(game: Game, path: str) -> str:
    return ending(game, path).outcome


def worker(name: str, **rest: Any) -> Step:
    return agent(name, retry=ONCE, touches=(f"{name}/**",), **rest)


def race(rule: Any = 1, join: Any = "queue", *names: str) -> Game:
    steps = (worker(name) for name in names or ("a", "b", "c"))
    return Game(flow(Step("r", block("par", *steps, parallel=3, rule=rule, join=join, cancels_rest=True))))


def test_members_of_done_only_have_to_end() -> None:
    game = Game(flow(Step("p", block("par", worker("a"), worker("b"), parallel=2, rule="done"))))
    game.end("p/a", "failed")
    assert game.state.ended is None
    game.end("p/b", tree=Tree("b"))
    assert (outcome(game, "p"), ending(game, "p").tree) == ("passed", "b")


def test_a_graph_of_done_passes_with_the_work_of_those_that_passed() -> None:
    inner = block("dag", worker("a"), worker("b"), worker("c", needs=(1,)), rule="done")
    game = Game(flow(Step("g", inner)))
    game.end("g/a", tree=Tree("a"))
    game.end("g/b", "failed")
    assert outcome(game, "g/c") == "blocked"
    assert (outcome(game, "g"), ending(game, "g").tree) == ("passed", "a")


def test_a_graph_with_too_few_passed_steps_fails() -> None:
    game = Game(flow(Step("g", block("dag", worker("a"), worker("b"), worker("c"), rule=2))))
    game.end("g/a", "failed")
    game.end("g/b", "failed")
    game.end("g/c")
    assert outcome(game, "g") == "failed"


@pytest.mark.parametrize(
    ("rule", "first", "second", "c", "graph"),
    [
        ("any", "failed", "ok", "open", ""),
        ("any", "failed", "failed", "blocked", "failed"),
        ("any", "ok", "ok", "open", ""),
        ("done", "failed", "failed", "open", ""),
        ("all", "failed", "ok", "blocked", "failed"),
    ],
)
def test_needs_decide_by_their_rule_when_the_last_of_them_has_ended(
    rule: Any, first: Any, second: Any, c: str, graph: str
) -> None:
    game = Game(flow(worker("a"), worker("b"), worker("c", needs=(0, 1), needs_rule=rule), kind="dag"))
    game.end("a", first)
    assert Address("c") not in game.state.instances
    game.end("b", second)
    if c == "open":
        if first == second == "ok":
            game.end_join("c")
        assert game.in_flight() == ["c"]
        game.end("c")
        assert outcome(game, "") == "passed"
    else:
        assert (outcome(game, "c"), outcome(game, "")) == (c, graph)


@pytest.mark.parametrize("routes", [{}, {"blocked": "next"}])
def test_a_failure_counts_if_one_of_the_steps_that_need_it_needs_it_to_pass(routes: dict[str, str]) -> None:
    last = worker("c", needs=(0,), on=on(**routes))
    steps = (worker("a"), worker("b", needs=(0,), needs_rule="done"), last)
    game = Game(flow(*steps, kind="dag"))
    game.end("a", "failed")
    assert game.in_flight() == ["b"]
    game.end("b")
    assert (outcome(game, "c"), outcome(game, "")) == ("blocked", "failed")


def test_a_step_after_failed_needs_builds_on_the_work_of_the_others() -> None:
    steps = (worker("a"), worker("b"), worker("c", needs=(0, 1), needs_rule="any"))
    game = Game(flow(*steps, kind="dag"))
    game.end("a", tree=Tree("a"))
    game.end("b", "failed")
    assert game.state.instances[Address("c")].base == "a"


def test_needs_are_judged_again_after_a_jump_back() -> None:
    steps = (
        worker("a"),
        worker("b", needs=(0,), on=on(failed=0)),
        worker("c", needs=(0, 1), needs_rule="any"),
    )
    game = Game(flow(*steps, kind="dag"))
    game.end("a")
    game.end("b", "failed")
    assert game.in_flight() == ["a~2"]
    game.end("a~2")
    game.end("b~2")
    assert game.in_flight() == ["c"]


def test_a_step_that_is_sent_back_to_keeps_its_rule() -> None:
    steps = (
        worker("a"),
        worker("b", needs=(0,), needs_rule="done"),
        worker("c", needs=(1,), on=on(failed=1)),
    )
    game = Game(flow(*steps, kind="dag"))
    game.end("a", "failed")
    game.end("b")
    game.end("c", "failed")
    assert game.in_flight() == ["b~2"]


def test_a_limit_is_never_allowed_for() -> None:
    inner = Step("a", block("seq", worker("x"), worker("y")), limits=Limits(calls=9))
    steps = (inner, worker("b", needs=(0,), needs_rule="done"))
    game = Game(flow(*steps, kind="dag", limits=Limits(calls=1, transitions=20)))
    game.end("a/x", used=Amounts(calls=1))
    assert (outcome(game, "b"), outcome(game, "")) == ("blocked", "failed")


def test_the_first_that_passes_stops_the_others() -> None:
    game = race()
    game.end("r/b", tree=Tree("b"))
    stopped = [event.path for event in game.log if isinstance(event, CancelOrdered)]
    assert stopped == ["r/a", "r/c"]
    assert game.state.ended is None, "they are still running"
    game.end("r/a", "cancelled")
    game.end("r/c", "cancelled")
    assert (outcome(game, "r"), ending(game, "r").tree) == ("passed", "b")
    assert "enough of the other members have passed" in ending(game, "r/a").message


def test_a_failure_stops_no_one() -> None:
    game = race()
    game.end("r/a", "failed")
    assert game.in_flight() == ["r/b", "r/c"]
    game.end("r/b", "failed")
    game.end("r/c", "failed")
    assert outcome(game, "r") == "failed"


def test_what_a_stopped_member_used_is_booked() -> None:
    game = race()
    game.end("r/b")
    asked = game.state.pending[("attempt", Address("r/a"))]
    lost = cancelled_attempt(asked.started, game.now)  # type: ignore[union-attr]  # a cancelled attempt
    game.send(lost)
    assert not lost.cost_known
    book = game.state.ledgers[Address("")]
    assert (book.spent.calls, book.unknown_calls) == (1, 1)


def test_members_that_have_not_begun_are_not_entered() -> None:
    loop = Step("e", ForEach((1, 2, 3), agent("e", retry=ONCE), rule=1, cancels_rest=True))
    game = Game(flow(loop))
    game.end("e[1]", "failed")
    game.end("e[2]")
    assert outcome(game, "e") == "passed"
    assert Address("e[3]") not in game.state.instances


def test_a_member_that_waits_to_be_merged_is_stopped_too() -> None:
    game = race("any", "queue", "a", "b", "c")
    game.end("r/a", tree=Tree("a"))
    game.end("r/b", "cancelled")
    game.end("r/c", "cancelled")
    assert ending(game, "r").tree == "a"


def two_to_merge(join: Any) -> Game:
    """Two members whose work waits to be merged, beside work that is on the head already."""
    game = race(2, join)
    game.end("r/a", tree=Tree("a"))
    game.end("r/b", tree=Tree("b"))
    return game


def test_only_as_many_members_are_merged_as_are_needed() -> None:
    game = two_to_merge("queue")
    [asked] = [event for event in game.log if isinstance(event, JoinAsked)]
    assert [path for path, _ in asked.members] == ["r/b"]
    game.end("r/c", tree=Tree("c"))
    game.end_join("r", "ab")
    assert (outcome(game, "r/b"), outcome(game, "r/c")) == ("passed", "cancelled")
    assert ending(game, "r").tree == "ab"


def test_a_batch_is_cut_to_what_is_needed() -> None:
    game = two_to_merge(3)
    game.end("r/c", tree=Tree("c"))
    [asked] = [event for event in game.log if isinstance(event, JoinAsked)]
    assert [path for path, _ in asked.members] == ["r/b"]


def test_work_that_is_being_merged_is_kept() -> None:
    game = two_to_merge("queue")
    game.end("r/c", tree=BASE)  # It changed nothing, so it passes at once.
    assert outcome(game, "r/c") == "passed"
    assert Address("r/b") not in {event.path for event in game.log if isinstance(event, CancelOrdered)}
    game.end_join("r", "ab")
    assert (outcome(game, "r/b"), ending(game, "r").tree) == ("passed", "ab")


def test_a_block_among_the_members_is_stopped_with_all_that_is_in_it() -> None:
    inner = Step("s", block("seq", worker("x"), worker("y")))
    members = block("par", worker("a"), inner, parallel=2, rule="any", cancels_rest=True)
    game = Game(flow(Step("r", members)))
    game.end("r/a")
    game.end("r/s/x", "cancelled")
    assert (outcome(game, "r/s"), outcome(game, "r")) == ("cancelled", "passed")
    assert "enough" in ending(game, "r/s").message


def test_members_with_the_same_task_race() -> None:
    game = Game(flow(Step("m", Members((worker("a"), worker("b")), "any", "discard", cancels_rest=True))))
    game.end("m/b")
    game.end("m/a", "cancelled")
    assert outcome(game, "m") == "passed"


RACES = Bias(scopes=0.7, scope_kinds=("block", "members", "for_each"), wide_top=0.8, routes=0.1)


@given(cases(RACES))
def test_in_random_workflows_only_winners_stop_others(case: Case) -> None:
    check_races(RunLog(case.workflow, drive(case.workflow, case.world()).log))


def test_the_one_child_of_any_other_scope_has_to_pass() -> None:
    assert rule_of(Set(())) == "all"
