"""What a run has used is read from its events alone, and is what its ledgers say."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from podium.core.addresses import ROOT
from podium.core.events import AttemptStarted
from podium.core.model import Agent, Step
from podium.core.payloads import Amounts, CarriedSpend, RunFacts
from podium.core.policy import Estimate, Limits
from podium.core.state import Ledger
from podium.core.types import Address, MicroUsd, Millis
from podium.runtime.carried_budget import carried
from tests.core.bias import Bias
from tests.core.driver import drive, drive_to_end, resume
from tests.core.kit import Game, agent, block, flow, with_limits
from tests.core.strategies import Case, case, cases

LIMITED = replace(Bias(), tight=0.5, inner_limits=0.6, people=0.3)


def used(book: Ledger) -> tuple[Amounts, int, int]:
    spent, unknown = book.spent, book.unknown
    known = Amounts(spent.usd, spent.tokens + unknown.tokens, spent.calls + unknown.calls)
    return known, unknown.usd, book.worked


@pytest.mark.req("X10", "R130")
@given(cases(LIMITED), st.lists(st.floats(0.05, 1), max_size=2))
@example(case(8298, LIMITED), [])  # An advisor is asked about the clean-up.
def test_the_events_of_a_run_tell_what_all_its_ledgers_hold(drawn: Case, cuts: list[float]) -> None:
    run = drive(drawn.workflow, drawn.world())
    for cut in cuts:
        log = run.log[: max(1, int(len(run.log) * cut))]
        run = drive_to_end(resume(drawn.workflow, log, drawn.world()), drawn.world())
    found = carried(drawn.workflow, run.log)

    root = CarriedSpend(ROOT, found["carried"], found["carried_unknown"], found["carried_time"])
    run_log_of = {one.path: (one.spent, one.unknown, one.time) for one in (root, *found["carried_steps"])}
    books = {path: used(book) for path, book in run.state.ledgers.items() if not book.is_finally}
    nothing = (Amounts(), 0, 0)
    assert {path: run_log_of.get(path, nothing) for path in books} == books


def one(name: str) -> Step:
    return agent(name, touches=(), verb=Agent(estimate=Estimate(MicroUsd(5), 50)))


def test_what_is_in_flight_when_a_run_is_left_was_called() -> None:
    inner = with_limits(Step("g", block("seq", one("a"), one("b"))), calls=3)
    workflow = flow(inner, limits=Limits(calls=9))
    game = Game(workflow)
    game.end("g/a", used=Amounts(MicroUsd(2), 20, 1))
    found = carried(workflow, game.log)

    assert found["carried_steps"] == (
        CarriedSpend(Address("g"), Amounts(MicroUsd(2), 70, 2), MicroUsd(5), found["carried_time"]),
    )
    assert (found["carried"], found["carried_unknown"]) == (Amounts(MicroUsd(2), 70, 2), 5)


def test_a_step_goes_on_with_what_it_has_used_before() -> None:
    inner = with_limits(Step("g", block("seq", one("a"))), calls=1)
    past = CarriedSpend(Address("g"), Amounts(calls=1), MicroUsd(5), Millis(7))
    workflow = flow(inner)
    game = Game(workflow, facts={"carried_steps": (past,), "carried_time": Millis(9)})

    assert game.outcome("g/a") == ("failed", "limit")
    assert game.events(AttemptStarted) == []
    assert (game.state.ledgers[Address("g")].worked, game.state.ledgers[ROOT].worked) == (7, 9)
    found = carried(workflow, game.log)
    assert found == {
        "carried": Amounts(),
        "carried_unknown": 0,
        "carried_time": 9,
        "carried_steps": (past,),
    }
    assert RunFacts("id", "name", **found).carried_steps == (past,)


def test_what_was_used_at_a_step_that_has_no_limits_any_more_counts_for_the_run_only() -> None:
    inner = with_limits(Step("g", block("seq", one("a"))), calls=3)
    game = Game(flow(inner))
    game.end("g/a", used=Amounts(calls=1))

    found = carried(flow(Step("g", block("seq", one("a")))), game.log)
    assert (found["carried"].calls, found["carried_steps"]) == (1, ())
