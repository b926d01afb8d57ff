"""What runs have cost, by agent, model, role, step, workflow, run or day (R208)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from podium.core.events import AttemptDoubted, AttemptEnded, AttemptStarted, Event
from podium.core.types import MicroUsd, Path

By: TypeAlias = Literal["agent", "model", "role", "step", "workflow", "run", "day"]
WAYS: Final[tuple[By, ...]] = get_args(By)
NOBODY: Final = "-"


class CostRow(NamedTuple):
    """Under one name. A call without a price is in `unknown_calls`, not in `usd`: it is not free."""

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
    """The dearest first; days in their order."""
    total: CostRow


def bill(runs: Iterable[tuple[str, str, Iterable[Event]]], by: By) -> CostReport:
    """Of runs with their workflows and events. What was taken over from another run was paid there."""
    found: dict[str, CostRow] = {}
    for run, workflow, events in runs:
        for name, spent in _of_run(run, workflow, events, by):
            found[name] = found.get(name, CostRow(name)).plus(spent)
    total = CostRow("total")
    for row in found.values():
        total = total.plus(row)
    order = sorted(found) if by == "day" else sorted(found, key=lambda name: _rank(found[name]))
    return CostReport(tuple(found[name] for name in order), total)


def _rank(spent: CostRow) -> tuple[int, int, str]:
    return -spent.usd, -spent.tokens, spent.name


def _of_run(run: str, workflow: str, events: Iterable[Event], by: By) -> Iterable[tuple[str, CostRow]]:
    flying: dict[Path, int] = {}
    for event in events:
        match event:
            case AttemptStarted():
                flying[event.path] = event.reserve.calls
            case AttemptDoubted():
                # It may have called; nobody will ever know.
                calls = flying.pop(event.path, 0)
                if calls:
                    yield _name(event, {}, run, workflow, by), CostRow("", 1, calls, 0, MicroUsd(0), calls)
            case AttemptEnded() if not event.reused and (event.used.calls or event.used.tokens):
                used = event.used
                unknown = 0 if event.cost_known else max(1, used.calls)
                spent = CostRow("", 1, used.calls, used.tokens, used.usd, unknown)
                yield _name(event, event.result or {}, run, workflow, by), spent
            case _:
                pass


def _name(
    event: AttemptEnded | AttemptDoubted, told: Mapping[str, object], run: str, workflow: str, by: By
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
        case _:
            return str(told.get(by) or NOBODY)


def _step(path: Path) -> str:
    """Visits, attempts and iterations of a step are one step."""
    parts = (part.partition("~")[0].partition("[")[0].partition("#")[0] for part in path.split("/"))
    return "/".join(part for part in parts if part)
