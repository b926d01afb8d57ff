"""`podium pause`: pause a run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import anyio
import click

from podium.app.run.answer import speaker
from podium.core.messages import Pause
from podium.frontends.cli.open_run import in_project
from podium.frontends.cli.options import by_option
from podium.frontends.cli.output import say, tell_run

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.core.hash_chain import RunId


@click.command("pause", short_help="Pause a run after its active attempts finish.")
@in_project(run="optional", open_only=True)
@by_option
@click.option("--json", "as_json", is_flag=True, help="Print the run as JSON.")
def command(project: Project, run: RunId, by: str | None, as_json: bool) -> int:
    """Pause RUN (default: the newest): active attempts finish, nothing new starts, then its process exits.

    `podium resume` resumes it.
    """
    anyio.run(partial(project.commands.send, run, Pause(speaker(by)), drives=False))
    say(f"run {run}: paused; to resume it: podium resume {run}", err=True)
    if as_json:
        tell_run(project, run)
    return 0
