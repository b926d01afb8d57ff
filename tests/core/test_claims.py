"""Which files a parallel child claims, and how long (language.md 7, issue 16 C1), case by case."""

from __future__ import annotations

from typing import Any

import pytest

from podium.core.events import JoinAsked, StepEntered
from podium.core.expressions.nodes import Call as Ask
from podium.core.expressions.nodes import Const, Field, Name, Node
from podium.core.expressions.templates import Text
from podium.core.model import (
    Agent,
    Call,
    Command,
    ForEach,
    Input,
    Members,
    Repeat,
    Set,
    Step,
    Target,
    Workflow,
    Write,
)
from podium.core.payloads import RefusedMember
from podium.core.policy import Retry
from podium.core.queries.claims import MAX_ITEMS
from podium.core.types import Address, Tree
from tests.core.kit import BASE, Game, agent, block, check, command, flow, gates, judge, name_of, review

ALL = ("**",)


def file(node: Node) -> tuple[Text]:
    """The declaration of one file that an expression names."""
    return (Text(("f/", node)),)


def claim(child: Step, **inputs: Any) -> tuple[str, ...]:
    """What the first of two parallel children claims."""
    workflow = flow(child, command("z"), kind="par", block_keys={"parallel": 2})
    first: StepEntered = Game(workflow, inputs=inputs).events(StepEntered)[0]
    return first.claim


def called(*steps: Step, kind: Any = "seq", **block_keys: Any) -> Workflow:
    body = block(kind, *steps, **block_keys)
    return Workflow("inner", body, inputs=(Input("x"), Input("y", default="d")), vars={"v": "start"})


@pytest.mark.parametrize(
    ("child", "files"),
    [
        (agent("a", touches=("a", "b/**")), ("a", "b/**")),
        (agent("a", touches=()), ()),
        (agent("a", touches=None), ALL),
        (agent("a", touches=name_of("inputs.globs")), ("x", "y")),
        (agent("a", touches=name_of("inputs.one")), ("x",)),
        (agent("a", touches=(name_of("inputs.globs"), "z")), ("x", "y", "z")),
        (agent("a", touches=file(Ask("exists", (Const("p"),)))), ALL),
        (agent("a", touches=file(name_of("inputs.none"))), ALL),
        (judge("a"), ()),
        (command("a"), ()),
        (Step("a", Command(("make",)), touches=("gen/**",)), ("gen/**",)),
        (Step("a", Command(("make",)), touches=None), ()),
        (Step("a", Write({"a.py": "x"}), touches=("a.py",)), ("a.py",)),
        (review("a"), ()),
        (check("a", Const(value=True)), ()),
    ],
)
def test_a_step_claims_the_files_that_it_declares(child: Step, files: tuple[str, ...]) -> None:
    """X8, C35: what is undeclared or cannot be known beforehand is everything."""
    assert claim(child, globs=["x", "y"], one="x") == files


@pytest.mark.parametrize(
    ("inner", "files"),
    [
        ((agent("a", touches=("a",)), command("c"), agent("b", touches=("b", "a"))), ("a", "b")),
        ((agent("a", touches=("a",)), agent("b", touches=None)), ALL),
        ((agent("a", touches=file(name_of("inputs.one"))),), ("f/x",)),
        ((command("p"), agent("a", touches=file(Field(Field(Name("steps"), "p"), "outcome")))), ALL),
        (
            (command("p"), agent("a", touches=file(Ask("default", (name_of("steps.p.output"), Const("n")))))),
            ALL,
        ),
        ((agent("a", touches=file(name_of("steps.z.output"))),), ALL),
        ((agent("a", touches=file(name_of("vars.v"))),), ("f/0",)),
        ((Step("s", Set((("v", 7),)), touches=()), agent("a", touches=file(name_of("vars.v")))), ALL),
        (
            (agent("a", touches=file(name_of("with.w")), parameters=(("w", name_of("inputs.one")),)),),
            ("f/x",),
        ),
        ((agent("a", touches=file(Name("w")), parameters=(("w", "p"),)),), ("f/p",)),
        ((agent("a", touches=file(name_of("with.outer"))),), ("f/o",)),
        ((agent("a", touches=file(Name("feedback"))),), ALL),
        ((agent("a", touches=file(Ask("exists", (Const("p"),)))),), ALL),
        ((agent("a", touches=file(name_of("run.id"))),), ("f/r1",)),
    ],
)
def test_a_block_claims_the_files_of_all_its_steps(inner: tuple[Step, ...], files: tuple[str, ...]) -> None:
    """X8: a value that the block itself determines is not known before, so such a step claims everything."""
    child = Step("g", block("seq", *inner), has_worker=True, parameters=(("outer", "o"),))
    workflow = flow(child, command("z"), kind="par", block_keys={"parallel": 2}, vars={"v": 0})
    assert Game(workflow, inputs={"one": "x"}).events(StepEntered)[0].claim == files


