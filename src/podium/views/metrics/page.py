"""Figures over many runs as one HTML page: no script and no request. Under each chart are its numbers as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from podium.views.format import dollars
from podium.views.metrics.tables import MetricTable, Report, cost_cell, share_cell, text_cell, week_name
from podium.views.pictures.charts import BarOf, bars
from podium.views.pictures.series import Point, Whisker, line, whiskers
from podium.views.pictures.svg import text
from podium.views.report.html import STYLE, policy

MOST_ROWS: Final = 60


def metrics_page(title: str, reports: Mapping[str, Report]) -> str:
    """The page of these views, by their names; all are about the same runs."""
    notes = next(iter(reports.values())).notes
    body = "\n".join(_sections(reports))
    foot = "".join(f"<li>{text(note)}</li>" for note in notes)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy()}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{text(title)}</h1>\n{body}\n"
        + (f"<section>\n<h2>What was left out</h2>\n<ul>{foot}</ul>\n</section>\n" if foot else "")
        + "</main>\n</body>\n</html>\n"
    )


def _sections(reports: Mapping[str, Report]) -> Iterator[str]:
    tables = {table.name: table for report in reports.values() for table in report.tables}
    weekly = tables.get("weekly")
    if weekly is not None and weekly.rows:
        yield _section(_quality_title(weekly), _quality(weekly), weekly)
    if "crafts" in tables:
        yield _section("How often the work of each agent stood", _shares(tables["crafts"]), tables["crafts"])
    if "agents" in tables:
        yield _section("What reviewers gave to the work of each agent", "", tables["agents"])
    if "costs" in tables:
        yield _section(_cost_title(tables["costs"]), _costs(tables["costs"]), tables["costs"])
    if "subject" in tables:
        name = tables["subject"].title
        yield _section(f"Iterations of {name}", _iterations(tables["subject"]), tables["subject"])
    for name, heading in (
        ("total", "All costs"),
        ("errors", "Why attempts did not succeed"),
        ("context", "How full context windows were"),
        ("advice", "Suggestions"),
        ("runs", "Recent runs"),
    ):
        if name in tables:
            yield _section(heading, "", tables[name])


def _section(heading: str, picture: str, table: MetricTable) -> str:
    notes = "".join(f'<p class="quiet">{text(note)}</p>' for note in table.notes)
    numbers = _table(table)
    if picture:
        picture = f'<div class="scroll">{picture}</div>\n'
        numbers = f"<details><summary>The numbers</summary>{numbers}</details>"
    return f"<section>\n<h2>{text(heading)}</h2>\n{picture}{numbers}{notes}\n</section>"


def _table(table: MetricTable) -> str:
    if not table.rows:
        return '<p class="quiet">nothing was counted</p>'
    head = "".join(f"<th>{text(column.label)}</th>" for column in table.columns)
    rows = "".join(
        "<tr>"
        + "".join(f"<td>{text(column.cell(row[column.key]))}</td>" for column in table.columns)
        + "</tr>"
        for row in table.rows[:MOST_ROWS]
    )
    more = len(table.rows) - MOST_ROWS
    note = f'<p class="quiet">and {more} more</p>' if more > 0 else ""
    return f'<div class="scroll"><table><tr>{head}</tr>{rows}</table></div>{note}'


def _quality_title(table: MetricTable) -> str:
    scores = [row["score"] for row in table.rows if row["score"] is not None]
    if len(scores) < 2:
        return "Quality by week"
    return f"The mean score of a week went from {scores[0]:.1f} to {scores[-1]:.1f}"


def _quality(table: MetricTable) -> str:
    by_week = {row["week"]: row for row in table.rows}
    points = []
    for week in range(min(by_week), max(by_week) + 1):
        score = by_week[week]["score"] if week in by_week else None
        words = "no score" if score is None else f"{score:.2f}, {by_week[week]['scored']} runs with a score"
        points.append(Point(week_name(week), score, words))
    return line(points, "mean score by week")


def _shares(table: MetricTable) -> str:
    rows = [
        Whisker(
            f"{row['craft']}: {row['agent']}",
            row["stood"].share,
            row["stood"].low,
            row["stood"].high,
            _words(row),
        )
        for row in table.rows[:MOST_ROWS]
    ]
    return whiskers(rows, "share of visits that stood, by agent, with intervals")


def _words(row: Mapping[str, object]) -> str:
    share = row["stood"]
    return f"{share_cell(share)}, n {row['visits']}"  # type: ignore[arg-type]  # the column is a share


def _cost_title(table: MetricTable) -> str:
    if not table.rows:
        return "Costs by agent"
    first, total = table.rows[0], sum(row["usd"] or 0 for row in table.rows)
    return f"{first['name']} cost {cost_cell(first['usd'])} of {dollars(total)}"


def _costs(table: MetricTable) -> str:
    rows: Sequence[BarOf] = [
        BarOf(
            text_cell(row["name"]),
            row["usd"] or 0,
            cost_cell(row["usd"]) + (f" + {row['unknown_calls']} unknown" if row["unknown_calls"] else ""),
        )
        for row in table.rows[:MOST_ROWS]
    ]
    return bars(rows, "cost by agent")


def _iterations(table: MetricTable) -> str:
    points = [
        Point(
            str(row["iteration"]), row["score"], "no score" if row["score"] is None else f"{row['score']:.1f}"
        )
        for row in table.rows
    ]
    return line(points, "score of each iteration")
