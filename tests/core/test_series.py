"""A run that continues as a new one: which run that is, with which inputs, and when it may not (decision 165)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from podium.core.decide.series import name_of_next
from podium.core.events import RunEnded, StepEnded
from podium.core.expressions.nodes import Node
from podium.core.model import Block, Check, Command, Continue, Input, Step, Target, Workflow
from podium.core.payloads import RunFacts, Series
from podium.core.policy import Limits
from podium.core.state import State
from podium.simulate.random_world import RandomWorld
from podium.simulate.run import simulate
from podium.workflow.expressions.parser import parse_expression, parse_value
from tests.core.kit import Game, command, human
from tests.core.kit import flow as flow_of

RUN = RunFacts("20260101-120000-abcd", "flow")
ROW = {"id": "T1", "test": "t::a", "files": ["t.py"], "problem": "fails", "why": "new rule"}


def third(run: RunFacts = RUN) -> RunFacts:
    return replace(run, id=f"{run.id}-3", series=Series(run.id, 3, f"{run.id}-2", "0" * 64))


def flow(
    values: Mapping[str, str] | None = None,
    *,
    most: int | Node | None = None,
    outputs: bool = False,
    finally_: Step | None = None,
) -> Workflow:
    """A command, and the step that continues; what comes after it must never run."""
    pairs = tuple((name, parse_value(value)) for name, value in (values or {}).items())
    steps = (
        Step("work", Command(("true",))),
        Step("again", Continue(pairs, most), on={"passed": Target("end")}),
        Step("after", Command(("true",))),
    )
    block = Block("seq", steps, index={step.name: number for number, step in enumerate(steps)})
    inputs = (
        Input("count", "int", default=1, required=False),
        Input("kind", choices=("a", "b"), default="a", required=False),
    )
    named = (("all", parse_value("${{ steps.after.text }}")),) if outputs else ()
    return Workflow("flow", block, inputs=inputs, outputs=named, finally_=finally_)


class Calm(RandomWorld):
    """Everything that is asked of it succeeds."""

    def _draw(self, *_: Any) -> float:
        return 0.999


def run(
    workflow: Workflow, inputs: Mapping[str, Any] | None = None, facts: RunFacts = RUN
) -> tuple[State, RunEnded]:
    values = {"count": 1, "kind": "a", **(inputs or {})}
    done = simulate(workflow, Calm(0), inputs=values, facts=facts)
    assert done.state.ended is not None
    return done.state, done.state.ended


def ending(state: State, name: str) -> StepEnded | None:
    return next((i.ending for i in state.instances.values() if i.place.step.name == name), None)


def test_the_run_passes_and_names_the_one_that_continues_it() -> None:
    state, ended = run(flow({"count": "${{ inputs.count + 1 }}"}))

    assert (ended.status, ended.continued_by) == ("passed", f"{RUN.id}-2")
    again = ending(state, "again")
    assert again is not None
    assert again.result == {"output": {"count": 2, "kind": "a"}}
    assert ending(state, "after") is None


@pytest.mark.parametrize(
    ("facts", "name"),
    [
        (RUN, "20260101-120000-abcd-2"),
        (third(), "20260101-120000-abcd-4"),
        (replace(third(), id="20270101-120000-zzzz"), "20270101-120000-zzzz-4"),
    ],
)
def test_the_name_of_the_next_run_has_its_number(facts: RunFacts, name: str) -> None:
    """The last one is a run that was repeated after a failure, under a name of its own."""
    assert name_of_next(facts) == name


def test_outputs_are_those_of_the_last_run() -> None:
    """Here they would read a step that does not run."""
    _, ended = run(flow(outputs=True))

    assert (ended.status, ended.outputs) == ("passed", {})


def test_the_last_run_of_a_series_has_no_successor() -> None:
    state, ended = run(flow(most=3), facts=third())
    again = ending(state, "again")

    assert again is not None
    assert (again.outcome, again.reason) == ("failed", "exhausted")
    assert again.message == "this is run 3 of the series, and max is 3"
    assert (ended.status, ended.continued_by) == ("failed", "")


def test_the_greatest_number_of_runs_can_be_a_value() -> None:
    most = parse_expression("inputs.count")

    assert run(flow(most=most), {"count": 4}, third())[1].continued_by
    assert not run(flow(most=most), {"count": 3}, third())[1].continued_by


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"count": "${{ 'x' }}"}, 'input "count" of the next run must be int'),
        ({"kind": "${{ 'c' }}"}, 'input "kind" of the next run must be one of a, b'),
    ],
)
def test_inputs_are_checked_before_the_run_ends(values: dict[str, str], message: str) -> None:
    state, ended = run(flow(values))
    again = ending(state, "again")

    assert again is not None
    assert (again.outcome, again.reason, again.message) == ("error", "inputs", message)
    assert (ended.status, ended.continued_by) == ("failed", "")


def test_an_input_that_may_be_missing_is_not_checked_without_a_value() -> None:
    note = Input("note", required=False)
    workflow = flow()

    assert run(replace(workflow, inputs=(*workflow.inputs, note)))[1].continued_by
    assert not run(replace(workflow, inputs=(*workflow.inputs, replace(note, required=True))))[1].continued_by


def test_inputs_that_cannot_be_computed_are_an_error_of_the_step() -> None:
    state, ended = run(flow({"count": "${{ 1 / 0 }}"}))
    again = ending(state, "again")

    assert again is not None
    assert (again.outcome, again.reason) == ("error", "expression")
    assert (ended.status, ended.continued_by) == ("failed", "")


def test_a_run_whose_limit_ends_it_before_its_first_step_has_no_successor() -> None:
    _, ended = run(replace(flow(), limits=Limits(transitions=0)))

    assert (ended.status, ended.continued_by) == ("limited", "")


def test_a_run_with_disputed_tests_does_not_continue_because_the_next_would_not_know_of_them() -> None:
    game = Game(flow_of(command("t"), Step("again", Continue(), on={"passed": Target("end")})))
    game.end("t", result={"disputed": [ROW, {**ROW, "id": "T2"}]})

    again = ending(game.state, "again")
    assert again is not None
    assert (again.outcome, again.reason) == ("failed", "disputed_tests")
    assert again.message.endswith("a new run would not know of them: T1, T2")
    assert game.state.ended is not None
    assert (game.state.ended.status, game.state.ended.continued_by) == ("failed", "")


def test_a_run_continues_once_its_disputed_tests_are_accepted() -> None:
    again = Step("again", Continue(), on={"passed": Target("end")})
    game = Game(flow_of(command("t"), human("h"), again))
    game.end("t", result={"disputed": [ROW]})
    game.answer("h")

    assert game.state.ended is not None
    assert game.state.ended.continued_by == "r1-2"


def test_a_clean_up_that_fails_ends_the_series() -> None:
    """Otherwise the failure would go unnoticed: the next run passes."""
    broken = Check(parse_expression("1 == 2"))
    block = Block("seq", (Step("tidy", broken),), index={"tidy": 0})
    _, ended = run(flow(finally_=Step("finally", block)))

    assert (ended.status, ended.continued_by) == ("failed", "")


def test_clean_up_runs_at_the_end_of_each_run() -> None:
    block = Block("seq", (Step("tidy", Check(parse_expression("1 == 1"))),), index={"tidy": 0})
    state, ended = run(flow(finally_=Step("finally", block)))

    assert ending(state, "tidy") is not None
    assert ended.continued_by == f"{RUN.id}-2"
