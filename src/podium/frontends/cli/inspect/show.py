"""`podium show`: one run with its steps, what it waits for and what to do next."""

from __future__ import annotations

import json

import click

from podium.app.paths import run_dir, user_dir
from podium.app.query.runs import rebuild, show
from podium.frontends.cli.open_run import found, now, painter, run_argument
from podium.views.files.run_json import run_data
from podium.views.text.terminal import run_lines


@click.command("show", short_help="Show a run: its steps, what it waits for, what to do next.")
@run_argument
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON; its schema: podium schema --of run.")
@click.option(
    "--rebuild", "anew", is_flag=True, help="First write the files of the run folder anew from the log."
)
def command(run: str | None, as_json: bool, anew: bool) -> int:
    """Show a run with its steps, their outcomes, times and costs, and the questions that are open.

    RUN is an id, the beginning of one, @2 for the newest but one; without it, the newest run.
    """
    with found(run) as (store, project, head):
        if anew:
            rebuild(store, project, head)
            click.echo(f"wrote {run_dir(project, head.run)} anew", err=True)
        view = show(store, project, head, user_dir=user_dir())
    if as_json:
        click.echo(json.dumps(run_data(view, now()), indent=2, ensure_ascii=False))
        return 0
    for line in run_lines(view, now(), painter()):
        click.echo(line)
    return 0
