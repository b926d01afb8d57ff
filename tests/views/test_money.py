"""Every view of the costs of a run equals its ledger, however often the run was killed, left or cancelled (issue 16).

PODIUM_RUNS says how many random runs, PODIUM_SEED which ones; `make money` tries 2,000.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import pytest

from podium.core.addresses import ROOT
from podium.core.events import AttemptEnded, AttemptStarted, Event, RunEnded, RunRecovered
from podium.core.evolve.evolve import fold
from podium.core.messages import Cancel
from podium.core.model import Workflow
from podium.core.payloads import Amounts
from podium.core.state import State
from podium.core.types import ABANDONED, MicroUsd, Millis
from podium.runtime.carried_budget import carried
from podium.simulate.world import DelayedReport
from podium.views.files.growing_logs import TOKENS, lines_of
from podium.views.files.run_json import run_data
from podium.views.run.attempts import attempts_of
from podium.views.run.builder import RunViewBuilder, run_view
from podium.views.run.charges import CHARGING
from podium.views.run.costs import WAYS, RunLog, cost_report
from podium.views.run.trace import trace
from tests.core.bias import Bias
from tests.core.driver import Run, drive, drive_to_end, resume
from tests.core.strategies import Case, case
from tests.core.worlds import Wild

RUNS = int(os.environ.get("PODIUM_RUNS", "60"))
SEED = int(os.environ.get("PODIUM_SEED", "1"))
BIAS = replace(Bias(), wide_top=0.5, tight=0.2, people=0.05)
CALLS = (1, 1, 1, 2, 7)
TRIED: Counter[str] = Counter()


class Sums(NamedTuple):
    """What one view says in total."""

    usd: int
    tokens: int
    calls: int
    unknown_calls: int


class Expensive(Wild):
    """A world in which every agent uses something, with one call or several, and some do not report their cost."""

    def attempt(self, asked: AttemptStarted, state: State) -> DelayedReport:
        later = super().attempt(asked, state)
        if not asked.reserve.calls:
            return later
        end = later.message
        assert isinstance(end, AttemptEnded)
        chance = random.Random(f"{self._seed}/{asked.path}/{asked.attempt}")
        known = chance.random() < 0.7
        used = Amounts(
            MicroUsd(chance.randrange(900_000) if known or chance.random() < 0.3 else 0),
            chance.randrange(50_000) if chance.random() < 0.8 else 0,
            chance.choice((0, *CALLS) if not known else CALLS),
        )
        facts = {} if chance.random() < 0.1 else {"agent": chance.choice("ab"), "model": "m"}
        facts |= {"simulated": "scripted"} if chance.random() < 0.2 else {}
        result = {**(end.result or {}), **facts}
        return replace(later, message=replace(end, used=used, cost_known=known, result=result))


def ledger_sums(state: State, *, left: bool) -> Sums:
    """The account that limits are checked against; calls in flight of a run that was left count as lost."""
    book = state.ledgers[ROOT]
    in_flight = book.reserved.calls if left else 0
    return Sums(
        book.spent.usd,
        book.spent.tokens,
        book.spent.calls + book.unknown.calls + in_flight,
        book.unknown_calls + in_flight,
    )


def _attempt_sums(log: Sequence[Event], *, left: bool) -> Sums:
    attempts = attempts_of(log, left=left)
    return Sums(
        sum(each.usd for each in attempts),
        sum(each.tokens for each in attempts),
        sum(each.calls for each in attempts),
        sum(each.unknown_calls for each in attempts),
    )


def views_of(workflow: Workflow, log: Sequence[Event], *, left: bool) -> Iterator[tuple[str, Sums]]:
    for by in WAYS:
        report = cost_report([RunLog("r", "w", log, left)], by)
        # Scripted and recorded agents are listed apart.
        total = report.total.plus(report.simulated)
        yield f"costs --by {by}", Sums(total.usd, total.tokens, total.calls, total.unknown_calls)
    view = run_view(log, left=left)
    yield "show", Sums(view.usd, view.tokens, view.calls, view.unknown_calls)
    top = [step for step in view.steps if step.parent == ROOT]
    sums = [(step.usd, step.tokens, step.calls, step.unknown_calls) for step in top]
    yield "show, its steps", Sums(*map(sum, zip(*sums, strict=True))) if sums else Sums(0, 0, 0, 0)
    yield "report, its attempts", _attempt_sums(log, left=left)
    agents = view.agents
    yield (
        "show, its agents",
        Sums(
            sum(agent.usd for agent in agents),
            view.tokens,  # This table counts them by kind, and not every agent reports the kinds.
            sum(agent.calls for agent in agents),
            sum(agent.unknown_calls for agent in agents),
        ),
    )
    data = run_data(view)
    cost, usage = data["cost"], data["usage"]
    yield (
        "show --json",
        Sums(round(cost["usd"] * 1e6), usage["tokens"], usage["calls"], cost["unknown_calls"]),
    )
    brief = RunViewBuilder()
    brief.feed(event for event in log if type(event).__name__ in CHARGING)
    if left:
        brief.leave()
    line = brief.view()
    yield "runs", Sums(line.usd, line.tokens, line.calls, line.unknown_calls)
    if left:
        return  # What follows is written by the process that drives the run.
    whole = trace(log)
    yield "trace", Sums(whole.usd, whole.tokens, whole.calls, whole.unknown_calls)
    rows = list(token_lines(log))
    yield (
        "token_usage.jsonl",
        Sums(
            sum(row["usd"] for row in rows),
            sum(row["total"] for row in rows),
            sum(row["calls"] for row in rows),
            sum(row["unknown_calls"] for row in rows),
        ),
    )
    past = carried(workflow, log)["carried"]
    # The run that continues this one counts the tokens of lost calls as they were reserved.
    yield "rerun", Sums(past.usd, view.tokens, past.calls, view.unknown_calls)


def token_lines(log: Sequence[Event]) -> Iterator[dict[str, int]]:
    builder = RunViewBuilder()
    for seq, event in enumerate(log, start=1):
        builder.feed((event,))
        for file, line in lines_of(seq, event, builder):
            if file == TOKENS:
                row = json.loads(line)
                unknown = 0 if row["cost_usd"] is not None else max(1, row["calls"])
                # The known part of an unknown cost is in the log of events only.
                known = event.used.usd if isinstance(event, AttemptEnded) else 0
                yield {**row, "usd": round((row["cost_usd"] or 0) * 1e6) or known, "unknown_calls": unknown}


def assert_views_agree(workflow: Workflow, log: Sequence[Event], what: str, *, left: bool = False) -> None:
    state = fold(workflow, log)
    expected = ledger_sums(state, left=left or state.ended is not None)
    for view, sums in views_of(workflow, log, left=left):
        assert sums == expected, f"{what}, {view}"
        TRIED["compared views"] += 1
    TRIED["unknown calls"] += expected.unknown_calls


def killed(one: Case, run: Run, world: Wild, chance: random.Random) -> Run:
    """The run as another process finishes it after a kill at a random moment."""
    log = run.log[: chance.randint(1, len(run.log))]
    assert_views_agree(one.workflow, log, "interrupted", left=True)
    TRIED["kills"] += 1
    again = drive_to_end(resume(one.workflow, log, world), world)
    TRIED["lost calls"] += sum(len(event.lost) for event in again.log if isinstance(event, RunRecovered))
    return again


def abandoned(log: list[Event], chance: random.Random) -> list[Event]:
    cut = log[: chance.randint(1, len(log))]
    if isinstance(cut[-1], RunEnded):
        return cut
    end = RunEnded(cut[-1].at, "cancelled", "cancelled", ABANDONED, 130, {}, "left")
    return [*cut, end]


def try_run(seed: int) -> None:
    chance = random.Random(f"money/{seed}")
    one = case(chance.randrange(2**48), BIAS)
    world = Expensive(one.seed, replace(one.odds, unknown_cost=0))
    messages = [(Millis(chance.randrange(1, 400_000)), Cancel("ann", ""))] if chance.random() < 0.3 else []
    run = drive(one.workflow, world, messages=messages)
    for _ in range(chance.randint(0, 4)):
        run = killed(one, run, world, chance)
    TRIED["runs"] += 1
    assert_views_agree(one.workflow, run.log, f"seed {seed}")
    assert_views_agree(one.workflow, abandoned(run.log, chance), f"seed {seed}, abandoned")


@pytest.mark.timeout(1800)
@pytest.mark.req("R208", "X3")
def test_every_view_of_costs_equals_the_ledger_after_random_kills() -> None:
    for seed in range(SEED, SEED + RUNS):
        try_run(seed)

    sys.stdout.write(f"\nmoney: {', '.join(f'{count:,} {name}' for name, count in TRIED.items())}\n")
    assert TRIED["kills"] >= RUNS
    assert TRIED["lost calls"] >= RUNS / 8
