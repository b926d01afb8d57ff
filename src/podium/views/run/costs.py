"""The costs of runs, by agent, model, role, step, workflow, run or day (R208)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple, TypeAlias, assert_never, get_args

from podium.core import events
from podium.core.events import Event
from podium.core.types import Address, MicroUsd

By: TypeAlias = Literal["agent", "model", "role", "step", "workflow", "run", "day"]
WAYS: Final[tuple[By, ...]] = get_args(By)
NO_NAME: Final = "-"

_Ignored: TypeAlias = (
    events.RunStarted
    | events.RunPaused
    | events.RunResumed
    | events.RunRecovered
    | events.RunEnded
    | events.CancelAsked
    | events.GuidanceGiven
    | events.LimitRaised
    | events.StepEntered
    | events.StepExpanded
    | events.StepReopened
    | events.StepEnded
    | events.AttemptQueued
    | events.RetryScheduled
    | events.WaitStarted
    | events.WaitEnded
    | events.SignalReceived
    | events.TimerFired
    | events.ApprovalAsked
    | events.ApprovalGiven
    | events.FactsAsked
    | events.FactsFound
    | events.JoinQueued
    | events.JoinAsked
    | events.JoinEnded
    | events.JumpOrdered
    | events.JumpAsked
    | events.CancelOrdered
)
"""Events without a cost."""


class CostRow(NamedTuple):
    """The costs under one name. A call without a price counts in `unknown_calls` and not in `usd`: it is not free."""

    name: str
    attempts: int = 0
    calls: int = 0
    tokens: int = 0
    usd: MicroUsd = MicroUsd(0)
    unknown_calls: int = 0

    def plus(self, other: CostRow) -> CostRow:
        return CostRow(
            self.name,
            self.attempts + other.attempts,
            self.calls + other.calls,
            self.tokens + other.tokens,
            MicroUsd(self.usd + other.usd),
            self.unknown_calls + other.unknown_calls,
        )


class CostReport(NamedTuple):
    rows: tuple[CostRow, ...]
    """Most expensive first; days in order of time."""
    total: CostRow


def cost_report(runs: Iterable[tuple[str, str, Iterable[Event]]], by: By) -> CostReport:
    """The costs of runs, each given by its id, workflow and events; reused results cost nothing."""
    rows: dict[str, CostRow] = {}
    for run, workflow, log in runs:
        for name, row in _rows_of_run(run, workflow, log, by):
            rows[name] = rows.get(name, CostRow(name)).plus(row)
    total = CostRow("total")
    for row in rows.values():
        total = total.plus(row)
    order = sorted(rows) if by == "day" else sorted(rows, key=lambda name: _rank(rows[name]))
    return CostReport(tuple(rows[name] for name in order), total)


def _rank(row: CostRow) -> tuple[int, int, str]:
    return -row.usd, -row.tokens, row.name


def _rows_of_run(run: str, workflow: str, log: Iterable[Event], by: By) -> Iterable[tuple[str, CostRow]]:
    calls_in_flight: dict[Address, int] = {}
    for event in log:
        match event:
            case events.AttemptStarted():
                calls_in_flight[event.path] = event.reserve.calls
            case events.AttemptDoubted():
                # It may have made its calls; this will never be known.
                calls = calls_in_flight.pop(event.path, 0)
                if calls:
                    yield _name(event, {}, run, workflow, by), CostRow("", 1, calls, 0, MicroUsd(0), calls)
            case events.AttemptEnded():
                if event.reused or not (event.used.calls or event.used.tokens):
                    continue
                used = event.used
                unknown = 0 if event.cost_known else max(1, used.calls)
                row = CostRow("", 1, used.calls, used.tokens, used.usd, unknown)
                yield _name(event, event.result or {}, run, workflow, by), row
            case _ if isinstance(event, _Ignored):
                pass
            case _:
                assert_never(event)


def _name(
    event: events.AttemptEnded | events.AttemptDoubted,
    result: Mapping[str, object],
    run: str,
    workflow: str,
    by: By,
) -> str:
    match by:
        case "run":
            return run
        case "workflow":
            return workflow
        case "step":
            return f"{workflow}: {_step(event.path)}"
        case "day":
            return f"{datetime.fromtimestamp(event.at / 1000, UTC):%Y-%m-%d}"
        case "agent" | "model" | "role":
            return str(result.get(by) or NO_NAME)
        case _:
            assert_never(by)


def _step(path: Address) -> str:
    """The step's name without its visits, attempts and iterations."""
    parts = (part.partition("~")[0].partition("[")[0].partition("#")[0] for part in path.split("/"))
    return "/".join(part for part in parts if part)
