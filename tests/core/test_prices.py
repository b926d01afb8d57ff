"""Agents that report no price, in runs with a limit on money."""

from __future__ import annotations

from typing import Any

import pytest

from podium.core.addresses import ROOT
from podium.core.events import AttemptStarted, StepEntered
from podium.core.evolve.evolve import fold
from podium.core.messages import Cancel
from podium.core.model import Agent, Step
from podium.core.payloads import Amounts
from podium.core.policy import Estimate, Limits
from podium.core.types import MicroUsd
from tests.core.kit import Game, agent, block, flow, with_limits

DOLLAR = 1_000_000
LIMITS = Limits(usd=MicroUsd(9 * DOLLAR))
UNKNOWN: dict[str, Any] = {"cost_known": False, "used": Amounts(calls=1)}


def call(name: str, who: str | None = "mine", *, usd: int = DOLLAR, **verb: Any) -> Step:
    return agent(name, touches=(), verb=Agent(agent=who, estimate=Estimate(MicroUsd(usd), 10), **verb))


def told(who: str) -> dict[str, Any]:
    return {**UNKNOWN, "result": {"agent": who}}


@pytest.mark.req("X3", "C19")
def test_a_person_is_asked_once_before_the_next_call_of_an_agent_without_a_price() -> None:
    game = Game(flow(call("a"), call("b"), call("c"), limits=LIMITS))
    game.end("a", **told("mine"))

    assert (game.open_questions(), game.in_flight()) == (["b#0/!price:mine"], [])
    game.answer("b#0/!price:mine", "proceed")
    game.end("b", **told("mine"))
    game.end("c", **told("mine"))

    assert game.outcome() == ("passed", "")
    assert game.state.ledgers[ROOT].unknown.usd == 3 * DOLLAR
    assert fold(flow(call("a"), call("b"), call("c"), limits=LIMITS), game.log).waived_rules == (
        "price:mine",
    )


def test_a_refusal_to_continue_ends_the_step_and_keeps_earlier_work() -> None:
    game = Game(flow(call("a"), call("b"), limits=LIMITS))
    game.end("a", **told("mine"))
    game.answer("b#0/!price:mine", "halt")

    assert game.outcome("a") == ("passed", "")
    assert game.outcome("b") == ("error", "halted")
    assert game.state.ended is not None
    assert (game.state.ended.status, game.state.ended.exit) == ("rejected", 4)


@pytest.mark.parametrize(
    ("first", "second", "asked"),
    [
        ("mine", "mine", True),
        ("mine", "other", False),
        ("mine", None, True),
        ("mine", "auto", True),
        (None, "mine", True),
    ],
)
def test_only_a_call_that_may_use_that_agent_is_asked_about(
    first: str | None, second: str | None, asked: bool
) -> None:
    """If no agent is named, the attempt chooses one, which is too late to ask."""
    game = Game(flow(call("a", first), call("b", second), limits=LIMITS))
    game.end("a", **told("mine"))

    assert game.open_questions() == (["b#0/!price:mine"] if asked else [])


def test_an_agent_without_a_name_is_identified_by_its_step() -> None:
    game = Game(flow(call("a", None), call("b", None), limits=LIMITS))
    game.end("a", **UNKNOWN)

    assert game.open_questions() == ["b#0/!price:a"]


def test_a_fallback_agent_is_asked_about_separately() -> None:
    game = Game(flow(call("a", "spare"), call("b", "mine", fallback=("spare",)), limits=LIMITS))
    game.end("a", **told("spare"))
    assert game.in_flight() == ["b"]
    game.end("b", "unavailable")

    assert game.open_questions() == ["b#1/!price:spare"]


@pytest.mark.parametrize(
    ("rest", "usd"),
    [
        ({"limits": Limits(tokens=10_000)}, DOLLAR),
        ({"limits": LIMITS, "unknown_cost": "count_tokens"}, DOLLAR),
        ({"limits": LIMITS, "unknown_cost": "refuse"}, DOLLAR),
        ({"limits": LIMITS}, 0),
    ],
)
def test_no_question_without_a_money_limit_or_if_the_file_decides(rest: dict[str, Any], usd: int) -> None:
    game = Game(flow(call("a", usd=usd), call("b", usd=usd), **rest))
    game.end("a", **told("mine"))

    assert game.in_flight() == ["b"]


def test_a_limit_of_an_enclosing_step_is_enough_to_ask() -> None:
    inner = with_limits(Step("g", block("seq", call("a"), call("b"))), usd=MicroUsd(9 * DOLLAR))
    game = Game(flow(inner))
    game.end("g/a", **told("mine"))

    assert game.open_questions() == ["g/b#0/!price:mine"]


@pytest.mark.parametrize("kind", ["timeout", "transient", "error", "failed", "malformed"])
def test_a_call_without_an_answer_does_not_mark_its_agent_as_unpriced(kind: str) -> None:
    game = Game(flow(call("a"), call("b"), limits=LIMITS))
    game.end("a", kind, **UNKNOWN)

    assert game.state.unpriced == ()


def test_with_no_human_the_call_is_not_made() -> None:
    game = Game(flow(call("a"), call("b"), limits=LIMITS), no_human=True)
    game.end("a", **told("mine"))

    assert game.outcome("b") == ("error", "no_human")
    ending = game.at("b").ending
    assert ending is not None and "the run may not ask a person" in ending.message


@pytest.mark.parametrize("accepts", [("mine",), ("*",)])
def test_an_agent_accepted_before_the_run_is_not_asked_about(accepts: tuple[str, ...]) -> None:
    game = Game(flow(call("a"), call("b"), limits=LIMITS), facts={"unpriced": ("mine",), "accepts": accepts})
    game.end("a", **told("mine"))

    assert game.in_flight() == ["b"]


def test_an_agent_known_to_have_no_price_is_asked_about_before_its_first_call() -> None:
    steps = (call("a", "other"), call("b", None), call("c"))
    game = Game(flow(*steps, limits=LIMITS), facts={"unpriced": ("mine",)})
    game.end("a")
    game.end("b")

    assert game.open_questions() == ["c#0/!price:mine"]


def test_several_calls_of_one_agent_wait_for_one_answer_while_others_continue() -> None:
    steps = (call("a"), call("b"), call("c", "other"))
    game = Game(
        flow(*steps, kind="par", limits=LIMITS, block_keys={"parallel": 3}), facts={"unpriced": ("mine",)}
    )

    assert (game.open_questions(), game.in_flight()) == (["a#0/!price:mine"], ["c"])
    game.answer("a#0/!price:mine", "proceed")
    assert sorted(game.in_flight()) == ["a", "b", "c"]
    assert [event.path for event in game.events(StepEntered) if event.role == "question"] == [
        "a#0/!price:mine"
    ]


def test_a_price_question_counts_as_a_transition() -> None:
    limits = Limits(usd=LIMITS.usd, transitions=2)
    game = Game(flow(call("a"), call("b"), limits=limits))
    game.end("a", **told("mine"))

    assert game.outcome("b") == ("failed", "limit")


def test_a_cancelled_run_does_not_wait_for_the_answer() -> None:
    game = Game(flow(call("a"), call("b"), limits=LIMITS))
    game.end("a", **told("mine"))
    game.send(Cancel("ann"))

    assert game.state.ended is not None
    assert game.state.ended.status == "cancelled"
    assert len(game.events(AttemptStarted)) == 1
