"""The views of `podium metrics`: each asks the history and makes tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from podium.app.metrics.query import Source, sums_of
from podium.errors import ConfigurationError
from podium.views.metrics.tables import (
    WEEKS,
    Cell,
    Column,
    MetricTable,
    claim_note,
    cost_cell,
    decimal_cell,
    known_cost,
    mean_cell,
    money_cell,
    money_mean_cell,
    number_cell,
    percent_cell,
    share_cell,
    text_cell,
    time_cell,
    tokens_cell,
    week_of,
)
from podium.views.metrics.uncertainty import FEW, best_of, mean_of, share_of

OBSERVED: Final = "Observed, not randomised: agents did not get the same work."
Tables = tuple[MetricTable, ...]
View = Callable[[Source, Cell], Tables]


def name_column(label: str, key: str = "name") -> Column:
    return Column(key, label, text_cell, right=False)


def roles(source: Source, line: Cell) -> Tables:
    """Each role with how often its work stood, its time, cost and retries; then each craft by agent."""
    by = source.query.by or "role"
    weeks = _weeks(source, f"weeks by {by}")
    rows = []
    for name, total, hits, visits, time, cost, retries, unknown, usd in source.rows(f"visits by {by}"):
        rows.append(
            {
                "name": name,
                "stood": share_of(hits, total),
                "visits": visits,
                "time_s": time,
                "cost_usd": cost,
                "retries": retries,
                "total_usd": usd,
                "unknown_calls": unknown,
                "weeks": weeks.get(name, (None,) * WEEKS),
            }
        )
    columns = (
        name_column(by),
        Column("stood", "stood", share_cell),
        Column("visits", "n", number_cell),
        Column("time_s", "time", time_cell),
        Column("cost_usd", "cost", money_cell),
        Column("retries", "retries", decimal_cell),
        Column("weeks", f"{WEEKS} weeks", line, right=False),
    )
    table = MetricTable(
        by, "", columns, tuple(rows), ("time and cost are medians of a visit",) if rows else ()
    )
    return (table, *crafts(source, line))


def _weeks(source: Source, query: str) -> dict[str, tuple[float | None, ...]]:
    """For each name the share that stood in each of the last weeks."""
    last = week_of(source.query.until - 1)
    weeks: dict[str, dict[int, float]] = {}
    for name, week, total, hits in source.rows(query):
        weeks.setdefault(name, {})[week] = hits / total
    return {
        name: tuple(each.get(week) for week in range(last - WEEKS + 1, last + 1))
        for name, each in weeks.items()
    }


def crafts(source: Source, _: Cell) -> Tables:
    """What stood by craft and agent, and the best agent where that can be said."""
    craft_name = source.query.name
    grouped: dict[str, list[tuple[Any, ...]]] = {}
    for craft, *row in source.rows("crafts"):
        if not craft_name or craft == craft_name:
            grouped.setdefault(craft, []).append(tuple(row))
    rows = []
    for craft, agents in grouped.items():
        best = best_of({agent: (hits, total) for agent, total, hits, *_ in agents})
        claim = claim_note(best, sum(total >= FEW for _, total, *_ in agents))
        for agent, total, hits, usd, unknown, visits in agents:
            rows.append(
                {
                    "craft": craft,
                    "agent": agent,
                    "stood": share_of(hits, total),
                    "visits": visits,
                    "per_stood_usd": usd / hits if hits and not unknown else None,
                    "unknown_calls": unknown,
                    "claim": claim,
                }
            )
    columns = (
        name_column("craft", "craft"),
        name_column("agent", "agent"),
        Column("stood", "stood", share_cell),
        Column("visits", "n", number_cell),
        Column("per_stood_usd", "cost per success", money_cell),
        name_column("", "claim"),
    )
    return (
        MetricTable("crafts", "Stood by craft and agent", columns, tuple(rows), (OBSERVED,) if rows else ()),
    )


def best(source: Source, line: Cell) -> Tables:
    """The agents of one craft."""
    (table,) = crafts(source, line)
    if not table.rows:
        names = ", ".join(dict.fromkeys(str(row[0]) for row in source.rows("crafts"))) or "none yet"
        raise ConfigurationError(
            f'no visit of the craft "{source.query.name}" was counted', hint=f"crafts here: {names}"
        )
    return (table._replace(name="best", title=f"Who does {source.query.name} best"),)


def agents(source: Source, line: Cell) -> Tables:
    """The scores that reviewers gave to the work of each agent; with a name, each run of that agent."""
    if source.query.name:
        return (_agent(source),)
    parts: dict[str, dict[str, float]] = {}
    for agent, name, value, _ in source.rows("parts"):
        parts.setdefault(agent, {})[name] = value
    names = sorted({name for each in parts.values() for name in each})
    weeks: dict[str, dict[int, float]] = {}
    for agent, week, value, _ in source.rows("scores by week"):
        weeks.setdefault(agent, {})[week] = value
    last = week_of(source.query.until - 1)
    rows = []
    for agent, *row in source.rows("scores"):
        own = weeks.get(agent, {})
        rows.append(
            {
                "agent": agent,
                "score": mean_of(sums_of(row)),
                **{f"part {name}": parts.get(agent, {}).get(name) for name in names},
                "verdicts": row[6],
                "runs": row[5],
                "weeks": tuple(own.get(week) for week in range(last - WEEKS + 1, last + 1)),
            }
        )
    columns = (
        name_column("agent", "agent"),
        Column("score", "score", mean_cell),
        *(Column(f"part {name}", text_cell(name), decimal_cell) for name in names),
        Column("verdicts", "verdicts", number_cell),
        Column("runs", "runs", number_cell),
        Column("weeks", f"{WEEKS} weeks", line, right=False),
    )
    return (
        MetricTable(
            "agents", "Scores of each agent's work", columns, tuple(rows), (OBSERVED,) if rows else ()
        ),
    )


def _agent(source: Source) -> MetricTable:
    from podium.views.metrics.tables import day_cell

    rows = [
        {"run": run, "date_ms": started, "score": score, "verdicts": verdicts}
        for run, started, _, score, verdicts in source.rows("scores by run")
    ]
    columns = (
        name_column("run", "run"),
        name_column("date", "date_ms")._replace(cell=day_cell),
        Column("score", "score", decimal_cell),
        Column("verdicts", "verdicts", number_cell),
    )
    return MetricTable(
        "agent_runs", f"Scores of the work of {source.query.name}, run by run", columns, tuple(rows)
    )


def costs(source: Source, _: Cell) -> Tables:
    """Calls, tokens and cost, per run, per visit that stood and per landed run."""
    by = source.query.by or "agent"
    stood = {row[0]: row[2] for row in source.rows(f"visits by {by}")}
    population = source.population()
    rows = []
    for name, *row in source.rows(f"costs by {by}"):
        calls, tokens, unknown, attempts, usd = row[6:11]
        hits = stood.get(name, 0)
        rows.append(
            {
                "name": name,
                "usd": known_cost(usd, unknown),
                "calls": calls,
                "tokens": tokens,
                "attempts": attempts,
                "unknown_calls": unknown,
                "per_run_usd": mean_of(sums_of(row)),
                "per_stood_usd": usd / hits if hits and not unknown else None,
            }
        )
    columns = (
        name_column(by),
        Column("usd", "cost", cost_cell),
        Column("calls", "calls", number_cell),
        Column("tokens", "tokens", tokens_cell),
        Column("unknown_calls", "unknown", number_cell),
        Column("per_run_usd", "per run", money_mean_cell),
        Column("per_stood_usd", "per visit that stood", money_cell),
    )
    total = {
        "runs": population["runs"],
        "usd": known_cost(population["usd"], population["unknown_calls"]),
        "calls": population["calls"],
        "tokens": population["tokens"],
        "unknown_calls": population["unknown_calls"],
        "per_run_usd": _ratio(population["priced_usd"], population["priced_runs"]),
        "landed": population["landed"],
        "per_landed_usd": None
        if population["unknown_calls"]
        else _ratio(population["usd"], population["landed"]),
    }
    of_all = (
        Column("runs", "runs", number_cell),
        Column("usd", "cost", cost_cell),
        Column("calls", "calls", number_cell),
        Column("tokens", "tokens", tokens_cell),
        Column("unknown_calls", "unknown", number_cell),
        Column("per_run_usd", "per run", money_cell),
        Column("landed", "landed", number_cell),
        Column("per_landed_usd", "per landed run", money_cell),
    )
    return (
        MetricTable("costs", "", columns, tuple(rows)),
        MetricTable("total", "Total", of_all, (total,)),
    )


def _ratio(value: int, count: int) -> float | None:
    return value / count if count else None


def errors(source: Source, _: Cell) -> Tables:
    """Why attempts did not succeed, by role and agent, with the newest run of each kind."""
    totals = {(role, agent): count for role, agent, count, _ in source.rows("attempts")}
    rows = [
        {
            "role": role,
            "agent": agent,
            "category": category,
            "attempts": count,
            "share": share_of(count, totals[role, agent]),
            "run": run,
        }
        for role, agent, category, count, run in source.rows("errors")
    ]
    columns = (
        name_column("role", "role"),
        name_column("agent", "agent"),
        name_column("error", "category"),
        Column("attempts", "attempts", number_cell),
        Column("share", "share", share_cell),
        name_column("newest", "run"),
    )
    return (MetricTable("errors", "Attempts that did not succeed", columns, tuple(rows)),)


def context(source: Source, _: Cell) -> Tables:
    """How full context windows were."""
    names = ("role", "agent", "attempts", "median", "p95", "at_60", "at_80", "at_90")
    rows: Sequence[Mapping[str, Any]] = [
        {
            **dict(zip(names[:5], row, strict=False)),
            **{n: k / row[2] for n, k in zip(names[5:], row[5:8], strict=True)},
        }
        for row in source.rows("context")
    ]
    columns = (
        name_column("role", "role"),
        name_column("agent", "agent"),
        Column("attempts", "attempts", number_cell),
        Column("median", "median", percent_cell),
        Column("p95", "95th percentile", percent_cell),
        Column("at_60", "over 60 %", percent_cell),
        Column("at_80", "over 80 %", percent_cell),
        Column("at_90", "over 90 %", percent_cell),
    )
    note = ("attempts whose agent reports its window",) if rows else ()
    return (MetricTable("context", "Context windows", columns, tuple(rows), note),)
