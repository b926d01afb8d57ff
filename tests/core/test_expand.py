"""Opening a scope: the items of a loop with their keys and needs, the inputs of a child workflow, and errors in them."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from podium.core.events import StepExpanded
from podium.core.expressions.nodes import Compare, Const, Field, Name
from podium.core.model import Call, ForEach, Step, Workflow
from podium.core.policy import Limits
from podium.core.types import Address
from tests.core.kit import Game, block, command, flow, name_of
from tests.core.shapes import exists


def loop(items: Any, **rest: Any) -> Step:
    return Step("e", ForEach(items, command("e"), **rest))


def items(*pairs: tuple[str, list[str]]) -> list[dict[str, Any]]:
    return [{"k": key, "n": needs} for key, needs in pairs]


KEYED = {"key": Field(Name("item"), "k"), "needs": Field(Name("item"), "n")}


def test_items_are_filtered_keyed_and_ordered_by_needs() -> None:
    """R164."""
    where = Compare("!=", Field(Name("item"), "k"), Const("c"))
    game = Game(flow(loop(items(("b", ["a"]), ("a", []), ("c", [])), where=where, parallel=3, **KEYED)))
    (opened,) = [event for event in game.events(StepExpanded) if event.path == "e"]
    assert (opened.total, opened.keys, opened.needs) == (2, ("b", "a"), ((1,), ()))
    assert game.in_flight() == ["e[2]"]
    game.end("e[2]")
    assert game.in_flight() == ["e[1]"]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (loop(7), "for_each needs a list"),
        (loop(name_of("vars.none")), "has not been set"),
        (loop([1], where=Const(3)), "where must yield true or false"),
        (loop([1], key=Name("item")), "the key of an item must be text"),
        (loop(items(("a", []), ("a", [])), **KEYED), 'items 1 and 2 have the same key "a"'),
        (loop(["a", "b", "a"], key=Name("item")), 'items 1 and 3 have the same key "a"'),
        (loop(items(("a", [])), needs=KEYED["needs"]), "items with needs must have keys"),
        (loop(items(("a", ["x"])), **KEYED), "a needs x, which does not exist"),
        (loop([{"k": "a", "n": "b"}], **KEYED), "needs must yield a list of keys"),
        (loop(items(("a", ["b"]), ("b", ["a"])), **KEYED), "cycle: "),
    ],
)
def test_a_loop_that_cannot_be_opened_says_why(step: Step, message: str) -> None:
    """R164: the message lists the steps of a cycle."""
    game = Game(flow(step))
    assert game.outcome("e") == ("error", "expression")
    ending = game.at("e").ending
    assert ending is not None
    assert message in ending.message


def test_the_filter_of_a_loop_can_use_facts_about_files() -> None:
    game = Game(flow(loop(["a"], where=exists("README.md"))))
    game.report_fact("e", value=False)
    assert game.outcome() == ("passed", "")


def test_a_loop_with_more_items_than_the_limit_is_refused() -> None:
    """R130."""
    game = Game(flow(loop([1, 2, 3]), limits=Limits(members=2)))
    assert game.outcome("e") == ("failed", "limit")
    assert game.state.ended is not None
    assert game.state.ended.exit == 5


def test_a_child_workflow_whose_inputs_cannot_be_evaluated_ends_in_error() -> None:
    child = Workflow("child", block("seq", command("c")), vars=MappingProxyType({}))
    game = Game(flow(Step("k", Call(child, (("x", name_of("vars.none")),)))))
    assert game.outcome("k") == ("error", "expression")
    asks = Game(flow(Step("k", Call(child, (("x", exists("y")),)))))
    assert ("fact", Address("k")) in asks.state.pending
