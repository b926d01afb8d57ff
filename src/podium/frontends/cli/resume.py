"""`podium resume`: carry on a run that stands."""

from __future__ import annotations

import getpass

import click

from podium.app.running import reopen
from podium.core.messages import Message, Resume
from podium.frontends.cli.background import go_on_in_background
from podium.frontends.cli.driving import drive, office_here
from podium.frontends.cli.speaking import detach_option, json_option, run_named


@click.command("resume", short_help="Carry on a run that was parked, paused, interrupted or killed.")
@click.argument("run", required=False)
@detach_option
@json_option
def command(run: str | None, detach: bool, as_json: bool) -> int:
    """Carry on RUN (default: the newest) where it stands.

    Whatever has a recorded result is not done again. What was in flight when its process died is done again, unless
    its step says `recovery: ask`; then you are asked. The exit code is that of the run.
    """
    office = office_here()
    name = run_named(office, run)
    if detach:
        go_on_in_background(office, name)
        click.echo(name)
        return 0
    first: tuple[Message, ...] = ()
    head = office.store.head(name)
    if head is not None and head.status == "paused":
        first = (Resume(getpass.getuser()),)
    return drive(office, reopen(office, name), *first, as_json=as_json)
