"""`podium signal`: tell a run that something it waits for has happened."""

from __future__ import annotations

import click

from podium.app.run.answer import speaker
from podium.app.values import parse_value
from podium.core.messages import Signal
from podium.frontends.cli.completion import complete_open_run
from podium.frontends.cli.foreground import open_current_project, send_command
from podium.frontends.cli.sender import by_option, detach_option, json_option, run_named


@click.command("signal", short_help="Send a signal that a run is waiting for.")
@click.argument("run", shell_complete=complete_open_run)
@click.argument("name")
@click.option("--data", metavar="VALUE", help="Output of the waiting step, as JSON or text.")
@by_option
@detach_option
@json_option
def command(run: str, name: str, data: str | None, by: str | None, detach: bool, as_json: bool) -> int:
    """Send the signal NAME to RUN; every step that waits for it continues.

    Refused if no step waits for it, so that a misspelled name is noticed.
    """
    office = open_current_project()
    found = run_named(office, run)
    message = Signal(name, None if data is None else parse_value(data, "--data"), speaker(by))
    return send_command(
        office, found, message, done=f"run {found}: signal {name} sent", as_json=as_json, detach=detach
    )
