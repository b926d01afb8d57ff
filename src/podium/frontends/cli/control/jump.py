"""`podium jump`: return a running run to an earlier step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from podium.app.run.answer import speaker
from podium.app.run.send import jump_to
from podium.frontends.cli.foreground import send_command
from podium.frontends.cli.open_run import in_project
from podium.frontends.cli.options import by_option, detach_option, json_option
from podium.frontends.cli.shell_completion import complete_step

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.core.hash_chain import RunId


@click.command("jump", short_help="Return a running run to an earlier step.")
@in_project(run="optional", then="step", open_only=True)
@click.argument("step", required=False, metavar="STEP", shell_complete=complete_step)
@click.option(
    "-m", "--message", default="", metavar="TEXT", help="Reason, which the next agent gets with its prompt."
)
@by_option
@detach_option
@json_option
def command(  # one argument per option
    project: Project,
    run: RunId,
    step: str,
    message: str,
    by: str | None,
    detach: bool,
    as_json: bool,
) -> int:
    """Return RUN (default: the newest) to STEP, which it has entered before; what runs now is ended, and the run continues from STEP.

    Only a step of a sequence that is still open can be named. The visit counts against the limits like any other. For
    a run that has ended: podium rerun RUN STEP.
    """
    order = jump_to(project, run, step, by=speaker(by), why=message)
    return send_command(
        project, run, order, done=f"run {run}: returns to {step}", as_json=as_json, detach=detach
    )
