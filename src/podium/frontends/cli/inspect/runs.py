"""`podium runs`: the runs of the project."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from podium.app.paths import has_runs, project_root
from podium.frontends.cli.open_run import opened_project, painter, terminal_width
from podium.frontends.cli.output import say
from podium.ports.clock import wall_clock
from podium.views.format import plural

if TYPE_CHECKING:
    from podium.app.project import Project

LAST: Final = 50
"""A list that a person can look through."""
STATUSES: Final = (
    *("running", "interrupted", "waiting", "parked", "paused"),
    *("passed", "failed", "rejected", "limited", "timed_out", "cancelled"),
)


@click.command("runs", short_help="List the runs of this project, newest first.")
@click.option(
    "-n",
    "--last",
    type=click.IntRange(min=1),
    help=f"How many. Default: {LAST}, with --json all.",
)
@click.option("--status", type=click.Choice(STATUSES), help="Only runs with this status.")
@click.option("--workflow", metavar="NAME", help="Only runs of this workflow.")
@click.option(
    "--search",
    metavar="TEXT",
    default="",
    help="Only runs with this text in an input, the workflow or the id.",
)
@click.option(
    "--waiting-for",
    metavar="NAME",
    help="Only runs with a question that this person may answer.",
)
@click.option(
    "--on",
    metavar="ADDRESS",
    help="Only runs of this Temporal server that have not ended, also those that others have started.",
)
@click.option("--all", "all_runs", is_flag=True, help="All runs.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON list; its schema: podium schema --of runs."
)
def command(  # the options of the command
    last: int | None,
    status: str | None,
    workflow: str | None,
    search: str,
    waiting_for: str | None,
    on: str | None,
    all_runs: bool,
    as_json: bool,
) -> int:
    """List the runs of this project, newest first: id, status, workflow, start (UTC), duration, cost.

    A run that waits for a person is listed with its question.

    Other commands take an id, a prefix of one, @2 for the second newest run, or nothing for the newest.
    """
    if all_runs and last is not None:
        raise click.UsageError("--all and --last exclude each other")
    limit = last or (None if all_runs or as_json else LAST)
    if on is None and not has_runs(project_root(Path.cwd())):
        say("[]") if as_json else say("no runs here yet; podium run FILE starts one", err=True)
        return 0
    from podium.views.files.run_json import list_data
    from podium.views.text.terminal import list_lines

    with opened_project(create=on is not None) as project:
        chosen = _chosen(project, waiting_for, on)
        page = project.queries.runs_page(
            limit=sys.maxsize if limit is None or chosen is not None else limit,
            status=() if status is None else (status,),
            workflow=workflow or "",
            text=search,
        )
    views, fitting = page.runs, sum(n for word, n in page.counts.items() if status in (None, word))
    if chosen is not None:
        views = tuple(view for view in views if view.run in chosen)
        fitting = len(views)
    if as_json:
        click.echo(json.dumps([list_data(view) for view in views], indent=2, ensure_ascii=False))
        return 0
    for line in list_lines(views, wall_clock(), painter(), terminal_width()):
        click.echo(line)
    if fitting > len(views):
        say(f"older runs not shown: {fitting - len(views)}; podium runs --all lists them", err=True)
    if not views:
        is_filtered = status is not None or workflow is not None or bool(search) or chosen is not None
        say("no run fits" if is_filtered else "no runs here yet; podium run FILE starts one", err=True)
    return 0


def _chosen(project: Project, waiting_for: str | None, on: str | None) -> frozenset[str] | None:
    """The runs that a server or a person chooses; None if neither does."""
    if on is not None:
        from podium.cluster import take_up_runs

        runs, others = take_up_runs(on, project, waiting_for)
        if others:
            say(f"{plural(others, 'run')} of other projects not shown", err=True)
        return frozenset(runs)
    if waiting_for is None:
        return None
    from podium.app.query.inbox import runs_waiting_for

    return runs_waiting_for(project, waiting_for)
