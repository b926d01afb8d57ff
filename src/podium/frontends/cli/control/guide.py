"""`podium guide`: send guidance to the agents of a run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import anyio
import click

from podium.app.run.answer import speaker
from podium.core.messages import Guide
from podium.frontends.cli.open_run import in_project
from podium.frontends.cli.options import by_option
from podium.frontends.cli.output import tell_run
from podium.views.format import first_of

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.core.hash_chain import RunId

SHOWN: Final = 3
"""Running steps that are named."""


@click.command("guide", short_help="Send guidance to the agents of a run.")
@in_project(run="required", open_only=True)
@click.argument("text")
@by_option
@click.option("--json", "as_json", is_flag=True, help="Print the run as JSON.")
def command(project: Project, run: RunId, text: str, by: str | None, as_json: bool) -> int:
    """Send TEXT to the agents of RUN; the next attempt to start gets it once, with its prompt.

    Attempts that are running do not get it, with any agent; they are named. An idle run is not resumed.
    """
    anyio.run(partial(project.commands.send, run, Guide(speaker(by), text), drives=False))
    view = project.queries.show(run)
    running = [step.path for step in view.steps if step.worked and step.status == "running"]
    without = f"; not those that run now: {first_of(running, SHOWN)}" if running else ""
    click.echo(f"run {run}: the next attempt that starts gets this guidance{without}", err=True)
    if as_json:
        tell_run(project, run)
    return 0
