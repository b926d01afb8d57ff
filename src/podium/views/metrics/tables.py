"""Tables of figures: the same rows as lines of a terminal, as data, and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, TypeAlias

from podium.views.format import count, dollars, duration
from podium.views.metrics.uncertainty import Mean, Share
from podium.views.plain import one_line

Cell: TypeAlias = Callable[[Any], str]
BARS: Final = "▁▂▃▄▅▆▇█"
PLAIN_BARS: Final = "12345678"
NONE: Final = "·"
PLAIN_NONE: Final = "."
WEEKS: Final = 8
DAY_MS: Final = 86_400_000


class Column(NamedTuple):
    key: str
    label: str
    cell: Cell
    right: bool = True


class MetricTable(NamedTuple):
    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Mapping[str, Any], ...]
    """Raw values by key: a Share, a Mean, numbers and texts; money in millionths of a dollar, times in milliseconds."""
    notes: tuple[str, ...] = ()
    """What the table says in words, and what it leaves out."""


class Report(NamedTuple):
    view: str
    title: str
    tables: tuple[MetricTable, ...]
    notes: tuple[str, ...]
    """What was left out of all tables."""


def share_cell(value: Share) -> str:
    if value.share is None or value.low is None or value.high is None:
        return f"too few ({value.hits} of {value.total})"
    return f"{_percent(value.share)} % ({_percent(value.low)}-{_percent(value.high)})"


def mean_cell(value: Mean) -> str:
    return _mean(value, lambda number: f"{number:.2f}")


def money_mean_cell(value: Mean) -> str:
    return _mean(value, lambda number: dollars(round(number)))


def _mean(value: Mean, form: Callable[[float], str]) -> str:
    if value.value is None:
        return "-"
    if value.low is None or value.high is None:
        return form(value.value)
    return f"{form(value.value)} ({form(max(0.0, value.low))}-{form(value.high)})"


def text_cell(value: Any) -> str:
    return "-" if value is None else one_line(str(value), 60)


def number_cell(value: Any) -> str:
    return "-" if value is None else f"{value:,}"


def decimal_cell(value: Any) -> str:
    return "-" if value is None else f"{value:.1f}"


def tokens_cell(value: Any) -> str:
    return "-" if value is None else count(value)


def money_cell(value: Any) -> str:
    return "-" if value is None else dollars(round(value))


def cost_cell(value: Any) -> str:
    """Money that was spent; None if it was spent and nothing of it is known."""
    return "unknown" if value is None else dollars(round(value))


def known_cost(usd: int, unknown_calls: int) -> int | None:
    """What is known of a cost; None if all of it is unknown, which is not zero."""
    return None if unknown_calls and not usd else usd


def time_cell(value: Any) -> str:
    return "-" if value is None else duration(round(value))


def percent_cell(value: Any) -> str:
    return "-" if value is None else f"{_percent(value)} %"


def day_cell(value: Any) -> str:
    return "-" if value is None else f"{datetime.fromtimestamp(value / 1000, UTC):%Y-%m-%d}"


def week_cell(value: Any) -> str:
    return week_name(value)


def _percent(share: float) -> int:
    return round(100 * share)


def week_name(week: int) -> str:
    """The ISO week, such as 2026-W07."""
    return f"{datetime.fromtimestamp((week * 7 - 3) * DAY_MS / 1000, UTC):%G-W%V}"


def week_of(at: int) -> int:
    """The number of the week that a time is in; weeks begin on Monday."""
    return (at // DAY_MS + 3) // 7


def sparkline(values: Sequence[float | None], *, plain: bool = False) -> str:
    """One letter for each value, from the lowest to the highest; a missing one is not zero."""
    bars, none = (PLAIN_BARS, PLAIN_NONE) if plain else (BARS, NONE)
    present = [value for value in values if value is not None]
    low, high = (min(present), max(present)) if present else (0.0, 0.0)
    step = (high - low) / (len(bars) - 1) if high > low else 0.0

    def bar(value: float | None) -> str:
        if value is None:
            return none
        return bars[round((value - low) / step)] if step else bars[len(bars) // 2]

    return "".join(bar(value) for value in values)


def line_cell(*, plain: bool) -> Cell:
    return lambda values: sparkline(values, plain=plain)


def lines_of(report: Report, width: int | None = None) -> list[str]:
    """The report for a terminal."""
    lines = [report.title]
    for table in report.tables:
        lines += ["", *([table.title] if table.title else []), *_table_lines(table), *table.notes]
    lines += [*([""] if report.notes else []), *report.notes]
    return (
        lines
        if width is None
        else [line if len(line) <= width else f"{line[: width - 1]}…" for line in lines]
    )


def _table_lines(table: MetricTable) -> list[str]:
    if not table.rows:
        return ["nothing was counted"]
    cells = [[column.label for column in table.columns]]
    cells += [[column.cell(row[column.key]) for column in table.columns] for row in table.rows]
    widths = [max(len(row[place]) for row in cells) for place in range(len(table.columns))]
    return [
        "  ".join(
            cell.rjust(width) if column.right else cell.ljust(width)
            for cell, width, column in zip(row, widths, table.columns, strict=True)
        ).rstrip()
        for row in cells
    ]


def data_of(report: Report) -> dict[str, Any]:
    """The report as JSON, with dollars and seconds."""
    return {
        "view": report.view,
        "title": report.title,
        "tables": [
            {
                "name": table.name,
                "title": table.title,
                "rows": [{key: _plain(key, value) for key, value in row.items()} for row in table.rows],
                "notes": list(table.notes),
            }
            for table in report.tables
        ],
        "notes": list(report.notes),
    }


def _plain(key: str, value: Any) -> Any:
    scale = 1_000_000 if key.endswith("usd") else 1000 if key.endswith("_s") else 1
    match value:
        case Share() | Mean():
            return {
                name: number / scale if isinstance(number, float) else number
                for name, number in value._asdict().items()
            }
        case tuple():
            return list(value)
        case int() | float() if scale != 1:
            return value / scale
        case _:
            return value


def csv_of(report: Report) -> str:
    """The rows of all tables; the parts of an interval are columns of their own."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for number, table in enumerate(data_of(report)["tables"]):
        if number:
            text.write("\n")
        rows = [_flat(row) for row in table["rows"]]
        names = list(dict.fromkeys(name for row in rows for name in row))
        writer.writerow(["table", *names])
        writer.writerows([[table["name"], *(_csv_cell(row.get(name)) for name in names)] for row in rows])
    return text.getvalue()


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, Mapping):
            flat |= {f"{key}_{part}": inner for part, inner in value.items()}
        elif isinstance(value, list):
            flat[key] = " ".join("" if inner is None else str(inner) for inner in value)
        else:
            flat[key] = value
    return flat


def _csv_cell(value: Any) -> Any:
    # A spreadsheet computes a text that begins so.
    return (
        f"'{value}"
        if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
        else value
    )


def claim_note(best: str | None, names: int) -> str:
    if names < 2:
        return ""
    return f"best: {best}" if best is not None else "no clear best"
