"""`podium apply`: land the work of a run that left it on its own ref."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from podium.app.run.apply import apply
from podium.frontends.cli.completion import complete_run
from podium.frontends.cli.foreground import open_current_project
from podium.frontends.cli.sender import run_named


@click.command("apply", short_help="Merge a finished run's changes into a branch.")
@click.argument("run", required=False, shell_complete=complete_run)
@click.option("--branch", metavar="NAME", help="Target branch (default: the one checked out).")
@click.option("-m", "--message", metavar="TEXT", help="Commit message.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(run: str | None, branch: str | None, message: str | None, as_json: bool) -> int:
    """Merge the changes of RUN (default: the newest) into your branch as one commit.

    Only runs that passed can be applied. If the branch has moved, every command that passed is run again on the
    merged result; nothing is moved if one fails or the changes conflict. Applying twice changes nothing.
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
