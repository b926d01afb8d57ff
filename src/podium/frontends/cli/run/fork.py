"""`podium fork`: a second run that shares the past of a first one."""

from __future__ import annotations

import click

from podium.app.run.rerun import preview_rerun
from podium.app.values import parse_values
from podium.frontends.cli.confirm_rerun import dry_option, go_on_from, yes_option
from podium.frontends.cli.foreground import open_current_project
from podium.frontends.cli.sender import detach_option, json_option, run_named


@click.command("fork", short_help="Begin a run that shares the past of another up to a step.")
@click.argument("run")
@click.option("--from", "step", metavar="STEP", required=True, help="Where the new run goes its own way.")
@click.option(
    "-i", "--input", "inputs", multiple=True, metavar="NAME=VALUE", help="Another value for an input."
)
@dry_option
@yes_option
@detach_option
@json_option
def command(
    run: str, step: str, inputs: tuple[str, ...], dry_run: bool, yes: bool, detach: bool, as_json: bool
) -> int:
    """Begin a new run that takes over what RUN has found out before STEP, and does STEP and all after it anew.

    RUN stays as it is. The definition is read as it stands now, and inputs may be given other values; what is asked
    differently because of that is done again even before STEP. The exit code is that of the new run.
    """
    office = open_current_project()
    prospect = preview_rerun(
        office, run_named(office, run), again=step, onwards=True, inputs=parse_values(inputs)
    )
    return go_on_from(office, prospect, yes=yes, dry=dry_run, detach=detach, as_json=as_json)
