"""`podium fork`: a second run that shares the past of a first one."""

from __future__ import annotations

import click

from podium.app.run.rerun import preview_rerun
from podium.app.values import parse_values
from podium.frontends.cli.completion import complete_run, complete_step
from podium.frontends.cli.confirm_rerun import dry_option, go_on_from, yes_option
from podium.frontends.cli.foreground import open_current_project
from podium.frontends.cli.sender import detach_option, json_option, run_named


@click.command("fork", short_help="Start a new run from a step of an earlier run.")
@click.argument("run", shell_complete=complete_run)
@click.option(
    "--from",
    "step",
    metavar="STEP",
    required=True,
    help="First step to run again.",
    shell_complete=complete_step,
)
@click.option(
    "-i", "--input", "inputs", multiple=True, metavar="NAME=VALUE", help="New value of an input; repeatable."
)
@dry_option
@yes_option
@detach_option
@json_option
def command(
    run: str, step: str, inputs: tuple[str, ...], dry_run: bool, yes: bool, detach: bool, as_json: bool
) -> int:
    """Start a new run that reuses the results of RUN before STEP, and runs STEP and everything after it.

    RUN is not changed. The current definition is used, and inputs may get new values; results that depend on a
    change are computed again, even before STEP. The exit code is that of the new run.
    """
    office = open_current_project()
    prospect = preview_rerun(
        office, run_named(office, run), again=step, onwards=True, inputs=parse_values(inputs)
    )
    return go_on_from(office, prospect, yes=yes, dry=dry_run, detach=detach, as_json=as_json)
