"""Limits on money, tokens, calls, quota windows and working time, in a chain of ledgers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from podium.core.addresses import ROOT
from podium.core.events import AttemptStarted
from podium.core.ledger import shortfall, time_left, working_time
from podium.core.messages import RaiseLimit, Recover
from podium.core.model import Agent, Call, Members, Repeat, Step, Target
from podium.core.payloads import Amounts, TypicalUse
from podium.core.policy import Estimate, Limits
from podium.core.types import Address, MicroUsd, Millis
from tests.core.kit import Game, agent, block, command, flow, human, with_limits
from tests.core.outcome_table import always

DOLLAR = 1_000_000


def paid(name: str, usd: float = 1, tokens: int = 10) -> Step:
    return agent(name, touches=(), verb=Agent(estimate=Estimate(MicroUsd(int(usd * DOLLAR)), tokens)))


def test_a_call_waits_while_money_is_reserved_and_is_refused_when_it_is_spent() -> None:
    """P9."""
    game = Game(
        flow(
            paid("a", 3),
            paid("b", 3),
            kind="par",
            limits=Limits(usd=MicroUsd(4 * DOLLAR)),
            block_keys={"parallel": 2, "rule": "any"},
        )
    )
    assert game.in_flight() == ["a"]
    game.end("a", used=Amounts(MicroUsd(2 * DOLLAR)))
    assert game.outcome("b") == ("failed", "limit")
    assert game.at("b").ending.limit_hit == ROOT  # type: ignore[union-attr]  # it has ended
    assert game.state.ended is not None
    assert (game.state.ended.status, game.state.ended.exit) == ("limited", 5)


@pytest.mark.req("C18")
def test_the_reservation_of_a_call_without_a_price_stays_booked() -> None:
    """P9: an unknown cost is never zero."""
    game = Game(flow(paid("a", 3), paid("b", 3), limits=Limits(usd=MicroUsd(4 * DOLLAR))))
    game.end("a", cost_known=False)
    assert game.state.ledgers[ROOT].unknown.usd == 3 * DOLLAR
    assert game.outcome("b") == ("failed", "limit")


def test_with_count_tokens_a_call_without_a_price_counts_only_tokens() -> None:
    """X3"""
    limits = Limits(usd=MicroUsd(4 * DOLLAR), calls=2)
    steps = [paid(name, 3) for name in "abc"]
    game = Game(flow(*steps, limits=limits, unknown_cost="count_tokens"))
    game.end("a", cost_known=False, used=Amounts(calls=1))
    assert game.state.ledgers[ROOT].unknown.usd == 0
    game.end("b", cost_known=False, used=Amounts(calls=1))
    assert game.outcome("c") == ("failed", "limit")


def reserved_for(game: Game) -> AttemptStarted:
    """The reservation of the last attempt that was started."""
    starts: AttemptStarted = game.events(AttemptStarted)[-1]
    return starts


@pytest.mark.req("X2")
@pytest.mark.parametrize(
    ("estimate", "usual", "reserved"),
    [
        (Estimate(MicroUsd(3), 30, cap=MicroUsd(9)), TypicalUse("a", MicroUsd(5), 50), (9, 50)),
        (Estimate(MicroUsd(3), 30, cap=MicroUsd(9)), None, (9, 30)),
        (Estimate(MicroUsd(3), 30), TypicalUse("a", MicroUsd(5), 50), (5, 50)),
        (Estimate(MicroUsd(3), 30), TypicalUse("a", MicroUsd(0), None), (0, 30)),
        (Estimate(MicroUsd(3), 30), TypicalUse("a", None, 50), (3, 50)),
        (Estimate(MicroUsd(3), 30), TypicalUse("other", MicroUsd(5), 50), (3, 30)),
    ],
)
def test_the_reservation_is_the_cap_else_typical_use_else_the_estimate(
    estimate: Estimate, usual: TypicalUse | None, reserved: tuple[int, int]
) -> None:
    game = Game(
        flow(agent("a", touches=(), verb=Agent(estimate=estimate))),
        facts={"typical_use": () if usual is None else (usual,)},
    )

    assert reserved_for(game).reserve == Amounts(MicroUsd(reserved[0]), reserved[1], 1)


@pytest.mark.req("X2")
def test_typical_use_of_a_step_does_not_apply_to_a_step_of_the_same_name_elsewhere() -> None:
    one = agent("one", touches=(), verb=Agent(estimate=Estimate(MicroUsd(3), 30)))
    usual = (TypicalUse("a/one", MicroUsd(5), 50), TypicalUse("one", MicroUsd(7), 70))
    loop = Step("a", Repeat(Step("a", block("seq", one)), always(False), "until", 2, "accept_best"))
    game = Game(flow(loop, Step("b", block("seq", one))), facts={"typical_use": usual})

    assert reserved_for(game).reserve.usd == 5
    game.end("a[1]/one")
    assert (reserved_for(game).path, reserved_for(game).reserve.usd) == ("a[2]/one", 5)
    game.end("a[2]/one")
    assert (reserved_for(game).path, reserved_for(game).reserve.usd) == ("b/one", 3)


def test_a_fallback_agent_does_not_use_the_cap_or_history_of_the_first_agent() -> None:
    verb = Agent(agent="one", fallback=("two",), estimate=Estimate(MicroUsd(3), 30, cap=MicroUsd(9)))
    game = Game(
        flow(agent("a", touches=(), verb=verb)), facts={"typical_use": (TypicalUse("a", MicroUsd(5), 50),)}
    )
    game.end("a", "unavailable")

    assert reserved_for(game).agent == 1
    assert reserved_for(game).reserve == Amounts(MicroUsd(3), 30, 1)


def test_a_limit_of_an_inner_step_can_be_routed_by_its_block() -> None:
    inner = with_limits(Step("g", block("seq", paid("a"), paid("b"))), usd=MicroUsd(DOLLAR))
    game = Game(flow(inner, command("z")))
    game.end("g/a", used=Amounts(MicroUsd(DOLLAR)))
    assert game.outcome("g/b") == ("failed", "limit")
    assert game.outcome("g") == ("failed", "limit")
    assert game.at("g").ending.limit_hit is None  # type: ignore[union-attr]  # it has ended
    assert game.outcome() == ("failed", "limit")


@pytest.mark.req("C18")
def test_tokens_calls_and_the_quota_window_are_hard_limits() -> None:
    for limits, answer in (
        (Limits(tokens=15), {"used": Amounts(tokens=10)}),
        (Limits(calls=1), {"used": Amounts(calls=1)}),
        (Limits(window=50), {"window": 60}),
    ):
        game = Game(flow(paid("a"), paid("b"), limits=limits))
        game.end("a", **answer)
        assert game.outcome("b") == ("failed", "limit"), limits


@pytest.mark.req("C18")
def test_working_time_includes_attempts_and_not_waiting_for_people() -> None:
    game = Game(flow(command("a"), human("h"), command("b"), limits=Limits(time=Millis(3_000))))
    assert time_left(game.state, ROOT) == 3_000
    game.end("a")
    game.send(_yes("h"), at=900_000)
    ledger = game.state.ledgers[ROOT]
    assert working_time(ledger, game.state.at) == 1_000
    effect: Any = game.state.pending[("attempt", Address("b"))]
    assert effect.started.timeout == 2_000
    game.end("b")
    late = Game(flow(command("a"), command("b"), limits=Limits(time=Millis(1_000))))
    late.end("a")
    assert late.outcome("b") == ("failed", "limit")


def _yes(path: str) -> Any:
    from podium.core.messages import Approve

    return Approve(Address(path), "approve", "me")


@pytest.mark.req("R094")
def test_the_working_time_of_a_member_starts_with_its_own_attempt() -> None:
    members = tuple(agent(name, touches=(), timeout=Millis(60_000)) for name in "abc")
    game = Game(flow(Step("m", Members(members, join="discard"), has_worker=True), max_parallel=1))
    for number, member in enumerate("abc", 1):
        effect: Any = game.state.pending[("attempt", Address(f"m/{member}"))]
        assert effect.started.timeout == 60_000, "however long it has waited for its turn"
        game.now = Millis(number * 50_000)
        game.end(f"m/{member}")
    assert game.outcome("m") == ("passed", "")


def test_downtime_after_a_crash_is_not_counted_as_working_time() -> None:
    """R146."""
    game = Game(flow(command("a"), limits=Limits(time=Millis(10_000))))
    game.send(Recover(1), at=9_000_000)
    assert working_time(game.state.ledgers[ROOT], Millis(9_000_000)) < 2_000


def test_a_run_continues_after_its_limit_is_raised() -> None:
    game = Game(flow(paid("a"), paid("b"), limits=Limits(calls=1)))
    game.send(RaiseLimit(ROOT, "calls", 2, "me"))
    game.end("a", used=Amounts(calls=1))
    assert game.in_flight() == ["b"]
    assert shortfall(game.state, ROOT, Amounts(calls=1)) is not None


@pytest.mark.req("R130")
@pytest.mark.parametrize(("own", "ends"), [(False, ("failed", "limit")), (True, ("passed", ""))])
def test_a_timeout_does_not_hide_a_limit_that_was_hit_inside(own: bool, ends: tuple[str, str]) -> None:
    """The step's `on` applies only if the limit is its own."""
    inner = block("dag", paid("a"), paid("b"), command("c"))
    group = replace(
        Step("g", inner, timeout=Millis(60_000)), on={"timeout": Target("next"), "failed": Target("next")}
    )
    limits = Limits(calls=1)
    game = Game(flow(with_limits(group, calls=1)) if own else flow(group, limits=limits))
    game.end("g/a", used=Amounts(calls=1))
    assert game.at("g/b").ending is not None
    game.fire_timer("g", 61_000)
    game.end("g/c", "cancelled")

    assert game.outcome("g") == ("failed", "limit")
    assert game.outcome() == ends