@pytest.mark.parametrize(
    ("verb", "files"),
    [
        (
            Members((agent("m", verb=Agent(member="m"), touches=file(Name("member"))),), join="queue"),
            ("f/m",),
        ),
        (Members((agent("m"),), join="discard"), ()),
        (block("par", agent("a"), join="discard"), ()),
        (ForEach((1,), agent("a"), join="discard"), ()),
        (ForEach((1, 2), agent("a", touches=file(Name("item")))), ("f/1", "f/2")),
        (ForEach((1, 2), agent("a", touches=file(name_of("loop.index")))), ALL),
        (ForEach(name_of("steps.none.output"), agent("a", touches=file(Name("item")))), ALL),
        (ForEach(name_of("steps.none.output"), agent("a", touches=("a",))), ("a",)),
        (ForEach(tuple(range(MAX_ITEMS + 1)), agent("a", touches=file(Name("item")))), ALL),
        (Repeat(agent("a", touches=file(name_of("loop.index"))), Const(value=True), "until", 2), ALL),
        (Repeat(agent("a", touches=("a",)), Const(value=True), "until", 2), ("a",)),
        (Call(called(agent("a", touches=file(name_of("inputs.x")))), (("x", Name("p")),)), ("f/7",)),
        (Call(called(agent("a", touches=file(name_of("inputs.y"))))), ("f/d",)),
        (Call(called(agent("a", touches=file(name_of("vars.v"))))), ("f/start",)),
        (Call(called(agent("a", touches=file(name_of("vars.w"))))), ALL),
        (
            Call(
                called(Step("s", Set((("v", 1),)), touches=()), agent("a", touches=file(name_of("vars.v"))))
            ),
            ALL,
        ),
        (Call(called(agent("a", touches=file(Name("p"))))), ALL),
        (Call(called(agent("a", touches=file(name_of("run.id"))))), ("f/r1",)),
        (Call(called(agent("a", touches=file(Ask("exists", (Const("p"),)))))), ALL),
        (Call(called(agent("a"), kind="par", join="discard")), ()),
    ],
)
def test_a_loop_a_list_and_a_called_workflow_claim_what_is_in_them(verb: Any, files: tuple[str, ...]) -> None:
    """X8: what is discarded is not merged and needs no claim."""
    assert claim(Step("g", verb, has_worker=True, parameters=(("p", 7),))) == files


def test_a_claim_lasts_until_the_work_is_merged_and_the_next_starts_from_there() -> None:
    """X8: through gates, further attempts and the join."""
    one = agent("a", touches=("f",), gates=gates((command("t"),)), retry=Retry(attempts=2))
    steps = (agent("z", touches=("z",)), one, agent("b", touches=("f",)), agent("c", touches=("c",)))
    game = Game(flow(*steps, kind="par", max_parallel=9, block_keys={"parallel": 9}))
    assert game.in_flight() == ["z", "a", "c"], "c overtakes b"
    game.end_with_change("z")
    game.end_with_change("a")
    game.end("a#1/t", "failed")
    game.end_with_change("a")
    game.end("a#2/t")
    assert ("join", Address("")) in game.state.pending
    assert "b" not in game.in_flight()
    game.end_join("", "za")
    assert game.at("b").place.base == game.at("b").place.start == "za"
    assert game.at("c").place.base == "base"


@pytest.mark.parametrize("kind", ["failed", "cancelled"])
def test_a_child_that_brings_nothing_gives_its_files_free(kind: Any) -> None:
    steps = (agent("a", touches=("f",), retry=Retry()), agent("b", touches=("f",)))
    game = Game(flow(*steps, kind="par", block_keys={"parallel": 2, "rule": "any"}))
    game.end("a", kind)
    assert game.in_flight() == ["b"]
    assert game.at("b").place.base == "base"


