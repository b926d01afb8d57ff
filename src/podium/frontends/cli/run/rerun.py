"""`podium rerun`: do a step again, and what depends on it."""

from __future__ import annotations

import click

from podium.app.run.rerun import preview_rerun
from podium.frontends.cli.confirm_rerun import dry_option, go_on_from, yes_option
from podium.frontends.cli.foreground import open_current_project
from podium.frontends.cli.sender import detach_option, json_option, run_named


@click.command("rerun", short_help="Do a step of a run again, in a new run that takes the rest over.")
@click.argument("run")
@click.argument("step")
@click.option("--downstream", is_flag=True, help="Do everything that came after it again as well.")
@dry_option
@yes_option
@detach_option
@json_option
def command(
    run: str, step: str, downstream: bool, dry_run: bool, yes: bool, detach: bool, as_json: bool
) -> int:
    """Do STEP of RUN again.

    A new run begins where RUN began. Whatever is asked there in exactly the same words as before is taken over and
    costs nothing; STEP is done again, and after it whatever is asked differently because of its new result. What RUN
    has spent counts against the limits of the new run. The exit code is that of the new run.
    """
    office = open_current_project()
    prospect = preview_rerun(office, run_named(office, run), again=step, onwards=downstream)
    return go_on_from(office, prospect, yes=yes, dry=dry_run, detach=detach, as_json=as_json)
