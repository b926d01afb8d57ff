"""What agents cost, how often their work stood and how that changes, from the history of all runs."""

from __future__ import annotations

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from podium.app.metrics.query import MetricsQuery
from podium.app.metrics.report import metrics
from podium.errors import PodiumError
from podium.frontends.web.hub import Hub
from podium.frontends.web.render import page, picture
from podium.ports.clock import wall_clock
from podium.views.metrics.tables import MetricTable, Report, cost_cell, text_cell
from podium.views.pictures.charts import BarOf, bars

DAY_MS: Final = 86_400_000
PERIODS: Final = {"7": "last 7 days", "30": "last 30 days", "90": "last 90 days", "all": "all time"}
SHOWN: Final = ("costs", "roles", "agents", "errors", "advice")
MOST_ROWS: Final = 60


def costs(request: Request) -> Response:
    hub: Hub = request.app.state.hub
    period = request.query_params.get("last", "30")
    period = period if period in PERIODS else "30"
    now = wall_clock()
    since = 0 if period == "all" else now - int(period) * DAY_MS
    played = request.query_params.get("played") == "1"
    query = MetricsQuery(since, now + 1, PERIODS[period], played=played)
    sections: list[dict[str, Any]] = []
    notes: tuple[str, ...] = ()
    fault = ""
    project = hub.open_project(hub.shelves[0].project.root)
    try:
        for name in SHOWN:
            report = metrics(project, name, query, own=len(hub.shelves) == 1)
            notes = report.notes
            sections += [_section(report, table) for table in report.tables]
    except PodiumError as error:
        fault = error.message
    finally:
        project.close()
    return page(
        request,
        "costs.html",
        sections=sections,
        notes=notes,
        fault=fault,
        periods=PERIODS,
        period=period,
        played=played,
    )


def _section(report: Report, table: MetricTable) -> dict[str, Any]:
    return {
        "title": table.title or report.title,
        "columns": [(column.label, column.key) for column in table.columns],
        "rows": [
            [column.cell(row[column.key]) for column in table.columns] for row in table.rows[:MOST_ROWS]
        ],
        "more": max(0, len(table.rows) - MOST_ROWS),
        "notes": table.notes,
        "chart": _chart(table) if table.name == "costs" else None,
    }


def _chart(table: MetricTable) -> object:
    rows = [
        BarOf(text_cell(row["name"]), row["usd"] or 0, cost_cell(row["usd"]))
        for row in table.rows[:20]
        if "usd" in row
    ]
    return picture(bars(rows, "cost by agent")) if rows else None