def test_a_batch_does_not_wait_for_a_member_that_waits_for_its_files() -> None:
    """X8: otherwise neither could go on."""
    steps = (agent("z", touches=("z",)), agent("a", touches=("f",)), agent("b", touches=("f",)))
    game = Game(flow(*steps, kind="par", block_keys={"parallel": 3, "join": 3}))
    game.end_with_change("z")
    game.end_with_change("a")
    assert [len(join.members) for join in game.events(JoinAsked)] == [1]
    game.end_join("", "za")
    game.end_with_change("b")
    assert game.outcome() == ("passed", "")


def test_one_after_another_needs_no_claims() -> None:
    game = Game(flow(agent("a"), agent("b"), kind="par", block_keys={"parallel": 1}))
    assert [event.claim for event in game.events(StepEntered)] == [()]


def test_a_loop_that_is_left_early_does_not_count_the_items_that_waited() -> None:
    """The second item was overtaken by the third, which breaks the loop."""
    files = {0: "f", 1: "f", 2: "g"}
    touches = (Text(("", Field(Name("item"), "f"))),)
    body = Step(
        "b", block("seq", agent("a", touches=touches, on={"failed": Target("break")})), has_worker=True
    )
    items = tuple({"f": files[index]} for index in range(3))
    game = Game(flow(Step("e", ForEach(items, body, parallel=3, rule="any"), has_worker=True)))
    assert game.in_flight() == ["e[1]/a", "e[3]/a"]
    game.end("e[3]/a", "failed")
    game.end_with_change("e[1]/a")
    assert Address("e[2]") not in game.state.instances
    assert game.outcome("e") == ("passed", "")


def test_branches_of_a_graph_that_share_files_build_on_each_other() -> None:
    """X8: they are merged only at the end, where they would clash."""
    inner = block("dag", agent("x", touches=("f",)), agent("y", touches=("f",)), agent("z", touches=("g",)))
    game = Game(flow(Step("g", inner, has_worker=True), max_parallel=9))
    assert game.in_flight() == ["g/x", "g/z"]
    game.end_with_change("g/x")
    assert game.at("g/y").place.base == "g/x#1"
    assert game.at("g/y").place.after == (0,)
    game.end_with_change("g/z")
    game.end_with_change("g/y")
    assert [tree for _, tree in game.events(JoinAsked)[-1].members] == ["g/z#1"]
    assert game.events(JoinAsked)[-1].onto == "g/y#1"


def test_a_branch_gets_the_merged_work_of_its_needs_and_of_who_had_its_files() -> None:
    inner = block(
        "dag",
        agent("x", touches=("f",)),
        agent("y", touches=("g",)),
        agent("w", touches=("f",), needs=(1,)),
    )
    game = Game(flow(Step("g", inner, has_worker=True), max_parallel=9))
    game.end_with_change("g/y")
    assert Address("g/w") not in game.state.instances
    game.end_with_change("g/x")
    game.end_join("g/w", "yx")
    assert game.in_flight() == ["g/w"]
    game.end_with_change("g/w")
    assert game.at("g").ending.tree == "g/w#1"  # type: ignore[union-attr]  # it has ended


def test_work_that_two_branches_share_is_merged_once() -> None:
    """A branch that continues the work of its need would clash with one that only has it."""
    inner = block(
        "dag",
        agent("x", touches=("f",)),
        agent("y", touches=("f",), needs=(0,)),
        agent("z", touches=("g",), needs=(0,)),
        agent("v", touches=("h",)),
        agent("w", touches=("g",), needs=(2, 3)),
    )
    game = Game(flow(Step("g", inner, has_worker=True), max_parallel=9))
    for name in ("x", "v", "y", "z"):
        game.end_with_change(f"g/{name}")
    assert [path for path, _ in game.events(JoinAsked)[-1].members] == ["g/v"]
    game.end_join("g/w", "zv")
    game.end_with_change("g/w")
    join = game.events(JoinAsked)[-1]
    assert (join.path, join.onto) == ("g", "g/y#1")
    assert [path for path, _ in join.members] == ["g/z", "g/v", "g/w"]


def test_a_way_back_also_repeats_what_was_built_on_the_old_work() -> None:
    inner = block(
        "dag",
        agent("x", touches=("f",)),
        agent("y", touches=("f",)),
        agent("z", touches=("g",), needs=(0,), on={"failed": Target("step", 0)}, retry=Retry()),
    )
    game = Game(flow(Step("g", inner, has_worker=True), max_parallel=9))
    game.end_with_change("g/x")
    game.end_with_change("g/y")
    game.end("g/z", "failed")
    assert game.in_flight() == ["g/x~2"]
    game.end_with_change("g/x~2")
    assert sorted(game.in_flight()) == ["g/y~2", "g/z~2"]
    assert game.at("g/y~2").place.base == "g/x~2#1"


