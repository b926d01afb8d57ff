"""Settings that inputs decide: they get their values when their workflow is entered, and a wrong value starts nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from podium.core.events import ApprovalAsked, AttemptStarted, WaitStarted
from podium.core.evolve.evolve import initial
from podium.core.expressions.values import ExprError
from podium.core.handle import handle
from podium.core.messages import Refusal, Start
from podium.core.model import Call, Human, Input, Set, Step, Wait, Workflow
from podium.core.payloads import RunFacts
from podium.core.policy import Limits, Oversight
from podium.core.queries.computed import ComputedNames, ComputedNumber, Setting, Unit, entered, foreseen
from podium.core.step_settings import Prompt
from podium.core.types import Address, Millis
from podium.workflow.expressions.parser import parse_expression
from tests.core.kit import Game, agent, flow


def number(unit: Unit, text: str = "inputs.x", *, most: int | None = None, unknown: int | None = None) -> Any:
    return ComputedNumber(Setting("steps.a.key", unit, parse_expression(text), most, unknown))


def names(text: str = "inputs.x") -> Any:
    return ComputedNames(Setting("steps.a.by", "names", (parse_expression(text),)))


def one(step: Step, value: object = None, **more: Any) -> Workflow:
    return replace(flow(step, inputs=(Input("x"),), **more), has_computed=True)


@pytest.mark.parametrize(
    ("unit", "value", "number_"),
    [
        ("duration", "90s", 90_000),
        ("duration", 0, 0),
        ("usd", 2.5, 2_500_000),
        ("tokens", "2k", 2_000),
        ("tokens", 7, 7),
        ("share", "80%", 80),
        ("count", 3, 3),
        ("score", 10, 10),
    ],
)
def test_a_value_takes_the_place_of_its_setting(unit: Unit, value: object, number_: int) -> None:
    workflow = one(Step("a", Wait("timer"), timeout=number(unit)))

    assert entered(workflow, {"x": value}).body.steps[0].timeout == number_


@pytest.mark.parametrize(
    ("unit", "value"),
    [
        ("duration", "soon"),
        ("duration", -3),
        ("duration", True),
        ("duration", None),
        ("duration", "4000d"),
        ("usd", -1),
        ("usd", "2"),
        ("tokens", "many"),
        ("share", "101%"),
        ("share", 80),
        ("count", 0),
        ("count", 1.5),
        ("score", 11),
        ("score", True),
    ],
)
def test_a_wrong_value_is_an_error_with_the_setting_and_what_it_takes(unit: Unit, value: object) -> None:
    workflow = one(Step("a", Wait("timer"), timeout=number(unit)))

    with pytest.raises(ExprError, match=r"^steps\.a\.key is .*, but it must be "):
        entered(workflow, {"x": value})


@pytest.mark.parametrize(
    ("value", "people"), [("ann", ("ann",)), (["ann", "bob"], ("ann", "bob")), (("ann",), ("ann",))]
)
def test_names_may_be_one_or_a_list(value: object, people: tuple[str, ...]) -> None:
    step = Step("a", Human(Prompt("ok"), Oversight(level="human", by=names())))
    game = Game(one(step), inputs={"x": value})

    assert [event.by for event in game.log if isinstance(event, ApprovalAsked)] == [people]


@pytest.mark.parametrize("value", ["", [], [1], None, 3])
def test_an_empty_list_of_people_is_an_error_because_it_would_mean_everyone(value: object) -> None:
    with pytest.raises(ExprError, match="a name or a list of names"):
        entered(one(Step("a", Human(Prompt("ok"), Oversight(by=names())))), {"x": value})


def test_at_most_bounds_the_value_and_takes_its_place_in_a_forecast() -> None:
    limits = Limits(calls=number("count", most=5, unknown=5), time=number("duration", "inputs.y"))
    workflow = one(agent("a"), limits=limits)

    assert entered(workflow, {"x": 9, "y": "1m"}).limits == Limits(calls=5, time=Millis(60_000))
    assert entered(workflow, {"x": 2, "y": "1m"}).limits.calls == 2
    assert foreseen(workflow, {"y": "1m"}).limits == Limits(calls=5, time=Millis(60_000))
    assert foreseen(workflow, {"x": 2}).limits == Limits(calls=2)


def test_a_run_is_not_started_with_a_wrong_value() -> None:
    game = Game(one(Step("a", Wait("timer", timer=number("duration")))), inputs={"x": "90s"})
    [waiting] = [event for event in game.log if isinstance(event, WaitStarted)]
    assert waiting.due == waiting.at + 90_000

    answer = handle(
        initial(one(Step("a", Wait("timer", timer=number("duration"))))),
        Start(RunFacts("r", "w"), {"x": "soon"}, {}, None, no_human=False),
        Millis(0),
    )
    assert answer == Refusal(
        "inputs", 'steps.a.key is "soon", but it must be a duration such as 90s, 5m or 1h30m'
    )


def test_variables_that_a_step_sets_or_that_are_computed_cannot_be_read() -> None:
    steps = (
        Step("m", Set((("moving", "2m"),))),
        Step("a", Wait("timer"), timeout=number("duration", "vars.moving")),
    )
    moving = replace(flow(*steps, vars={"moving": "1m"}), has_computed=True)
    still = replace(flow(steps[1], vars={"moving": "1m"}), has_computed=True)

    assert entered(still, {}).body.steps[0].timeout == 60_000
    with pytest.raises(ExprError, match="reads moving, which is not an input"):
        entered(moving, {})


def test_a_setting_that_cannot_be_computed_is_an_error_with_its_name() -> None:
    workflow = one(Step("a", Wait("timer"), timeout=number("count", "1 / inputs.x")))

    with pytest.raises(ExprError, match=r"^steps\.a\.key: .*zero"):
        entered(workflow, {"x": 0})


def test_what_holds_the_place_of_a_number_equals_only_that_of_the_same_setting() -> None:
    """As a number it is 1, but a limit of 1 is another one."""
    same, other = number("count"), number("count", "inputs.y")

    assert Limits(calls=number("count")) == Limits(calls=same)
    assert number("count") == same
    assert len({number("count"), same, other}) == 2
    assert same != other
    assert same != 1
    assert Limits(calls=same) != Limits(calls=1)


def called(value: Any, inner: Workflow, **more: Any) -> Game:
    return Game(replace(flow(Step("call", Call(inner, (("x", value),)), **more)), has_computed=True))


def test_a_called_workflow_gets_its_limits_when_its_inputs_are_known() -> None:
    inner = one(agent("a", touches=()), limits=Limits(calls=number("count")))
    game = called(2, inner)

    assert [event.path for event in game.log if isinstance(event, AttemptStarted)] == ["call/a"]
    assert game.state.ledgers[Address("call")].limits == Limits(calls=2)


def test_the_limits_of_the_calling_step_count_instead_of_those_of_the_called_workflow() -> None:
    inner = one(agent("a", touches=()), limits=Limits(calls=number("count")))
    game = called(2, inner, limits=Limits(calls=1))

    assert game.state.ledgers[Address("call")].limits == Limits(calls=1)


def test_a_call_with_a_wrong_value_is_an_error_and_nothing_in_it_starts() -> None:
    game = called("many", one(agent("a", touches=()), limits=Limits(calls=number("count"))))

    assert game.outcome("call") == ("error", "expression")
    assert not [event for event in game.log if isinstance(event, AttemptStarted)]


@pytest.mark.parametrize(("values", "limit"), [({"x": 3}, 3), ({"x": "wrong"}, None), ({}, None)])
def test_a_forecast_uses_what_it_knows_of_a_call(values: Mapping[str, Any], limit: int | None) -> None:
    inner = one(agent("a"), limits=Limits(calls=number("count")))
    outer = replace(
        flow(Step("call", Call(inner, (("x", parse_expression("inputs.x")),))), inputs=(Input("x"),)),
        has_computed=True,
    )

    verb = foreseen(outer, values).body.steps[0].verb

    assert isinstance(verb, Call)
    assert verb.workflow.limits == Limits(calls=limit)


def test_what_has_no_computed_setting_stays_the_same_object() -> None:
    plain, changing = Step("p", Wait("timer")), Step("a", Wait("timer"), timeout=number("duration"))
    workflow = replace(flow(plain, changing), has_computed=True)

    assert entered(workflow, {"x": "1m"}).body.steps[0] is plain
    assert entered(replace(workflow, has_computed=False), {}).body.steps[1] is changing
