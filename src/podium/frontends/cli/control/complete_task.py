"""`podium complete-task`: merge the work of a task after looking at what has judged it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from podium.errors import ConfigurationError
from podium.frontends.cli.control.apply import command as apply_command
from podium.frontends.cli.foreground import is_terminal
from podium.frontends.cli.open_run import in_project
from podium.frontends.cli.output import say
from podium.views.format import plural

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.core.hash_chain import RunId

SHOWN_FILES = 12


@click.command("complete-task", short_help="Merge the work of a task after looking at its verdicts.")
@in_project(run="optional")
@click.option("--branch", metavar="NAME", help="Target branch (default: the one checked out).")
@click.option("-m", "--message", metavar="TEXT", help="Commit message (default: the task).")
@click.option("--yes", is_flag=True, help="Do not ask before merging.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(
    project: Project,
    run: RunId,
    branch: str | None,
    message: str | None,
    yes: bool,
    as_json: bool,
) -> int:
    """Show what RUN (default: the newest) has changed and what has judged it, then merge it into your branch.

    Refused while a gate is red, or a verdict is about a tree that has changed since. The same as `podium apply` otherwise,
    with its exit codes.
    """
    from podium.app.query.diff import change_of
    from podium.app.tasks import faults_of, judged_trees, task_of

    view = project.queries.show(run)
    message = message or task_of(view)
    changes = project.queries.changes(change_of(view))
    say(f"message: {message or 'that of the workflow'}", err=True)
    say(f"target: {branch or view.branch or 'the branch that is checked out'}", err=True)
    say(f"{plural(len(changes), 'file')}:", err=True)
    for change in changes[:SHOWN_FILES]:
        say(f"  {change.status:<9} {change.path}", err=True)
    for judged in judged_trees(view):
        say(f"judged by {judged.line}", err=True)
    faults = list(faults_of(view))
    if faults:
        raise ConfigurationError(
            f"the task is not complete: {'; '.join(faults)}",
            hint=f"see: podium show {run}",
            code="not_complete",
        )
    if not yes:
        if not is_terminal():
            raise ConfigurationError("cannot ask for confirmation without a terminal", hint="pass --yes")
        if not click.confirm("Merge it?", default=True, err=True):
            return 0
    result: int = click.get_current_context().invoke(
        apply_command, run=run, branch=branch, message=message, as_json=as_json
    )
    return result
