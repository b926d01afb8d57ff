"""The values of names in an expression, and the fields of `steps.X` (language.md 10 and 11)."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from podium.core.addresses import ROOT
from podium.core.expressions.nodes import Call as Function
from podium.core.expressions.nodes import Compare, Const, MissingValue, NeedFact, Node
from podium.core.model import Agent, Call, ForEach, Input, Members, Repeat, Step, Workflow
from podium.core.payloads import Amounts
from podium.core.queries.names import InstanceNames, LazyMap
from podium.core.queries.step_results import Fields, fields_of, work_of
from podium.core.types import MicroUsd
from tests.core.kit import (
    FALSE,
    TRUE,
    Game,
    agent,
    block,
    check,
    command,
    flow,
    gates,
    human,
    name_of,
    review,
    sets,
)


def here(game: Game, path: str, inner: str | None = None) -> InstanceNames:
    return InstanceNames(game.state, game.at(path), inner=None if inner is None else game.at(inner))


def look(game: Game, path: str, text: str) -> Any:
    """The value of a dotted name at an address."""
    first, *rest = text.split(".")
    value = here(game, path).lookup(first)
    for part in rest:
        value = value[part]
    return value


def test_the_values_a_run_was_started_with_can_be_read() -> None:
    """R151."""
    game = Game(flow(command("a"), vars={"x": 1}), inputs={"task": "t"}, env={"HOME": "/h"})
    assert look(game, "a", "inputs.task") == "t"
    assert look(game, "a", "env.HOME") == "/h"
    assert look(game, "a", "vars.x") == 1
    assert list(here(game, "a").lookup("vars")) == ["x"]
    assert look(game, "a", "run.id") == "r1"
    assert look(game, "a", "run.usd") == 0
    assert look(game, "a", "run.branch") == "main"
    with pytest.raises(MissingValue, match="has not been set"):
        look(game, "a", "vars.y")
    with pytest.raises(MissingValue, match="loop is only available inside a loop"):
        look(game, "a", "loop")
    with pytest.raises(MissingValue, match="item is not defined"):
        look(game, "a", "item")
    with pytest.raises(KeyError):
        look(game, "a", "run.outcome")


def test_only_valid_results_of_the_own_and_enclosing_blocks_can_be_read() -> None:
    """P13."""
    inner = Step("g", block("seq", command("b"), command("c")))
    game = Game(flow(command("a"), inner, command("d")))
    game.end("a", result={"text": "hello", "output": 7, "notes": "n"})
    game.end("g/b")
    assert look(game, "g/c", "steps.a.output") == 7
    assert look(game, "g/c", "steps.b.outcome") == "passed"
    with pytest.raises(MissingValue, match=r"steps\.d has no valid result"):
        look(game, "g/c", "steps.d")
    fields = look(game, "g/c", "steps.a")
    assert (fields["visit"], fields["attempts"], fields["usd"], fields["degraded"]) == (1, 1, 0, False)
    assert (fields["reason"], fields["duration"], fields["notes"]) == ("", 1.0, "n")
    assert set(fields) >= {"outcome", "text", "output", "usd"}
    assert len(fields) == len(list(fields))
    assert len(here(game, "g/c").lookup("steps")) == 0
    with pytest.raises(MissingValue, match="a has no colour"):
        _ = fields["colour"]


def test_a_running_step_has_fields() -> None:
    game = Game(flow(agent("a", gates=gates((command("t"),)))))
    game.end("a", result={"output": 3}, used=Amounts(MicroUsd(2_000_000)))
    work = look(game, "a#1/t", "work")
    assert (work["outcome"], work["reason"], work["degraded"]) == ("", "", False)
    assert (work["output"], work["usd"], work["duration"]) == (3, 2.0, 1.0)
    assert look(game, "a#1/t", "change")["files"] == 0
    running = Game(flow(command("a")))
    assert dict(fields_of(running.state, running.at("a")))["outcome"] == ""


@pytest.mark.req("C29")
def test_reviews_can_read_what_the_command_gates_measured() -> None:
    tested = gates((command("t"), command("u"), check("c", TRUE)), (human("h"),))
    game = Game(flow(agent("a", gates=tested), review("r", "a")))
    game.end("a", change={"files": 3})
    game.end("a#1/t", result={"coverage": 91.5, "tests": {"total": 4}})
    assert "coverage" not in look(game, "a#1/u", "change"), "commands run at once"
    game.end("a#1/u", result={"coverage": 85.0})

    assert look(game, "a#1/h", "change") == {"files": 3, "coverage": 85.0, "tests": {"total": 4}}
    game.answer("a#1/h")
    assert look(game, "r/j1", "change")["coverage"] == 85.0


@pytest.mark.req("C29")
def test_change_holds_what_the_engine_measured() -> None:
    change = {"files": 3, "paths": ["a"]}
    game = Game(flow(agent("a", gates=gates((command("t"),))), review("r", "a")))
    game.end("a", change=change)
    assert look(game, "a#1/t", "change.files") == 3
    game.end("a#1/t")
    assert look(game, "r/j1", "change.files") == 3
    assert look(game, "r/j1", "work.outcome") == "passed"


def test_work_is_only_available_in_gates_and_reviews() -> None:
    game = Game(flow(command("a")))
    with pytest.raises(MissingValue, match="only available in gates and reviews"):
        look(game, "a", "work")
    with pytest.raises(MissingValue, match="step x has no valid result"):
        work_of(game.state, game.at("a"), "x")


def test_stale_work_is_not_judged() -> None:
    game = Game(flow(agent("a"), agent("b"), review("r", "b")))
    game.end_with_change("a")
    game.end_with_change("b")
    visit = game.state.latest[(ROOT, 0)]
    stale = game.state._replace(latest=game.state.latest.set((ROOT, 0), visit._replace(fresh=False)))

    assert work_of(game.state, game.at("r/j1"), "a").place.path == "a"
    with pytest.raises(MissingValue, match="step a has no valid result"):
        work_of(stale, game.at("r/j1"), "a")


def test_a_review_finds_the_judged_step_in_enclosing_blocks() -> None:
    game = Game(flow(agent("a"), Step("g", block("seq", review("r", "a")))))
    game.end_with_change("a")
    assert look(game, "g/r/j1", "work.outcome") == "passed"
    ahead = Game(flow(Step("g", block("seq", review("r", "later"))), agent("later")))
    with pytest.raises(MissingValue, match="step later has no valid result"):
        look(ahead, "g/r/j1", "work")


def test_loop_and_item_are_available_also_for_outer_loops() -> None:
    inner = Step("in", ForEach((5, 6), command("in"), name="n"))
    body = Step("out", block("seq", inner))
    game = Game(flow(Step("out", ForEach(("x", "y"), body))))
    place = "out[1]/in[1]"
    game.end(place)
    place = "out[1]/in[2]"
    assert look(game, place, "n") == 6
    assert look(game, place, "item") == "x"
    assert look(game, place, "loop.number") == 2
    assert look(game, place, "loop.index") == 1
    assert look(game, place, "loop.total") == 2
    assert look(game, place, "loop.elapsed") == 1.0
    assert look(game, place, "loop.outer.number") == 1


def test_a_question_about_a_loop_is_not_an_iteration() -> None:
    game = Game(flow(Step("r", Repeat(command("r"), FALSE, "until", 1, "human"))))
    game.end("r[1]")
    with pytest.raises(MissingValue, match="loop is only available inside a loop"):
        look(game, "r#1/!exhausted", "loop")
    in_rounds = Game(flow(Step("r", Repeat(command("r"), FALSE, "until", 1))))
    with pytest.raises(MissingValue, match="item is not defined"):
        look(in_rounds, "r[1]", "item")


def test_parameters_are_evaluated_at_the_step_that_sets_them() -> None:
    block_ = Step("g", block("seq", command("a")), parameters=(("tone", name_of("inputs.x")),))
    game = Game(flow(block_), inputs={"x": "calm"})
    assert look(game, "g/a", "with.tone") == "calm"
    assert list(here(game, "g/a").lookup("with")) == ["tone"]
    assert look(game, "g/a", "tone") == "calm"
    with pytest.raises(MissingValue, match="pace is not defined"):
        look(game, "g/a", "pace")
    with pytest.raises(MissingValue, match=r"with\.colour does not exist"):
        look(game, "g/a", "with.colour")


def test_member_is_the_name_of_the_agent_and_feedback_is_a_list_of_addresses() -> None:
    one = replace(agent("one"), verb=Agent(member="one"))
    game = Game(flow(Step("m", Members((one,)))))
    assert look(game, "m/one", "member") == "one"
    assert look(game, "m/one", "feedback") == []


def test_a_child_workflow_sees_its_inputs_and_not_the_variables_of_its_caller() -> None:
    """Variables are not shared between a child workflow and its caller."""
    child = Workflow(
        "child",
        block("seq", sets("s", a=99), command("c")),
        inputs=(Input("x", "int", 5, required=False), Input("y", "int", 6, required=False)),
        vars=MappingProxyType({"a": 0}),
        outputs=(("o", name_of("vars.a")), ("end", name_of("run.outcome"))),
    )
    call = Step("k", Call(child, (("x", name_of("vars.a")),)))
    game = Game(flow(sets("s0", a=1), call, command("z"), vars={"a": 0, "b": 2}))
    assert look(game, "k/c", "inputs") == {"x": 1, "y": 6}
    assert look(game, "k/c", "vars.a") == 99
    with pytest.raises(MissingValue):
        look(game, "k/c", "vars.b")
    with pytest.raises(MissingValue):
        look(game, "k/c", "steps.s0")
    game.end("k/c")
    assert look(game, "z", "vars.a") == 1
    assert look(game, "z", "steps.k.output") == {"o": 99, "end": "passed"}


def test_a_variable_set_in_a_parallel_branch_is_local_to_it() -> None:
    """P7."""
    branch = Step(
        "p", block("par", Step("l", block("seq", sets("s", a=5), command("c"))), command("d"), parallel=2)
    )
    game = Game(flow(branch, command("z"), vars={"a": 0}))
    assert look(game, "p/l/c", "vars.a") == 5
    assert look(game, "p/d", "vars.a") == 0
    game.end("p/l/c")
    game.end("p/d")
    assert look(game, "z", "vars.a") == 0


def test_finally_can_read_the_outcome_of_the_run() -> None:
    clean = Step("finally", block("seq", command("t")))
    for answer, expected in (("ok", ("passed", "")), ("failed", ("failed", "contract"))):
        game = Game(flow(command("a"), finally_=clean))
        game.end("a", answer, reason="" if answer == "ok" else "contract")
        run = here(game, "finally/t").lookup("run")
        assert (run["outcome"], run["reason"]) == expected
    from podium.core.messages import Cancel

    game = Game(flow(command("a"), finally_=clean))
    game.send(Cancel("me"))
    game.end("a", "cancelled")
    assert look(game, "finally/t", "run.outcome") == "cancelled"
    empty = Game(flow(finally_=clean))
    assert look(empty, "finally/t", "run.outcome") == "passed"


def test_a_fact_can_be_read_after_it_was_reported() -> None:
    game = Game(flow(replace(command("a"), when=Function("exists", (Const("x"),)))))
    with pytest.raises(NeedFact):
        here(game, "a").fact(("exists", "x"))
    game.report_fact("a", value=True)
    assert here(game, "a").fact(("exists", "x")) is True


def test_the_output_of_a_block_comes_from_its_steps() -> None:
    """For a sequence it is that of the last step with an output, for a parallel block a map by name."""
    wide = Step("p", block("par", command("one"), command("two"), parallel=2, rule="any"))
    narrow = Step("s", block("seq", command("x"), check("c", TRUE)))
    game = Game(flow(narrow, wide, command("z")))
    game.end("s/x", result={"output": 1})
    game.end("p/one", result={"output": 2, "text": "t", "files": ["f"]})
    game.end("p/two", "failed", reason="contract")
    assert look(game, "z", "steps.s.output") == 1
    assert look(game, "z", "steps.s.steps.x.output") == 1
    assert look(game, "z", "steps.s.attempts") == 1
    assert look(game, "z", "steps.p.output") == {"one": 2}
    assert look(game, "z", "steps.p.members") == [{"name": "one", "output": 2, "text": "t", "files": ["f"]}]
    assert look(game, "z", "steps.p.missing") == [{"name": "two", "outcome": "failed", "reason": "contract"}]
    with pytest.raises(MissingValue, match="p has no iterations"):
        look(game, "z", "steps.p.iterations")


def test_a_block_without_any_output_has_none() -> None:
    game = Game(flow(Step("s", block("seq", check("c", TRUE))), command("z")))
    assert look(game, "z", "steps.s.output") is None


def test_a_loop_has_its_iterations_as_fields() -> None:
    each = Step(
        "e",
        ForEach(
            ({"k": "a"}, {"k": "b"}), Step("e", block("seq", command("x"))), key=name_of("item.k"), rule="any"
        ),
    )
    again = Step("r", Repeat(command("r"), TRUE, "until", 2))
    game = Game(flow(each, again, command("z")))
    game.end("e[1]/x", result={"output": 1})
    game.end("e[2]/x", "failed")
    game.end("r[1]", result={"output": 9})
    assert look(game, "z", "steps.e.output") == [1]
    assert look(game, "z", "steps.e.missing") == [{"name": "b", "outcome": "failed", "reason": "failed"}]
    first, second = look(game, "z", "steps.e.iterations")
    assert (first["index"], first["key"], first["outcome"], first["output"]) == (0, "a", "passed", 1)
    assert first["item"] == {"k": "a"}
    assert first["steps"]["x"]["output"] == 1
    assert second["outcome"] == "failed"
    assert look(game, "z", "steps.r.output") == 9
    assert look(game, "z", "steps.r.iterations")[0]["key"] == "1"
    assert look(game, "z", "steps.r.iterations")[0]["steps"] == {}
    with pytest.raises(MissingValue):
        look(game, "z", "steps.r.members")


def test_a_loop_that_never_ran_has_no_output() -> None:
    game = Game(flow(Step("r", Repeat(command("r"), FALSE, "while", 2)), command("z")))
    assert look(game, "z", "steps.r.output") is None


def test_panels_and_member_lists_have_their_members_as_fields() -> None:
    team = Step("m", Members((agent("one"), agent("two")), join="discard"))
    game = Game(flow(team, review("q", "m"), command("z")))
    game.end("m/one", result={"output": 1})
    game.end("m/two", result={"output": 2})
    game.give_verdict("q/j1")
    assert look(game, "z", "steps.m.output") == {"one": 1, "two": 2}
    assert look(game, "z", "steps.q.verdict.decision") == "passed"
    assert look(game, "z", "steps.q.verdict.score") == 8
    assert [member["name"] for member in look(game, "z", "steps.q.members")] == ["j1"]


def test_the_test_of_a_loop_can_read_the_newest_round() -> None:
    test = Compare("==", name_of("steps.x.output"), Const(2))
    body = Step("r", block("seq", command("x")))
    game = Game(flow(Step("r", Repeat(body, test, "until", 5))))
    game.end("r[1]/x", result={"output": 1})
    game.end("r[2]/x", result={"output": 2})
    assert game.outcome() == ("passed", "")
    alone = Game(
        flow(Step("r", Repeat(command("r"), Compare("==", name_of("steps.r.output"), Const(1)), "until", 5)))
    )
    alone.end("r[1]", result={"output": 1})
    assert alone.outcome() == ("passed", "")
    number: Node = Compare(">=", name_of("loop.number"), Const(2))
    counted = Game(flow(Step("r", Repeat(command("r"), number, "until", 5))))
    counted.end("r[1]")
    counted.end("r[2]")
    assert counted.outcome() == ("passed", "")


def test_the_test_of_a_loop_can_read_loop_before_the_first_round() -> None:
    few: Node = Compare("<", name_of("loop.number"), Const(2))
    loop = Step("r", Repeat(command("r"), few, "while", 5))
    alone = Game(flow(loop))
    alone.end("r[1]")
    alone.end("r[2]")
    assert alone.outcome() == ("passed", "")

    within = Game(flow(Step("o", ForEach((0, 0, 0), loop, parallel=1))))
    for item in (1, 2, 3):
        within.end(f"o[{item}][1]")
        within.end(f"o[{item}][2]")
    assert within.outcome() == ("passed", "")

    outer: Node = Compare("<", name_of("loop.outer.number"), Const(2))
    beside = Game(flow(Step("o", ForEach((0, 0), Step("r", Repeat(command("r"), outer, "while", 1))))))
    beside.end("o[1][1]")
    assert beside.outcome("o[2]") == ("passed", "")


def test_a_lazy_map_is_a_mapping() -> None:
    lazy = LazyMap(lambda key: key.upper(), lambda: ("a", "b"))
    assert dict(lazy) == {"a": "A", "b": "B"}
    assert len(lazy) == 2


def test_a_members_missing_output_is_null() -> None:
    game = Game(flow(Step("p", block("par", human("h"))), command("z")))
    game.answer("p/h")
    assert look(game, "z", "steps.p.output") == {"h": None}
    assert isinstance(fields_of(game.state, game.at("p")), Fields)


@pytest.mark.parametrize(
    "verb",
    [
        ForEach([1], command("s")),
        Repeat(command("s"), TRUE, "until", 2),
        block("seq", command("a")),
        block("par", command("a")),
        Members((agent("a"),)),
        Call(flow(command("a"))),
    ],
)
def test_a_skipped_step_has_no_output_whatever_its_verb(verb: Any) -> None:
    game = Game(flow(Step("s", verb, when=FALSE), command("z")))
    assert game.outcome("s") == ("skipped", "")
    with pytest.raises(MissingValue, match="s has no output"):
        look(game, "z", "steps.s.output")


def test_a_loop_without_items_has_an_empty_output() -> None:
    game = Game(flow(Step("s", ForEach([], command("s"))), command("z")))
    assert look(game, "z", "steps.s.output") == []
