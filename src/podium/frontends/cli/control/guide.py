"""`podium guide`: say something to the agents of a run while it goes on."""

from __future__ import annotations

from functools import partial

import anyio
import click

from podium.app.run.answer import speaker
from podium.app.run.send import send
from podium.core.messages import Guide
from podium.frontends.cli.completion import complete_open_run
from podium.frontends.cli.foreground import open_current_project
from podium.frontends.cli.sender import by_option, run_named


@click.command("guide", short_help="Send guidance to the agents of a run.")
@click.argument("run", shell_complete=complete_open_run)
@click.argument("text")
@by_option
def command(run: str, text: str, by: str | None) -> int:
    """Send TEXT to the agents of RUN; the next attempt to start gets it once, with its prompt.

    Running attempts are not disturbed, and an idle run is not resumed.
    """
    office = open_current_project()
    name = run_named(office, run)
    anyio.run(partial(send, office, name, Guide(speaker(by), text), drives=False))
    click.echo(f"run {name}: the next attempt that starts gets this guidance", err=True)
    return 0
