"""`podium resume`: carry on a run that stands."""

from __future__ import annotations

import getpass

import click

from podium.app.query.runs import find_run
from podium.app.run.rerun import preview_rerun
from podium.core.messages import Resume
from podium.frontends.cli.background import go_on_in_background
from podium.frontends.cli.completion import complete_open_run
from podium.frontends.cli.confirm_rerun import dry_option, go_on_from, yes_option
from podium.frontends.cli.foreground import drive_with_display, open_current_project
from podium.frontends.cli.sender import detach_option, json_option, run_named


@click.command("resume", short_help="Resume a parked, paused, interrupted or killed run.")
@click.argument("run", required=False, shell_complete=complete_open_run)
@click.option("--accept-changes", is_flag=True, help="Continue in a new run with the current definition.")
@dry_option
@yes_option
@detach_option
@click.option("--until-idle", is_flag=True, help="Also exit while the run is only waiting for a timer.")
@json_option
def command(  # one argument per option
    run: str | None,
    accept_changes: bool,
    dry_run: bool,
    yes: bool,
    detach: bool,
    until_idle: bool,
    as_json: bool,
) -> int:
    """Resume RUN (default: the newest).

    Nothing that has a recorded result runs again. Attempts that were active when their process died are
    repeated, unless their step says `recovery: ask`; then you are asked. The exit code is that of the run.

    After an edit of the workflow, a prompt or a role, --accept-changes lists which results are still valid and
    what the others cost last time, and continues in a new run that reuses the valid ones. RUN is closed if it
    was not finished.
    """
    office = open_current_project()
    name = run_named(office, run)
    if accept_changes:
        prospect = preview_rerun(office, name)
        return go_on_from(
            office, prospect, yes=yes, dry=dry_run, detach=detach, as_json=as_json, by=getpass.getuser()
        )
    if dry_run:
        raise click.UsageError("--dry-run is for --accept-changes")
    if detach:
        go_on_in_background(office, name)
        click.echo(name)
        return 0
    head = find_run(office.runtime, name)
    commands = (Resume(getpass.getuser()),) if head.status == "paused" else ()
    return drive_with_display(office, name, *commands, as_json=as_json, parks="clock" if until_idle else None)
