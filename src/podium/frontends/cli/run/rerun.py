"""`podium rerun`: do a step again, and what depends on it."""

from __future__ import annotations

import click

from podium.app.run.rerun import preview_rerun
from podium.frontends.cli.completion import complete_run, complete_step
from podium.frontends.cli.confirm_rerun import dry_option, go_on_from, yes_option
from podium.frontends.cli.foreground import open_current_project
from podium.frontends.cli.sender import detach_option, json_option, run_named


@click.command("rerun", short_help="Run a step again in a new run that reuses all other results.")
@click.argument("run", shell_complete=complete_run)
@click.argument("step", shell_complete=complete_step)
@click.option("--downstream", is_flag=True, help="Also run everything after it again.")
@dry_option
@yes_option
@detach_option
@json_option
def command(
    run: str, step: str, downstream: bool, dry_run: bool, yes: bool, detach: bool, as_json: bool
) -> int:
    """Run STEP of RUN again, in a new run from the same base.

    Requests that are identical to those of RUN reuse its results at no cost. STEP runs again, and so does every
    later step whose request changes with its new result. What RUN spent counts against the limits of the new
    run. The exit code is that of the new run.
    """
    office = open_current_project()
    prospect = preview_rerun(office, run_named(office, run), again=step, onwards=downstream)
    return go_on_from(office, prospect, yes=yes, dry=dry_run, detach=detach, as_json=as_json)
