"""`podium pause`: let a run come to rest."""

from __future__ import annotations

from functools import partial

import anyio
import click

from podium.app.run.answer import speaker
from podium.app.run.send import send
from podium.core.messages import Pause
from podium.frontends.cli.completion import complete_open_run
from podium.frontends.cli.foreground import open_current_project
from podium.frontends.cli.sender import by_option, run_named


@click.command("pause", short_help="Pause a run after its active attempts finish.")
@click.argument("run", required=False, shell_complete=complete_open_run)
@by_option
def command(run: str | None, by: str | None) -> int:
    """Pause RUN (default: the newest): active attempts finish, nothing new starts, then its process exits.

    `podium resume` resumes it.
    """
    office = open_current_project()
    name = run_named(office, run)
    anyio.run(partial(send, office, name, Pause(speaker(by)), drives=False))
    click.echo(f"run {name}: paused; podium resume {name} carries it on", err=True)
    return 0
