"""The views of `podium metrics` over time: by week, and the iterations of one subject."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from podium.app.metrics.query import Source
from podium.app.metrics.views import Tables, name_column
from podium.errors import ConfigurationError
from podium.views.format import plural
from podium.views.metrics.tables import (
    Cell,
    Column,
    MetricTable,
    cost_cell,
    day_cell,
    decimal_cell,
    known_cost,
    number_cell,
    share_cell,
    time_cell,
    tokens_cell,
    week_cell,
)
from podium.views.metrics.uncertainty import share_of

LEAST: Final = 10
"""How many runs each half of a period needs before a change is told."""


def weekly(source: Source, _: Cell) -> Tables:
    """Each week with its runs, scores, cost and tokens."""
    rows = _weeks(source)
    columns = (
        name_column("week", "week")._replace(cell=week_cell),
        Column("runs", "runs", number_cell),
        Column("passed", "passed", share_cell),
        Column("landed", "landed", number_cell),
        Column("score", "score", decimal_cell),
        Column("usd", "cost", cost_cell),
        Column("unknown_calls", "unknown", number_cell),
        Column("tokens", "tokens", tokens_cell),
    )
    return (MetricTable("weekly", "", columns, tuple(rows)),)


def _weeks(source: Source) -> list[Mapping[str, Any]]:
    return [
        {
            "week": week,
            "runs": runs,
            "passed": share_of(passed, runs),
            "landed": landed,
            "score": score,
            "scored": scored,
            "usd": known_cost(usd, unknown),
            "unknown_calls": unknown,
            "tokens": tokens,
            "priced_usd": priced,
            "priced_runs": priced_runs,
        }
        for week, runs, passed, landed, score, scored, usd, unknown, tokens, priced, priced_runs in source.rows(
            "weekly"
        )
    ]


def trend(source: Source, line: Cell) -> Tables:
    """Score, cost and runs by week as lines, and the change from the first half of the weeks to the second."""
    rows = _weeks(source)
    by_week = {row["week"]: row for row in rows}
    weeks = range(min(by_week), max(by_week) + 1) if by_week else range(0)
    made = [
        _trend_row("score", "score", [(row["score"], row["scored"]) for row in _each(by_week, weeks)]),
        _trend_row("cost per run", "usd", [_per_run(row) for row in _each(by_week, weeks)]),
    ]
    columns = (
        name_column("figure"),
        Column("first", "first half", _either),
        Column("second", "second half", _either),
        Column("change", "change", _change),
        Column("weeks", plural(len(weeks), "week"), line, right=False),
    )
    note = (f"a change needs {LEAST} runs in each half",) if rows else ()
    return (MetricTable("trend", "", columns, tuple(made) if rows else (), note),)


def _each(by_week: Mapping[int, Mapping[str, Any]], weeks: range) -> list[Mapping[str, Any]]:
    empty = {"score": None, "scored": 0, "priced_usd": 0, "priced_runs": 0}
    return [by_week.get(week, empty) for week in weeks]


def _per_run(week: Mapping[str, Any]) -> tuple[float | None, int]:
    """The mean cost of the runs in which the price of each call is known."""
    runs = week["priced_runs"]
    return (week["priced_usd"] / runs if runs else None), runs


def _trend_row(name: str, unit: str, values: list[tuple[float | None, int]]) -> dict[str, Any]:
    half = len(values) // 2
    first, second = _mean(values[:half]), _mean(values[half:])
    clear = first[1] >= LEAST and second[1] >= LEAST
    scale = 1_000_000 if unit == "usd" else 1
    change = second[0] - first[0] if clear and first[0] is not None and second[0] is not None else None
    return {
        "name": name,
        "unit": unit,
        "first": None if first[0] is None else first[0] / scale,
        "second": None if second[0] is None else second[0] / scale,
        "change": None if change is None else change / scale,
        "weeks": tuple(None if value is None else value / scale for value, _ in values),
    }


def _mean(values: list[tuple[float | None, int]]) -> tuple[float | None, int]:
    """The mean, weighted by the number of runs of each week."""
    present = [(value, count) for value, count in values if value is not None]
    total = sum(count for _, count in present)
    return (sum(value * count for value, count in present) / total if total else None), total


def _either(value: Any) -> str:
    return "-" if value is None else f"{value:.2f}"


def _change(value: Any) -> str:
    return "too few" if value is None else f"{value:+.2f}"


def subject(source: Source, _: Cell) -> Tables:
    """The iterations of one subject: what each cost and scored, and what was new in it."""
    rows = iterations(source)
    if not rows:
        names = ", ".join(str(name) for _, name, _ in source.rows("subjects")) or "none"
        raise ConfigurationError(
            f'no run about "{source.query.name}" was counted',
            hint=f"subjects here: {names}; a workflow names it with subject: ${{{{ inputs.x }}}}",
        )
    columns = (
        Column("iteration", "n", number_cell),
        name_column("date", "date_ms")._replace(cell=day_cell),
        Column("score", "score", decimal_cell),
        Column("usd", "cost", cost_cell),
        name_column("changed", "changed"),
        name_column("run", "run"),
    )
    scored = [row["score"] for row in rows if row["score"] is not None]
    note: tuple[str, ...] = ()
    if len(scored) > 1:
        note = (
            f"from {scored[0]:.1f} to {scored[-1]:.1f} ({scored[-1] - scored[0]:+.1f}) over {len(rows)} iterations",
        )
    return (MetricTable("subject", source.query.name, columns, tuple(rows), note),)


def iterations(source: Source) -> list[dict[str, Any]]:
    """The runs about a subject, the oldest first; a run that continues another is the same iteration."""
    rows: list[dict[str, Any]] = []
    for row in source.rows("subject"):
        run, started, score, usd, unknown, note, definition, inputs, continues, status, workers = row
        facts = {"definition": definition, "inputs": inputs, "agents": workers}
        own = {
            "iteration": len(rows) + 1,
            "run": run,
            "date_ms": started,
            "score": score,
            "usd": usd,
            "unknown_calls": unknown,
            "status": status,
            "changed": note,
        }
        earlier = next((each for each in rows if each["run"] == continues), None)
        if earlier is not None:
            # Money of both was spent on the one iteration.
            kept_values = {"iteration": earlier["iteration"], "date_ms": earlier["date_ms"]}
            spent, changed = earlier["usd"] + usd, note or earlier["changed"]
            own["unknown_calls"] += earlier["unknown_calls"]
            earlier |= {**own, **kept_values, "usd": spent, "changed": changed, "facts": facts}
            continue
        if own["changed"] is None:
            own["changed"] = _changed(rows[-1]["facts"] if rows else None, facts)
        rows.append({**own, "facts": facts})
    return [
        {key: value for key, value in row.items() if key != "facts"}
        | {"usd": known_cost(row["usd"], row["unknown_calls"])}
        for row in rows
    ]


def _changed(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> str:
    if before is None:
        return "first"
    return ", ".join(name for name in now if now[name] != before[name]) or "nothing"


def runs(source: Source, _: Cell) -> Tables:
    """The newest runs."""
    names = (
        "run",
        "workflow",
        "date_ms",
        "status",
        "score",
        "usd",
        "unknown_calls",
        "time_s",
        "landed",
        "subject",
    )
    rows = [dict(zip(names, row, strict=True)) for row in source.rows("runs")]
    rows = [row | {"usd": known_cost(row["usd"], row["unknown_calls"])} for row in rows]
    columns = (
        name_column("run", "run"),
        name_column("workflow", "workflow"),
        name_column("date", "date_ms")._replace(cell=day_cell),
        name_column("status", "status"),
        Column("score", "score", decimal_cell),
        Column("usd", "cost", cost_cell),
        Column("time_s", "work", time_cell),
        Column("landed", "landed", number_cell),
    )
    return (MetricTable("runs", "Recent runs", columns, tuple(rows)),)
