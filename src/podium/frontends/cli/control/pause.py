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

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.core.hash_chain import RunId


@click.command("pause", short_help="Pause a run after its active attempts finish.")
@in_project(run="optional", open_only=True)
@by_option
def command(project: Project, run: RunId, by: str | None) -> int:
    """Pause RUN (default: the newest): active attempts finish, nothing new starts, then its process exits.

    `podium resume` resumes it.
    """
    anyio.run(partial(project.commands.send, run, Pause(speaker(by)), drives=False))
    click.echo(f"run {run}: paused; to resume it: podium resume {run}", err=True)
    return 0
