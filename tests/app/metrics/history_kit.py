"""A history of runs whose figures are known, because they are written down here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from podium.adapters.history.sqlite import SqliteHistory
from podium.app.metrics.query import MetricsQuery, Source
from podium.app.metrics.report import report_of
from podium.core import events
from podium.core.events import Event
from podium.views.history.projection import project_run
from podium.views.metrics.tables import MetricTable, Report
from tests.views.history.story import Story, approves, rejects

DAY: Final = 86_400_000
MONDAY: Final = int(datetime(2026, 1, 5, tzinfo=UTC).timestamp() * 1000)
"""The first day of the week 2026-W02."""


@dataclass(frozen=True, slots=True)
class Draft:
    """One run: an agent writes, a reviewer judges, and what it approves lands."""

    run: str
    day: int
    agent: str = "claude"
    usd: float | None = 0.10
    tokens: int = 1000
    seconds: float = 10
    retries: int = 0
    """Attempts whose gate fails before the one that passes."""
    score: float | None = 8.0
    parts: tuple[float, float] = (8.0, 8.0)
    """Hook and specifics."""
    approved: bool = True
    workflow: str = "posts"
    subject: str = ""
    note: str = ""
    simulated: str = ""
    failure: str = ""
    percent: int | None = None

    def log(self) -> list[Event]:
        story = Story(run=self.run, start=MONDAY + self.day * DAY, workflow=self.workflow, story=self.subject)
        first = story.log[0]
        assert isinstance(first, events.RunStarted)
        story.log[0] = replace(first, run=replace(first.run, subject=self.subject, note=self.note))
        story.enter("write")
        tree = f"tree-{self.run}"
        for attempt in range(1, self.retries + 2):
            story.call(
                "write",
                self.agent,
                attempt=attempt,
                role="writer",
                usd=self.usd,
                tokens=self.tokens,
                takes=self.seconds,
                tree=f"{tree}-{attempt}",
                files=1,
                simulated=self.simulated,
                percent=self.percent,
            )
            story.gate("write", attempt, passes=attempt == self.retries + 1, takes=0)
        if self.failure:
            story.call(
                "write",
                self.agent,
                attempt=self.retries + 2,
                role="writer",
                usd=0.0,
                tokens=0,
                kind="failed",
                reason=self.failure,
                takes=0,
            )
            return story.end("write", "failed", reason=self.failure).finish("failed", "failed")
        story.end("write")
        story.enter("audit", index=1)
        judged = f"{tree}-{self.retries + 1}"
        verdict = approves(self.score, judged) if self.approved else rejects(self.score, judged, "weak")
        scores = {"hook": self.parts[0], "specifics": self.parts[1]}
        story.call(
            "audit",
            "gemini",
            role="auditor",
            usd=0.01,
            tokens=100,
            takes=5,
            verdict=verdict,
            simulated=self.simulated,
        )
        last = story.log[-1]
        assert isinstance(last, events.AttemptEnded)
        story.log[-1] = replace(last, result={**(last.result or {}), "verdict": {"scores": scores}})
        story.end("audit", "passed" if self.approved else "rejected", score=self.score)
        if not self.approved:
            return story.finish("rejected", "rejected")
        story.enter("land", index=2)
        return story.end("land", result={"output": {"commit": "c1", "branch": "main"}}).finish()


def history_of(folder: Path, drafts: Sequence[Draft]) -> SqliteHistory:
    history = SqliteHistory(folder / "history.db", name="here")
    for draft in drafts:
        rows = project_run(draft.run, draft.workflow, draft.log(), head="h")
        assert rows is not None
        history.put(history.own, rows)
    return history


def asked(history: SqliteHistory, view: str, *, days: int = 56, **changes: Any) -> Report:
    query = MetricsQuery(MONDAY, MONDAY + days * DAY, "8 weeks", project=history.own.id)
    return report_of(Source(history, query._replace(**changes)), view)


def table(report: Report, name: str) -> MetricTable:
    (one,) = [each for each in report.tables if each.name == name]
    return one
