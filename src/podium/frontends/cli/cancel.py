"""`podium cancel`: end a run before it is done."""

from __future__ import annotations

import click

from podium.app.answering import speaker
from podium.app.sending import abandon
from podium.core.messages import Cancel
from podium.engine.log import Changed
from podium.errors import EXIT_CANCELLED
from podium.frontends.cli.driving import office_here, say
from podium.frontends.cli.speaking import by_option, json_option, run_named


@click.command("cancel", short_help="End a run; its `finally` steps still run.")
@click.argument("run", required=False)
@click.option("--reason", default="", metavar="WORDS", help="Why; kept in the log.")
@click.option(
    "--force", is_flag=True, help="Leave out `finally`; also ends a run whose definition has changed."
)
@by_option
@json_option
def command(run: str | None, reason: str, force: bool, by: str | None, as_json: bool) -> int:
    """Cancel RUN (default: the newest). What it has done so far stays: see `podium diff`.

    Running agents and commands are ended with everything they have started, within two seconds.
    """
    office = office_here()
    name = run_named(office, run)
    message = Cancel(speaker(by), reason, force)
    try:
        code = say(office, name, message, done=f"run {name}: cancelling", as_json=as_json)
    except Changed:
        if not force:
            raise
        abandon(office, name, message)
        click.echo(f"run {name}: ended as it is", err=True)
        return 0
    return 0 if code == EXIT_CANCELLED else code
