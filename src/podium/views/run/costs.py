"""The costs of runs, by agent, model, role, step, workflow, run or day (R208)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple, TypeAlias, assert_never, get_args

from podium.core.events import Event
from podium.core.types import Address, MicroUsd, Millis
from podium.views.run.charges import NO_NAME, Charge, ChargeReader

By: TypeAlias = Literal["agent", "model", "role", "step", "workflow", "run", "day"]
WAYS: Final[tuple[By, ...]] = get_args(By)


class RunLog(NamedTuple):
    """The events of one run, for a report of costs."""

    run: str
    workflow: str
    events: Iterable[Event]
    left: bool = False
    """True if no process drives the run although it has not ended: its calls in flight are lost."""
    simulated: bool = False
    """True if recordings answered for all agents."""


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
    simulated: CostRow = CostRow("simulated")
    """The costs of scripted and recorded agents, which are not in the rows: nothing was really spent."""


def cost_report(runs: Iterable[RunLog], by: By) -> CostReport:
    """The costs of runs; reused results cost nothing."""
    rows: dict[str, CostRow] = {}
    simulated = CostRow("simulated")
    for log in runs:
        for charge in _charges(log):
            name = _name(charge, log, by)
            used = charge.used
            row = CostRow(name, 1, used.calls, used.tokens, used.usd, charge.unknown_calls)
            if log.simulated or charge.simulated:
                simulated = simulated.plus(row)
            else:
                rows[name] = rows.get(name, CostRow(name)).plus(row)
    total = CostRow("total")
    for row in rows.values():
        total = total.plus(row)
    order = sorted(rows) if by == "day" else sorted(rows, key=lambda name: _rank(rows[name]))
    return CostReport(tuple(rows[name] for name in order), total, simulated)


def _rank(row: CostRow) -> tuple[int, int, str]:
    return -row.usd, -row.tokens, row.name


def _charges(log: RunLog) -> Iterator[Charge]:
    reader, at = ChargeReader(), Millis(0)
    for event in log.events:
        at = event.at
        yield from reader.take(event)
    if log.left:
        yield from reader.leave(at)


def _name(charge: Charge, log: RunLog, by: By) -> str:
    match by:
        case "run":
            return log.run
        case "workflow":
            return log.workflow
        case "step":
            return f"{log.workflow}: {_step(charge.path)}"
        case "day":
            return f"{datetime.fromtimestamp(charge.at / 1000, UTC):%Y-%m-%d}"
        case "agent" | "model" | "role":
            return str(charge.result.get(by) or NO_NAME)
        case _:
            assert_never(by)


def _step(path: Address) -> str:
    """The step's name without its visits, attempts and iterations."""
    parts = (part.partition("~")[0].partition("[")[0].partition("#")[0] for part in path.split("/"))
    return "/".join(part for part in parts if part)
