"""Money, tokens, calls, windows and working time, over the whole chain of ledgers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from podium.core.addresses import ROOT
from podium.core.events import AttemptStarted
from podium.core.ledger import poor_in, time_left, working_time
from podium.core.messages import RaiseLimit, Recover
from podium.core.model import Agent, Call, Members, Repeat, Step, Target
from podium.core.payloads import Amounts, TypicalUse
from podium.core.policy import Estimate, Limits
from podium.core.types import MicroUsd, Millis, Path
from tests.core.kit import Game, agent, block, command, flow, human, with_limits
from tests.core.outcome_table import always

DOLLAR = 1_000_000


def paid(name: str, usd: float = 1, tokens: int = 10) -> Step:
    return agent(name, touches=(), verb=Agent(estimate=Estimate(MicroUsd(int(usd * DOLLAR)), tokens)))


def test_what_does_not_fit_waits_while_money_is_held_and_is_refused_after() -> None:
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
    assert game.flying() == ["a"]
    game.done("a", used=Amounts(MicroUsd(2 * DOLLAR)))
    assert game.outcome("b") == ("failed", "limit")
    assert game.at("b").ending.hard == ROOT  # type: ignore[union-attr]  # it has ended
    assert game.state.ended is not None
    assert (game.state.ended.status, game.state.ended.exit) == ("limited", 5)


@pytest.mark.req("C18")
def test_a_price_nobody_told_stays_booked() -> None:
    """P9: unknown is never zero."""
    game = Game(flow(paid("a", 3), paid("b", 3), limits=Limits(usd=MicroUsd(4 * DOLLAR))))
    game.done("a", cost_known=False)
    assert game.state.ledgers[ROOT].unknown.usd == 3 * DOLLAR
    assert game.outcome("b") == ("failed", "limit")


def test_where_tokens_are_counted_a_price_nobody_told_binds_nothing_but_them() -> None:
    """X3"""
    limits = Limits(usd=MicroUsd(4 * DOLLAR), calls=2)
    steps = [paid(name, 3) for name in "abc"]
    game = Game(flow(*steps, limits=limits, unknown_cost="count_tokens"))
    game.done("a", cost_known=False, used=Amounts(calls=1))
    assert game.state.ledgers[ROOT].unknown.usd == 0
    game.done("b", cost_known=False, used=Amounts(calls=1))
    assert game.outcome("c") == ("failed", "limit")


def reserved_for(game: Game) -> AttemptStarted:
    """What was asked for last."""
    found: AttemptStarted = game.events(AttemptStarted)[-1]
    return found


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
def test_a_cap_is_reserved_else_what_is_usual_else_what_is_declared(
    estimate: Estimate, usual: TypicalUse | None, reserved: tuple[int, int]
) -> None:
    game = Game(
        flow(agent("a", touches=(), verb=Agent(estimate=estimate))),
        facts={"usual": () if usual is None else (usual,)},
    )

    assert reserved_for(game).reserve == Amounts(MicroUsd(reserved[0]), reserved[1], 1)


@pytest.mark.req("X2")
def test_what_is_usual_for_a_step_says_nothing_about_its_namesake_in_another_block() -> None:
    one = agent("one", touches=(), verb=Agent(estimate=Estimate(MicroUsd(3), 30)))
    usual = (TypicalUse("a/one", MicroUsd(5), 50), TypicalUse("one", MicroUsd(7), 70))
    loop = Step("a", Repeat(Step("a", block("seq", one)), always(False), "until", 2, "accept_best"))
    game = Game(flow(loop, Step("b", block("seq", one))), facts={"usual": usual})

    assert reserved_for(game).reserve.usd == 5
    game.done("a[1]/one")
    assert (reserved_for(game).path, reserved_for(game).reserve.usd) == ("a[2]/one", 5)
    game.done("a[2]/one")
    assert (reserved_for(game).path, reserved_for(game).reserve.usd) == ("b/one", 3)


def test_for_another_agent_neither_the_cap_nor_the_history_of_the_first_is_reserved() -> None:
    verb = Agent(agent="one", fallback=("two",), estimate=Estimate(MicroUsd(3), 30, cap=MicroUsd(9)))
    game = Game(flow(agent("a", touches=(), verb=verb)), facts={"usual": (TypicalUse("a", MicroUsd(5), 50),)})
    game.done("a", "unavailable")

    assert reserved_for(game).agent == 1
    assert reserved_for(game).reserve == Amounts(MicroUsd(3), 30, 1)


def test_a_limit_of_an_inner_step_can_be_routed_outside_it() -> None:
    inner = with_limits(Step("g", block("seq", paid("a"), paid("b"))), usd=MicroUsd(DOLLAR))
    game = Game(flow(inner, command("z")))
    game.done("g/a", used=Amounts(MicroUsd(DOLLAR)))
    assert game.outcome("g/b") == ("failed", "limit")
    assert game.outcome("g") == ("failed", "limit")
    assert game.at("g").ending.hard is None  # type: ignore[union-attr]  # it has ended
    assert game.outcome() == ("failed", "limit")


@pytest.mark.req("C18")
def test_tokens_calls_and_the_window_are_ceilings_too() -> None:
    for limits, answer in (
        (Limits(tokens=15), {"used": Amounts(tokens=10)}),
        (Limits(calls=1), {"used": Amounts(calls=1)}),
        (Limits(window=50), {"window": 60}),
    ):
        game = Game(flow(paid("a"), paid("b"), limits=limits))
        game.done("a", **answer)
        assert game.outcome("b") == ("failed", "limit"), limits


@pytest.mark.req("C18")
def test_working_time_counts_attempts_and_not_people() -> None:
    game = Game(flow(command("a"), human("h"), command("b"), limits=Limits(time=Millis(3_000))))
    assert time_left(game.state, ROOT) == 3_000
    game.done("a")
    game.say(_yes("h"), at=900_000)
    ledger = game.state.ledgers[ROOT]
    assert working_time(ledger, game.state.at) == 1_000
    effect: Any = game.state.pending[("attempt", Path("b"))]
    assert effect.asked.timeout == 2_000
    game.done("b")
    late = Game(flow(command("a"), command("b"), limits=Limits(time=Millis(1_000))))
    late.done("a")
    assert late.outcome("b") == ("failed", "limit")


def _yes(path: str) -> Any:
    from podium.core.messages import Approve

    return Approve(Path(path), "approve", "me")


@pytest.mark.req("R094")
def test_the_time_of_a_member_counts_from_its_own_start() -> None:
    members = tuple(agent(name, touches=(), timeout=Millis(60_000)) for name in "abc")
    game = Game(flow(Step("m", Members(members, join="discard"), has_worker=True), max_parallel=1))
    for number, member in enumerate("abc", 1):
        effect: Any = game.state.pending[("attempt", Path(f"m/{member}"))]
        assert effect.asked.timeout == 60_000, "however long it has waited for its turn"
        game.now = Millis(number * 50_000)
        game.done(f"m/{member}")
    assert game.outcome("m") == ("passed", "")


def test_the_time_between_a_crash_and_the_recovery_is_nobodys_work() -> None:
    """R146."""
    game = Game(flow(command("a"), limits=Limits(time=Millis(10_000))))
    game.say(Recover(1), at=9_000_000)
    assert working_time(game.state.ledgers[ROOT], Millis(9_000_000)) < 2_000


def test_a_raised_limit_lets_the_run_go_on() -> None:
    game = Game(flow(paid("a"), paid("b"), limits=Limits(calls=1)))
    game.say(RaiseLimit(ROOT, "calls", 2, "me"))
    game.done("a", used=Amounts(calls=1))
    assert game.flying() == ["b"]
    assert poor_in(game.state, ROOT, Amounts(calls=1)) is not None


@pytest.mark.req("R130")
@pytest.mark.parametrize(("own", "ends"), [(False, ("failed", "limit")), (True, ("passed", ""))])
def test_running_out_of_time_is_no_way_around_a_limit_that_was_met_inside(
    own: bool, ends: tuple[str, str]
) -> None:
    """Only where the limit is the step's own is its `on` asked."""
    inner = block("dag", paid("a"), paid("b"), command("c"))
    group = replace(
        Step("g", inner, timeout=Millis(60_000)), on={"timeout": Target("next"), "failed": Target("next")}
    )
    limits = Limits(calls=1)
    game = Game(flow(with_limits(group, calls=1)) if own else flow(group, limits=limits))
    game.done("g/a", used=Amounts(calls=1))
    assert game.at("g/b").ending is not None
    game.fire("g", 61_000)
    game.done("g/c", "cancelled")

    assert game.outcome("g") == ("failed", "limit")
    assert game.outcome() == ends


