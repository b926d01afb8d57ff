"""`podium apply`: land the work of a run that left it on its own ref."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from podium.app.run.apply import NotApplied
from podium.frontends.cli.confirm_rerun import confirm_rerun
from podium.frontends.cli.foreground import is_terminal
from podium.frontends.cli.open_run import in_project
from podium.frontends.cli.output import complain, say

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
    merged result; nothing is moved if one fails or the changes conflict. Then the message names the command that lets
    the step that made the work continue on top of the branch, and a terminal asks whether to start it. Applying twice
    changes nothing.
    """
    try:
        done = project.commands.apply(run, branch=branch, message=message)
    except NotApplied as refusal:
        rebase = refusal.rebase
        if rebase is None or not rebase.step or as_json or not is_terminal():
            raise
        complain(refusal)
        if not click.confirm(
            f"Let {rebase.step} continue on top of {rebase.branch}?", default=False, err=True
        ):
            return refusal.exit_code
        preview = project.commands.preview_rerun(run, step=rebase.step, onto=rebase.branch)
        return confirm_rerun(project, preview, yes=True, dry=False, detach=False, as_json=False)
    if as_json:
        click.echo(json.dumps(asdict(done), indent=2))
    else:
        say(done.text)
        if done.notes:
            say(done.notes, err=True)
    return 0
