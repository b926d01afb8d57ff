"""`podium rerun`: run a step again, and what depends on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from podium.frontends.cli.confirm_rerun import confirm_rerun, dry_option, yes_option
from podium.frontends.cli.open_run import in_project
from podium.frontends.cli.options import detach_option, json_option
from podium.frontends.cli.shell_completion import complete_step

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.core.hash_chain import RunId


@click.command("rerun", short_help="Run a step again in a new run that reuses all other results.")
@in_project(run="optional", then="step")
@click.argument("step", required=False, metavar="STEP", shell_complete=complete_step)
@click.option("--downstream", is_flag=True, help="Also run everything after it again.")
@click.option(
    "--onto",
    metavar="BRANCH",
    help="Merge the work of RUN onto BRANCH; STEP starts from there, resolves conflicts, and later steps run again.",
)
@dry_option
@yes_option
@detach_option
@json_option
def command(  # noqa: PLR0913  # one argument per option
    project: Project,
    run: RunId,
    step: str,
    downstream: bool,
    onto: str | None,
    dry_run: bool,
    yes: bool,
    detach: bool,
    as_json: bool,
) -> int:
    """Run STEP of RUN (default: the newest) again, in a new run from the same base.

    Requests that are identical to those of RUN reuse its results at no cost. STEP runs again, and so does every
    later step whose request changes with its new result. What RUN spent counts against the limits of the new
    run. The exit code is that of the new run.

    If STEP is a landing that failed because its branch has moved, and the work still does not fit, the step that made
    the work runs again from the work merged onto the branch, and lands it after all checks.
    """
    preview = project.commands.preview_rerun(run, step=step, downstream=downstream, onto=onto)
    return confirm_rerun(project, preview, yes=yes, dry=dry_run, detach=detach, as_json=as_json)
