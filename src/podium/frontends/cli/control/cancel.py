"""`podium cancel`: end a run before it is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from podium.app.run.answer import speaker
from podium.core.messages import Cancel
from podium.errors import EXIT_CANCELLED, ConfigurationError, PathViolation
from podium.frontends.cli.foreground import send_command
from podium.frontends.cli.open_run import in_project
from podium.frontends.cli.options import by_option, json_option
from podium.frontends.cli.output import say, tell_run

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.core.hash_chain import RunId


@click.command("cancel", short_help="Cancel a run; its `finally` steps still run.")
@in_project(run="optional", open_only=True)
@click.option("--reason", default="", metavar="WORDS", help="Reason to record in the log.")
@click.option(
    "--force",
    is_flag=True,
    help="Skip `finally`. Also cancels a run whose definition changed, is broken or is missing.",
)
@by_option
@json_option
def command(project: Project, run: RunId, reason: str, force: bool, by: str | None, as_json: bool) -> int:
    """Cancel RUN (default: the newest). Its work so far is kept: see `podium diff`.

    Running agents and commands are ended with everything they started, within two seconds.
    """
    cancel = Cancel(speaker(by), reason, force)
    try:
        code = send_command(project, run, cancel, done=f"run {run}: cancelling", as_json=as_json)
    except (ConfigurationError, PathViolation):
        # Its definition has changed, is broken or is gone, so it cannot be driven.
        if not force:
            raise
        project.commands.abandon(run, cancel)
        if as_json:
            tell_run(project, run)
        say(f"run {run}: ended as it is", err=True)
        return 0
    return 0 if code == EXIT_CANCELLED else code
