"""A forecast as JSON, printed by `podium plan` and returned to assistants; src/podium/data/schemas/plan.json describes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from podium.app.forecast.check import Price
    from podium.app.forecast.plan import Plan, Range, Unit

SCALES: Final[dict[Unit, int]] = {"calls": 1, "tokens": 1, "usd": 1_000_000, "time": 1000}
NAMES: Final[dict[Unit, str]] = {
    "calls": "calls",
    "tokens": "tokens",
    "usd": "cost_usd",
    "time": "duration_s",
}


def plan_data(forecast: Plan) -> dict[str, Any]:
    return {
        "workflow": forecast.workflow,
        **{NAMES[unit]: _range(row, SCALES[unit]) for unit, row in forecast.ranges.items()},
        "way": list(forecast.way),
        "estimates": [
            _estimate(name, price, 1 + forecast.repairs.get(name, 0))
            for name, price in forecast.prices.items()
        ],
        "refusals": list(forecast.refusals),
        "memories": {name: list(steps) for name, steps in forecast.memories.items()},
        "polls": [{**poll._asdict(), "most": poll.most} for poll in forecast.polls],
        **({} if forecast.series is None else {"series": forecast.series._asdict()}),
    }


def _range(row: Range, scale: int) -> dict[str, Any]:
    least, likely, most = (_scaled(value, scale) for value in (row.least, row.likely, row.most))
    return {"least": least, "likely": likely, "most": most, "cut": row.cut}


def _scaled(value: int | None, scale: int) -> float | int | None:
    return value if value is None or scale == 1 else value / scale


def _estimate(name: str, price: Price, calls: int) -> dict[str, Any]:
    return {
        "step": name,
        "tokens": list(price.tokens),
        "cost_usd": [value / 1_000_000 for value in price.usd],
        "source": price.source,
        "attempts": price.attempts,
        "calls_per_attempt": calls,
    }
