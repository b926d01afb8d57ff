"""Answers one question to the history: the view, with what it leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from podium.app.history.catch_up import opened_history
from podium.app.metrics.advice import advice
from podium.app.metrics.choices import auto
from podium.app.metrics.over_time import runs, subject, trend, weekly
from podium.app.metrics.query import MetricsQuery, Source
from podium.app.metrics.reviewers import label_reverts, reviewers
from podium.app.metrics.views import View, agents, best, context, costs, errors, roles
from podium.errors import ConfigurationError
from podium.views.metrics.page import metrics_page
from podium.views.metrics.tables import Report, line_cell

if TYPE_CHECKING:
    from podium.app.project import Project

VIEWS: Final[Mapping[str, View]] = {
    "roles": roles,
    "agents": agents,
    "costs": costs,
    "best": best,
    "trend": trend,
    "weekly": weekly,
    "subject": subject,
    "errors": errors,
    "context": context,
    "runs": runs,
    "auto": auto,
    "reviewers": reviewers,
    "advice": advice,
}
NAMED: Final[Mapping[str, str]] = {"best": "the craft", "subject": "the subject"}
"""Views that need a name, and of what."""
TITLES: Final[Mapping[str, str]] = {
    "roles": "Roles",
    "agents": "Agents",
    "costs": "Costs",
    "best": "Best agent",
    "trend": "Trend",
    "weekly": "Weeks",
    "subject": "Iterations",
    "errors": "Errors",
    "context": "Context windows",
    "runs": "Runs",
    "auto": "Choices of agent: auto",
    "reviewers": "Reviewers",
    "advice": "Suggestions",
}
PAGE: Final = ("weekly", "roles", "agents", "costs", "errors", "context", "advice", "runs")
"""The views on a page, besides the iterations of a subject."""


def report_of(source: Source, view: str, *, plain: bool = False) -> Report:
    """One view. With `plain`, lines are drawn with ASCII only."""
    if view in NAMED and not source.query.name:
        raise ConfigurationError(f"name {NAMED[view]}", hint=f"podium metrics {view} NAME")
    tables = VIEWS[view](source, line_cell(plain=plain))
    return Report(view, f"{TITLES[view]}, {source.title}", tables, source.notes())


def page_of(source: Source) -> str:
    """The page of a whole history. Its iterations are those of the subject with the newest run that has several."""
    reports = {name: report_of(source, name) for name in PAGE}
    subjects = [name for _, name, runs in source.rows("subjects") if runs > 1][:1]
    for name in subjects:
        about = source._replace(query=source.query._replace(name=name))
        reports["subject"] = report_of(about, "subject")
    return metrics_page(f"Metrics, {source.title}", reports)


def metrics_html(project: Project, query: MetricsQuery, *, own: bool) -> str:
    """Bring the history up to date and make a page of it."""
    with opened_history(project) as (history, done):
        scoped = query._replace(project=history.own.id if own else None)
        return page_of(Source(history, scoped, done))


def metrics(project: Project, view: str, query: MetricsQuery, *, own: bool, plain: bool = False) -> Report:
    """Bring the history up to date and answer; with `own` only of this project."""
    with opened_history(project) as (history, done):
        scoped = query._replace(project=history.own.id if own else None)
        if view == "reviewers":
            label_reverts(project, history)
        return report_of(Source(history, scoped, done), view, plain=plain)
