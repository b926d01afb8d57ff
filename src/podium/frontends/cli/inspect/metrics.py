"""`podium metrics`: figures over many runs."""

from __future__ import annotations

import os
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from podium.errors import ConfigurationError
from podium.frontends.cli.open_run import in_project, terminal_width
from podium.ports.clock import wall_clock

if TYPE_CHECKING:
    from podium.app.metrics.query import By, MetricsQuery
    from podium.app.project import Project
    from podium.views.metrics.tables import Report

VIEWS: Final = (
    "roles",
    "agents",
    "costs",
    "best",
    "trend",
    "weekly",
    "subject",
    "errors",
    "context",
    "runs",
    "auto",
    "reviewers",
    "advice",
)
DAYS: Final = {"d": 1, "w": 7}
DAY_MS: Final = 86_400_000
MONTH: Final = "30d"


@click.command(
    "metrics", short_help="Show success, quality, cost and time of agents and roles over many runs."
)
@in_project()
@click.argument("view", type=click.Choice(VIEWS), default="roles", metavar="[VIEW]")
@click.argument("name", required=False, default="", metavar="[NAME]")
@click.option(
    "--last", metavar="AGE", help="How far back, such as 30d, 8w or all. Default: 30d; all for subject."
)
@click.option("--since", metavar="DATE", help="From this day on (UTC), such as 2026-01-31.")
@click.option("--workflow", metavar="NAME", help="Only runs of this workflow.")
@click.option(
    "--by",
    type=click.Choice(("agent", "model", "role", "step", "craft")),
    help="Grouping of roles and costs.",
)
@click.option(
    "--all-projects", is_flag=True, help="Also runs that podium history pull copied from other projects."
)
@click.option("--played", is_flag=True, help="Also runs of scripted and recorded agents.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; its schema: podium schema --of metrics.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.option(
    "--prometheus", is_flag=True, help="Print counters of all time in the text format of Prometheus."
)
@click.option(
    "--html",
    "page",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write all views into FILE as one page with charts, without scripts.",
)
def command(  # noqa: PLR0913  # one argument per option
    project: Project,
    view: str,
    name: str,
    last: str | None,
    since: str | None,
    workflow: str | None,
    by: By | None,
    all_projects: bool,
    played: bool,
    as_json: bool,
    as_csv: bool,
    prometheus: bool,
    page: Path | None,
) -> int:
    """Show figures over many runs, with the interval in which the true value lies.

    VIEW is one of: roles (default), agents [NAME], costs, best CRAFT, trend, weekly, subject NAME, errors, context,
    runs, auto, reviewers, advice. A share of fewer than 5 is not shown. An agent is called best only with 20 samples and a clear difference.

    A visit of a step stood if it passed and nothing later in the run sent its work back. It counts for the agent that was
    asked first. Runs that podium gc has deleted still count.
    """
    if as_json + as_csv + prometheus + (page is not None) > 1:
        raise click.UsageError("choose one of --json, --csv, --html and --prometheus")
    if prometheus:
        from podium.app.telemetry.prometheus import prometheus_text

        click.echo(prometheus_text(project), nl=False)
        return 0
    if page is not None and (name or view != "roles"):
        raise click.UsageError("--html writes all views; leave out VIEW")
    if last is not None and since is not None:
        raise click.UsageError("--last and --since exclude each other")
    from podium.app.metrics.report import metrics, metrics_html
    from podium.files import atomic

    query = _period(last or ("all" if view == "subject" else MONTH), since, wall_clock())
    query = query._replace(workflow=workflow, by=by, name=name, played=played)
    if page is not None:
        atomic.write(
            page.absolute(), metrics_html(project, query, own=not all_projects).encode(), fsync=False
        )
        click.echo(f"wrote {page}", err=True)
        return 0
    report = metrics(project, view, query, own=not all_projects, plain=_is_plain())
    _tell(report, as_json=as_json, as_csv=as_csv)
    return 0


def _tell(report: Report, *, as_json: bool, as_csv: bool) -> None:
    from podium.frontends.cli.output import tell_data
    from podium.views.metrics.tables import csv_of, data_of, lines_of

    if as_json:
        tell_data(data_of(report))
    elif as_csv:
        click.echo(csv_of(report), nl=False)
    else:
        for line in lines_of(report, terminal_width()):
            click.echo(line)


def _period(last: str, since: str | None, now: int) -> MetricsQuery:
    from podium.app.metrics.query import MetricsQuery

    if since is not None:
        try:
            start = datetime.strptime(since, "%Y-%m-%d").replace(tzinfo=UTC)
        except ValueError as error:
            raise ConfigurationError(f"{since!r} is not a day", hint="write it as 2026-01-31") from error
        return MetricsQuery(int(start.timestamp() * 1000), now + 1, f"since {since}")
    if last == "all":
        return MetricsQuery(0, now + 1, "all time")
    match = re.fullmatch(r"(\d+)([dw])", last.strip())
    if match is None:
        raise ConfigurationError(f"{last!r} is not an age", hint="write 30d, 8w or all")
    days = int(match[1]) * DAYS[match[2]]
    return MetricsQuery(now - days * DAY_MS, now + 1, f"last {days} days")


def _is_plain() -> bool:
    """Whether lines are drawn with ASCII, for terminals and files that show nothing else."""
    try:
        "▁".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return True
    return os.environ.get("TERM") == "dumb"