def test_clean_up_has_an_allowance_and_no_agent_once_a_limit_was_hit() -> None:
    clean = Step("finally", block("seq", command("t"), paid("w")))
    game = Game(flow(paid("a"), paid("b"), finally_=clean, limits=Limits(usd=MicroUsd(DOLLAR))))
    game.done("a", used=Amounts(MicroUsd(DOLLAR)))
    game.done("finally/t")
    assert game.outcome("finally/w") == ("skipped", "limit")
    rich = Game(flow(paid("a"), finally_=clean, limits=Limits(usd=MicroUsd(5 * DOLLAR))))
    rich.done("a", used=Amounts(MicroUsd(DOLLAR)))
    assert rich.state.ledgers[Path("finally")].limits.usd == 4 * DOLLAR


def test_clean_up_has_what_the_limits_of_the_run_leave() -> None:
    """R130: otherwise a run could make more calls than its limit says."""
    clean = Step("finally", block("seq", paid("v"), paid("w")))
    game = Game(flow(paid("a"), finally_=clean, limits=Limits(calls=2, tokens=30, members=7)))
    game.done("a", used=Amounts(tokens=10, calls=1))

    limits = game.state.ledgers[Path("finally")].limits
    assert (limits.calls, limits.tokens, limits.members, limits.usd) == (1, 20, 7, None)
    game.done("finally/v", used=Amounts(tokens=10, calls=1))
    assert game.outcome("finally/w") == ("skipped", "limit")


def test_after_a_limit_clean_up_calls_not_even_an_agent_that_costs_nothing() -> None:
    """R130"""
    clean = Step("finally", block("seq", paid("w", usd=0, tokens=0)))
    game = Game(flow(paid("a"), paid("b"), finally_=clean, limits=Limits(calls=1)))
    game.done("a", used=Amounts(calls=1))

    assert game.outcome("finally/w") == ("skipped", "limit")


@pytest.mark.req("X2", "R130")
def test_what_the_clean_up_of_a_called_workflow_spends_counts_for_its_caller() -> None:
    """Else a run could pass its limit by as much as was left of it at each call."""
    clean = Step("finally", block("seq", paid("w")))
    inner = Step("inner", Call(flow(command("t"), finally_=clean)))
    game = Game(flow(inner, paid("a"), limits=Limits(usd=MicroUsd(DOLLAR))))

    game.done("inner/t")
    game.done("inner/finally/w", used=Amounts(MicroUsd(DOLLAR), 0, 1))

    assert game.state.ledgers[Path("")].spent.usd == DOLLAR
    assert game.outcome("a") == ("failed", "limit")