def test_clean_up_has_its_own_time_and_calls_no_agent_after_a_limit() -> None:
    clean = Step("finally", block("seq", command("t"), paid("w")))
    game = Game(flow(paid("a"), paid("b"), finally_=clean, limits=Limits(usd=MicroUsd(DOLLAR))))
    game.end("a", used=Amounts(MicroUsd(DOLLAR)))
    game.end("finally/t")
    assert game.outcome("finally/w") == ("skipped", "limit")
    rich = Game(flow(paid("a"), finally_=clean, limits=Limits(usd=MicroUsd(5 * DOLLAR))))
    rich.end("a", used=Amounts(MicroUsd(DOLLAR)))
    assert rich.state.ledgers[Address("finally")].limits.usd == 4 * DOLLAR


def test_clean_up_can_use_what_is_left_of_the_runs_limits() -> None:
    """R130: otherwise a run could make more calls than its limit."""
    clean = Step("finally", block("seq", paid("v"), paid("w")))
    game = Game(flow(paid("a"), finally_=clean, limits=Limits(calls=2, tokens=30, members=7)))
    game.end("a", used=Amounts(tokens=10, calls=1))

    limits = game.state.ledgers[Address("finally")].limits
    assert (limits.calls, limits.tokens, limits.members, limits.usd) == (1, 20, 7, None)
    game.end("finally/v", used=Amounts(tokens=10, calls=1))
    assert game.outcome("finally/w") == ("skipped", "limit")


def test_after_a_limit_clean_up_does_not_call_even_a_free_agent() -> None:
    """R130"""
    clean = Step("finally", block("seq", paid("w", usd=0, tokens=0)))
    game = Game(flow(paid("a"), paid("b"), finally_=clean, limits=Limits(calls=1)))
    game.end("a", used=Amounts(calls=1))

    assert game.outcome("finally/w") == ("skipped", "limit")


@pytest.mark.req("X2", "R130")
def test_spending_in_the_clean_up_of_a_called_workflow_counts_for_its_caller() -> None:
    """Otherwise each called workflow could exceed the run's limit by what was left of it."""
    clean = Step("finally", block("seq", paid("w")))
    inner = Step("inner", Call(flow(command("t"), finally_=clean)))
    game = Game(flow(inner, paid("a"), limits=Limits(usd=MicroUsd(DOLLAR))))

    game.end("inner/t")
    game.end("inner/finally/w", used=Amounts(MicroUsd(DOLLAR), 0, 1))

    assert game.state.ledgers[Address("")].spent.usd == DOLLAR
    assert game.outcome("a") == ("failed", "limit")
