"""`podium resume`: resume a run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import anyio
import click

from podium.app.decide.sender import speaker_by
from podium.core.messages import Resume
from podium.frontends.cli.background import detach as run_detached
from podium.frontends.cli.confirm_rerun import confirm_rerun, dry_option, finish, yes_option
from podium.frontends.cli.foreground import Foreground
from podium.frontends.cli.open_run import in_project
from podium.frontends.cli.options import detach_option, detail_options, json_option
from podium.frontends.cli.output import say, tell_run

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.core.hash_chain import RunId
    from podium.frontends.cli.live_display import Detail
    from podium.ports.runtime import Park


ENDED: Final = ("failed", "rejected", "limited", "timed_out")
"""Ends that a person may want to get past; who cancelled a run wanted it to end."""


@click.command("resume", short_help="Resume a parked, paused, interrupted, killed or failed run.")
@in_project(run="optional")
@click.option("--accept-changes", is_flag=True, help="Continue in a new run with the current definition.")
@dry_option
@yes_option
@detach_option
@click.option("--until-idle", is_flag=True, help="Also exit while the run is only waiting for a timer.")
@detail_options
@json_option
def command(  # noqa: PLR0913  # one argument per option
    project: Project,
    run: RunId,
    accept_changes: bool,
    dry_run: bool,
    yes: bool,
    detach: bool,
    until_idle: bool,
    detail: Detail,
    as_json: bool,
) -> int:
    """Resume RUN (default: the newest).

    A run that has failed, was rejected or reached a limit, continues in a new run: what has passed is
    reused, the failed step and what follows run again. Listed first is what is reused and what is not; after an edit
    you are asked to confirm it.

    If RUN has continued as a new run, the newest run of that series is resumed.

    Nothing else that has a recorded result runs again. Attempts that were active when their process died are
    repeated, unless their step says `recovery: ask`; then you are asked. The exit code is that of the run.

    After an edit of the workflow, a prompt or a role, --accept-changes lists which results are still valid and
    what the others cost last time, and continues in a new run that reuses the valid ones. RUN is closed if it
    was not finished.
    """
    run = project.queries.newest_of_series(run)
    status = project.run(run).status
    if accept_changes or status in ENDED:
        preview = project.commands.preview_rerun(run)
        # A run that failed continues without a question, unless the definition is another one.
        sure = yes or (status in ENDED and not preview.is_changed and not accept_changes)
        by = speaker_by("cli").name
        return confirm_rerun(project, preview, yes=sure, dry=dry_run, detach=detach, as_json=as_json, by=by)
    if project.runtime.is_owned(run) and project.queries.show(run).status == "paused":
        # Its attempts are still finishing, so the process that paused it simply continues.
        anyio.run(partial(project.commands.send, run, Resume(speaker_by("cli").name), drives=False))
        say(
            f"run {run}: continues in the process that drives it; to follow it: podium logs {run} -f",
            err=True,
        )
        if as_json:
            tell_run(project, run)
        return 0
    if dry_run:
        raise click.UsageError("--dry-run is for --accept-changes, and for a run that has ended")
    if detach:
        return run_detached(project, run, as_json=as_json)
    if status in ("passed", "cancelled") and detail != "quiet":
        say(f"run {run} has ended, so there is nothing to resume: {status}", err=True)
    commands = (Resume(speaker_by("cli").name),) if status == "paused" else ()
    # A run that was started with --detach is driven here from its beginning.
    with Foreground(project, run, as_json=as_json, detail=detail, checks_base=True) as display:
        park: Park = "clock" if until_idle else display.parks
        driving = partial(project.commands.drive, run, *commands, park=park, observer=display.observer)
        return finish(project, display, anyio.run(driving))
