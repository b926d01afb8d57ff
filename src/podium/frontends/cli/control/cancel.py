"""`podium cancel`: end a run before it is done."""

from __future__ import annotations

import json

import click

from podium.app.run.answer import speaker, view_of
from podium.core.messages import Cancel
from podium.errors import EXIT_CANCELLED, ConfigurationError, PathViolation
from podium.frontends.cli.completion import complete_open_run
from podium.frontends.cli.foreground import open_current_project, send_command
from podium.frontends.cli.sender import by_option, json_option, run_named
from podium.views.files.run_json import run_data


@click.command("cancel", short_help="Cancel a run; its `finally` steps still run.")
@click.argument("run", required=False, shell_complete=complete_open_run)
@click.option("--reason", default="", metavar="WORDS", help="Reason to record in the log.")
@click.option(
    "--force",
    is_flag=True,
    help="Skip `finally`. Also cancels a run whose definition changed, is broken or is missing.",
)
@by_option
@json_option
def command(run: str | None, reason: str, force: bool, by: str | None, as_json: bool) -> int:
    """Cancel RUN (default: the newest). Its work so far is kept: see `podium diff`.

    Running agents and commands are ended with everything they started, within two seconds.
    """
    office = open_current_project()
    name = run_named(office, run)
    message = Cancel(speaker(by), reason, force)
    try:
        code = send_command(office, name, message, done=f"run {name}: cancelling", as_json=as_json)
    except (ConfigurationError, PathViolation):
        # Its definition has changed, is broken or is gone: nobody can carry it on.
        if not force:
            raise
        office.runtime.abandon(name, message)
        if as_json:
            click.echo(json.dumps(run_data(view_of(office, name)), indent=2, ensure_ascii=False))
        click.echo(f"run {name}: ended as it is", err=True)
        return 0
    return 0 if code == EXIT_CANCELLED else code
