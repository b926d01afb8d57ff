"""The place of a run in its series, from the first and the last event of the run."""

from __future__ import annotations

from podium.core.events import RunEnded, RunStarted
from podium.core.types import MicroUsd
from podium.views.format import dollars
from podium.views.run.view import SeriesView, StepView


def series_view(started: RunStarted | None, ended: RunEnded | None, total: StepView) -> SeriesView | None:
    """None for a run that neither continues another one nor is continued. `total` is what this run has used."""
    link = None if started is None else started.run.series
    following = "" if ended is None else ended.continued_by
    if started is None or (link is None and not following):
        return None
    if link is None:
        return SeriesView(started.run.id, 1, "", following, total.usd, total.tokens, total.calls, MicroUsd(0))
    # Before its first run of the series, a run that was repeated may have spent something too.
    return SeriesView(
        link.first,
        link.number,
        link.previous,
        following,
        MicroUsd(link.spent.usd + total.usd),
        link.spent.tokens + total.tokens,
        link.spent.calls + total.calls,
        link.unknown,
    )


def series_text(series: SeriesView) -> str:
    """One line about it."""
    unknown = f" and {dollars(series.unknown_usd)} booked for unknown costs" if series.unknown_usd else ""
    parts = (
        f"run {series.number} of the series of {series.first}: {dollars(series.usd)}{unknown} so far",
        f"after {series.previous}" if series.previous else "",
        f"continued by {series.next}" if series.next else "",
    )
    return ", ".join(filter(None, parts))