def test_a_refused_join_keeps_the_claim_for_the_next_attempt() -> None:
    steps = (
        agent("z", touches=("z",)),
        agent("a", touches=("f",), retry=Retry(attempts=2)),
        agent("b", touches=("f",)),
    )
    game = Game(flow(*steps, kind="par", block_keys={"parallel": 3}))
    game.end_with_change("z")
    game.end_with_change("a")
    game.end_join("", None, refused=(RefusedMember(Address("a"), "failed", "red"),))
    assert game.in_flight() == ["a"]
    game.end_with_change("a")
    assert game.in_flight() == ["b"]


def test_a_later_visit_again_builds_on_the_work_that_its_last_visit_built_on() -> None:
    """Else the merge of what needs both would be between two changes of the same file."""
    inner = block(
        "dag",
        agent("x", touches=("f",)),
        agent("y", touches=("f",)),
        agent("z", touches=("g",), needs=(0,), on={"failed": Target("step", 0)}, retry=Retry()),
    )
    game = Game(flow(Step("g", inner, has_worker=True), max_parallel=9))
    game.end("g/x", change=False, tree=BASE)
    game.end_with_change("g/y")
    for visit in ("", "~2"):
        game.end(f"g/z{visit}", "failed")
        again = game.in_flight()[0]
        assert game.at(again).place.after == (1,)
        assert game.at(again).place.base == "g/y#1"
        game.end_with_change(again)


def test_a_way_back_does_not_build_on_the_work_it_makes_stale() -> None:
    inner = block(
        "dag",
        agent("x", touches=("f",)),
        agent("y", touches=("f",), needs=(0,)),
        agent("z", touches=("g",), needs=(1,), on={"failed": Target("step", 0)}, retry=Retry()),
    )
    game = Game(flow(Step("g", inner, has_worker=True), max_parallel=9))
    game.end_with_change("g/x")
    game.end_with_change("g/y")
    game.end("g/z", "failed")
    assert game.at("g/x~2").place.after == ()
    assert (game.at("g/x~2").place.base, game.at("g/x~2").place.start) == (BASE, "g/x#1")


def test_a_way_back_waits_for_the_files_of_a_step_that_is_still_working() -> None:
    inner = block(
        "dag",
        agent("x", touches=("f",)),
        agent("y", touches=("f",)),
        agent("z", touches=("g",), needs=(0,), on={"failed": Target("step", 0)}, retry=Retry()),
    )
    game = Game(flow(Step("g", inner, has_worker=True), max_parallel=9))
    game.end("g/x", tree=BASE)
    assert game.in_flight() == ["g/y", "g/z"]
    game.end("g/z", "failed")
    assert game.in_flight() == ["g/y"]
    game.end_with_change("g/y")
    assert game.at("g/x~2").place.base == "g/y#1"


@pytest.mark.parametrize(
    ("needs_of_x", "x_changes", "base", "after", "merged"),
    [
        ((0,), False, BASE, (), ["g/y~2"]),
        ((0,), True, "g/x#1", (), ["g/y~2"]),
        ((), True, "g/x#1", (1,), []),
    ],
)
def test_an_accepted_visit_does_not_replace_newer_work_of_a_step_with_the_same_files(
    needs_of_x: tuple[int, ...], x_changes: bool, base: str, after: tuple[int, ...], merged: list[str]
) -> None:
    """X8: its old tree has that work in the old version, or not at all."""
    once = Retry(visits=1, on_exhausted="accept_best", stated=True)
    inner = block(
        "dag",
        agent("p", touches=("p",)),
        agent("x", touches=("f",), needs=needs_of_x),
        agent("y", touches=("f",), needs=(0,), retry=once),
        agent("z", touches=("g",), needs=(1, 2), on={"failed": Target("step", 0)}, retry=Retry()),
    )
    game = Game(flow(Step("g", inner, has_worker=True), max_parallel=9))
    game.end("g/p", tree=BASE)
    game.end("g/x", tree=Tree("g/x#1") if x_changes else BASE)
    game.end_with_change("g/y")
    game.end("g/z", "failed")
    game.end("g/p~2", tree=BASE)
    if needs_of_x:
        game.end_with_change("g/x~2")
    accepted = game.at("g/y~2")
    assert (accepted.place.adopt, accepted.place.base, accepted.place.after) == ("g/y", base, after)
    assert [path for join in game.events(JoinAsked) for path, _ in join.members] == merged
