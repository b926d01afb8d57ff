"""The choices of `agent: auto`: who was chosen with which chance, and how that went."""

from __future__ import annotations

from typing import Any

from podium.app.metrics.query import Source
from podium.app.metrics.views import Tables, name_column
from podium.views.metrics.tables import (
    Cell,
    Column,
    MetricTable,
    day_cell,
    number_cell,
    percent_cell,
    share_cell,
)
from podium.views.metrics.uncertainty import share_of

NOTE = "who would be chosen now, and why: podium plan FILE"


def auto(source: Source, _: Cell) -> Tables:
    """For each step how often each agent was chosen and stood; then the newest choices."""
    rows = source.rows("choices")
    counts: dict[tuple[str, str, str], list[int]] = {}
    for path, _policy, agent, _standard, _chance, _run, workflow, _started, stood in rows:
        count = counts.setdefault((workflow, path, agent), [0, 0, 0])
        count[0] += 1
        count[1] += stood is not None
        count[2] += stood or 0
    sums: list[dict[str, Any]] = [
        {"workflow": workflow, "step": path, "agent": agent, "chosen": n, "stood": share_of(hits, samples)}
        for (workflow, path, agent), (n, samples, hits) in counts.items()
    ]
    by_agent = (
        name_column("workflow", "workflow"),
        name_column("step", "step"),
        name_column("agent", "agent"),
        Column("chosen", "chosen", number_cell),
        Column("stood", "stood", share_cell),
    )
    names = ("step", "policy", "agent", "standard", "chance", "run", "workflow", "date_ms", "stood")
    newest: list[dict[str, Any]] = [dict(zip(names, row, strict=True)) for row in rows[:20]]
    each = (
        name_column("run", "run"),
        name_column("date", "date_ms")._replace(cell=day_cell),
        name_column("step", "step"),
        name_column("agent", "agent"),
        name_column("standard", "standard"),
        Column("chance", "chance", percent_cell),
    )
    note = (NOTE,) if rows else ()
    return (
        MetricTable("choices", "Chosen agents", by_agent, tuple(sums), note),
        MetricTable("newest choices", "Newest choices", each, tuple(newest)),
    )
