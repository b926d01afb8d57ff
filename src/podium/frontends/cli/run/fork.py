"""`podium fork`: a new run from a step of an earlier one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from podium.app.values import parse_values
from podium.frontends.cli.confirm_rerun import confirm_rerun, dry_option, yes_option
from podium.frontends.cli.open_run import in_project
from podium.frontends.cli.options import detach_option, json_option
from podium.frontends.cli.shell_completion import complete_step

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.core.hash_chain import RunId


@click.command("fork", short_help="Start a new run from a step of an earlier run.")
@in_project(run="required")
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
def command(  # one argument per option
    project: Project,
    run: RunId,
    step: str,
    inputs: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    detach: bool,
    as_json: bool,
) -> int:
    """Start a new run that reuses the results of RUN before STEP, and runs STEP and everything after it.

    RUN is not changed. The current definition is used, and inputs may get new values; results that depend on a
    change are computed again, even before STEP. The exit code is that of the new run.
    """
    preview = project.commands.preview_rerun(run, step=step, downstream=True, inputs=parse_values(inputs))
    return confirm_rerun(project, preview, yes=yes, dry=dry_run, detach=detach, as_json=as_json)
