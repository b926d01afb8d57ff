"""Panels: members that a value names when the step is entered, and items that read the items they need."""

from __future__ import annotations

from typing import Any

import pytest

from podium.core.expressions.nodes import Const
from podium.core.model import Agent, ForEach, Members, Panel, Review, Step, Workflow
from podium.core.policy import Limits, Retry
from podium.core.queries.names import InstanceNames
from podium.core.types import Address
from podium.simulate.forecast.best_case import best_case
from podium.simulate.forecast.case_analysis import Unbounded, calls
from podium.simulate.forecast.worst_case import worst_case
from podium.workflow.expressions.parser import parse_expression
from tests.core.kit import Game, agent, flow, judge, name_of, on

ONCE = Retry(transient=0, repair=0)
PATTERN = agent("member", retry=ONCE, touches=())


def panel(names: Any, *, key: Any = "agent", most: int | None = 3, **rest: Any) -> Step:
    limits = Limits() if most is None else Limits(members=most)
    return Step("p", Members((PATTERN,), "all", panel=Panel(names, key)), limits=limits, **rest)


def worker_at(game: Game, path: str) -> Agent:
    verb = game.at(path).place.step.verb
    assert isinstance(verb, Agent)
    return verb


def test_a_list_names_the_members_when_the_step_is_entered() -> None:
    game = Game(flow(panel(name_of("vars.team")), vars={"team": ["ann", "bob", "ann"]}))
    assert game.in_flight() == ["p/ann", "p/bob", "p/ann_2"]
    assert [worker_at(game, path).agent for path in game.in_flight()] == ["ann", "bob", "ann"]
    assert worker_at(game, "p/ann_2").member == "ann_2"
    for path in game.in_flight():
        game.end(path, result={"output": path})
    assert game.outcome() == ("passed", "")
    names = InstanceNames(game.state, game.at(""), inside=True)
    assert names.lookup("steps")["p"]["output"] == {"ann": "p/ann", "bob": "p/bob", "ann_2": "p/ann_2"}


def test_a_name_with_a_number_in_the_list_stays_unique() -> None:
    game = Game(flow(panel(["a", "a_2", "a"])))
    assert game.in_flight() == ["p/a", "p/a_2", "p/a_3"]


def test_a_panel_of_roles_has_a_role_for_each_member() -> None:
    game = Game(flow(panel(["tester", "writer"], key="role")))
    assert [worker_at(game, path).role for path in game.in_flight()] == [Const("tester"), Const("writer")]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "the list of members is empty"),
        (["a", "b", "c", "d"], "the list has 4 members, and limits.members is 3"),
        ("a", "agent needs a list of names"),
        (["a b"], "agent needs a list of names"),
        ([1], "agent needs a list of names"),
    ],
)
def test_a_list_that_cannot_be_a_panel_ends_the_step_as_an_error(names: Any, message: str) -> None:
    game = Game(flow(panel(names, on=on(error="next")), agent("after")))
    ending = game.at("p").ending
    assert ending is not None
    assert (ending.outcome, ending.reason) == ("error", "members")
    assert message in ending.message
    assert game.in_flight() == ["after"], "the error can be routed"


def test_a_list_that_cannot_be_computed_is_an_error() -> None:
    assert Game(flow(panel(name_of("vars.none")))).outcome("p") == ("error", "expression")


def test_the_limit_of_a_block_around_the_panel_counts_too() -> None:
    game = Game(flow(panel(["a", "b", "c"]), limits=Limits(members=2)))
    assert game.outcome("p") == ("error", "members")


def test_a_review_by_a_list_has_roles_and_agents() -> None:
    verb = Review((judge("member"),), ("a",), panel=Panel(["ann", "strict"], "agent", ("strict",)))
    game = Game(flow(agent("a"), Step("r", verb, touches=())))
    game.end("a")
    ann, strict = worker_at(game, "r/ann"), worker_at(game, "r/strict")
    assert (ann.role, ann.agent) == ("judge", "ann")
    assert (strict.role, strict.agent) == (Const("strict"), None)
    game.give_verdict("r/ann")
    game.give_verdict("r/strict", "reject")
    ending = game.at("r").ending
    assert ending is not None and ending.result is not None
    assert ending.outcome == "rejected"
    assert ending.result["verdict"]["by"] == ["ann", "strict"]


def most(workflow: Workflow) -> int:
    return worst_case(workflow, {}, calls).either[-1]


def test_the_forecast_counts_a_known_list_and_else_the_bound() -> None:
    limits = Limits(transitions=9)
    known = flow(panel(["a", "b"]), limits=limits)
    unknown = flow(panel(name_of("inputs.team")), limits=limits)
    assert (most(known), best_case(known, {}, calls)) == (2, 2)
    assert (most(unknown), best_case(unknown, {}, calls)) == (3, 1)
    assert most(flow(panel(["a"], most=None), limits=limits)) == 1
    with pytest.raises(Unbounded, match=r"limits\.members is disabled"):
        most(flow(panel(name_of("inputs.team"), most=None), limits=limits))


def test_the_best_case_of_a_race_counts_the_winners_only() -> None:
    members = tuple(agent(name, retry=ONCE) for name in "abc")
    assert best_case(flow(Step("m", Members(members, 2, cancels_rest=True))), {}, calls) == 2
    loop = ForEach((1, 2, 3), agent("e"), rule="any", cancels_rest=True)
    assert best_case(flow(Step("e", loop)), {}, calls) == 1


def test_an_item_reads_the_items_that_it_needs() -> None:
    items = ({"k": "a", "n": []}, {"k": "b", "n": ["a"]}, {"k": "c", "n": ["a", "b"]})
    body = agent("e", touches=())
    loop = ForEach(items, body, key=name_of("item.k"), needs=name_of("item.n"), parallel=3)
    game = Game(flow(Step("e", loop)))
    game.end("e[1]", result={"output": "first"})
    game.end("e[2]", result={"output": "second"})
    names = InstanceNames(game.state, game.at("e[3]"))
    needs = names.lookup("loop")["needs"]
    assert [(need["key"], need["output"]) for need in needs] == [("a", "first"), ("b", "second")]


def test_an_item_of_a_loop_without_needs_has_none_to_read() -> None:
    game = Game(flow(Step("e", ForEach((1,), agent("e")))))
    assert "needs" not in InstanceNames(game.state, game.at("e[1]")).lookup("loop")


def test_a_condition_of_an_item_may_read_what_it_needs() -> None:
    items = ({"k": "a", "n": []}, {"k": "b", "n": ["a"]})
    body = agent(
        "e", touches=(), when=parse_expression('len(loop.needs) == 0 or loop.needs[0].output == "go"')
    )
    loop = ForEach(items, body, key=name_of("item.k"), needs=name_of("item.n"), parallel=2)
    game = Game(flow(Step("e", loop)))
    game.end("e[1]", result={"output": "stop"})
    assert game.at(str(Address("e[2]"))).ending is not None
    assert game.outcome("e[2]") == ("skipped", "")


def test_members_that_see_each_other_take_turns() -> None:
    members = (agent("a", touches=()), agent("b", touches=()))
    game = Game(flow(Step("m", Members(members, in_turn=True))))
    assert game.in_flight() == ["m/a"]
    game.end("m/a")
    assert game.in_flight() == ["m/b"]
