"""`podium signal`: tell a run that something it waits for has happened."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from podium.app.run.answer import speaker
from podium.app.values import parse_value
from podium.core.messages import Signal
from podium.frontends.cli.foreground import send_command
from podium.frontends.cli.open_run import in_project
from podium.frontends.cli.options import by_option, detach_option, json_option

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.core.hash_chain import RunId


@click.command("signal", short_help="Send a signal that a run is waiting for.")
@in_project(run="optional", then="name", open_only=True)
@click.argument("name", required=False, metavar="NAME")
@click.option("--data", metavar="VALUE", help="Output of the waiting step, as JSON or text.")
@by_option
@detach_option
@json_option
def command(  # one argument per option
    project: Project,
    run: RunId,
    name: str,
    data: str | None,
    by: str | None,
    detach: bool,
    as_json: bool,
) -> int:
    """Send the signal NAME to RUN (default: the newest); every step that waits for it continues.

    Refused if no step waits for it, so that a misspelled name is noticed.
    """
    signal = Signal(name, None if data is None else parse_value(data, "--data"), speaker(by))
    return send_command(
        project, run, signal, done=f"run {run}: signal {name} sent", as_json=as_json, detach=detach
    )
