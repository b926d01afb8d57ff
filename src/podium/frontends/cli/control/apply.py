"""`podium apply`: land the work of a run that left it on its own ref."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from podium.app.run.apply import apply
from podium.frontends.cli.foreground import open_current_project
from podium.frontends.cli.sender import run_named


@click.command("apply", short_help="Land the work of a run that left it on its own ref.")
@click.argument("run", required=False)
@click.option("--branch", metavar="NAME", help="Where it lands; default: the branch that is checked out.")
@click.option("-m", "--message", metavar="TEXT", help="The message of the commit.")
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
def command(run: str | None, branch: str | None, message: str | None, as_json: bool) -> int:
    """Land what RUN (default: the newest) has made, as one commit on your branch.

    Only runs that have passed can be applied. If the branch has moved since, every command that had passed is run again
    on the result, and nothing is moved if one fails or the change clashes. Doing it twice changes nothing.
    """
    office = open_current_project()
    done = apply(office, run_named(office, run), branch=branch, message=message)
    if as_json:
        click.echo(json.dumps(asdict(done), indent=2))
    else:
        click.echo(done.text)
        if done.notes:
            click.echo(done.notes, err=True)
    return 0
