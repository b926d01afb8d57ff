"""`podium apply`: land the work of a run that left it on its own ref."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from podium.frontends.cli.open_run import in_project

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.core.hash_chain import RunId


@click.command("apply", short_help="Merge a finished run's changes into a branch.")
@in_project(run="optional")
@click.option("--branch", metavar="NAME", help="Target branch (default: the one checked out).")
@click.option("-m", "--message", metavar="TEXT", help="Commit message.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(project: Project, run: RunId, branch: str | None, message: str | None, as_json: bool) -> int:
    """Merge the changes of RUN (default: the newest) into your branch as one commit.

    Only runs that passed can be applied. If the branch has moved, every command that passed is run again on the
    merged result; nothing is moved if one fails or the changes conflict. Applying twice changes nothing.
    """
    done = project.commands.apply(run, branch=branch, message=message)
    if as_json:
        click.echo(json.dumps(asdict(done), indent=2))
    else:
        click.echo(done.text)
        if done.notes:
            click.echo(done.notes, err=True)
    return 0
