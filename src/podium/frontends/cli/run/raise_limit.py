"""`podium raise`: raise the limit that ended a run, and continue it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from podium.app.run.answer import speaker
from podium.frontends.cli.confirm_rerun import confirm_rerun, dry_option, yes_option
from podium.frontends.cli.open_run import in_project
from podium.frontends.cli.options import by_option, detach_option, json_option

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.core.hash_chain import RunId


@click.command("raise", short_help="Raise the limit that ended a run, and continue it.")
@in_project(run="optional", then="limits")
@click.argument("limits", nargs=-1, metavar="UNIT=VALUE...")
@click.option("--why", default="", metavar="WORDS", help="Reason to record.")
@click.option(
    "--over-ceiling",
    is_flag=True,
    help="Also above the limits in the configuration of the user or the project.",
)
@by_option
@dry_option
@yes_option
@detach_option
@json_option
def command(  # noqa: PLR0913  # one argument per option
    project: Project,
    run: RunId,
    limits: tuple[str, ...],
    why: str,
    over_ceiling: bool,
    by: str | None,
    dry_run: bool,
    yes: bool,
    detach: bool,
    as_json: bool,
) -> int:
    """Set a higher limit for RUN (default: the newest), which ended because it reached one, and continue it in a new run.

    UNIT is usd, tokens, calls, time, transitions or members; VALUE is the new limit in total, such as usd=5 or
    time=2h. What passed is reused, and what was spent counts against the new limit. Who raised it and why is
    recorded in the new run; the workflow file is not changed.

    Refused for a run that was started with --no-human, and for processes of a step. The limits that the user's or
    the project's configuration sets are ceilings, which only --over-ceiling passes.
    """
    preview = project.commands.preview_raise(run, limits, by=speaker(by), why=why, over_ceiling=over_ceiling)
    # The typed value is the confirmation, unless the definition is another one.
    sure = yes or not preview.is_changed
    return confirm_rerun(project, preview, yes=sure, dry=dry_run, detach=detach, as_json=as_json)
