"""`podium show`: one run with its steps, what it waits for and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from podium.frontends.cli.open_run import in_project, painter, terminal_width
from podium.frontends.cli.output import say, tell_data
from podium.ports.clock import wall_clock
from podium.views.files.run_json import run_data
from podium.views.run.thread import thread_data
from podium.views.text.terminal import run_lines
from podium.views.text.thread import thread_lines

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.core.hash_chain import RunId


@click.command("show", short_help="Show a run: its steps, open questions and next commands.")
@in_project(run="optional")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON; its schema: podium schema --of run.")
@click.option("--team", is_flag=True, help="Show what its workers asked each other, and their notes.")
@click.option(
    "--rebuild", "anew", is_flag=True, help="Rebuild the files of the run folder from the log first."
)
def command(project: Project, run: RunId, as_json: bool, team: bool, anew: bool) -> int:
    """Show a run: its steps with outcomes, durations and costs, and its open questions.

    RUN is an id, a prefix of one, or @2 for the second newest run; default: the newest.
    """
    if anew:
        project.commands.rebuild(run)
        say(f"wrote {project.paths.run_dir(run)} anew", err=True)
    if team:
        thread = project.queries.thread(run)
        if as_json:
            tell_data(thread_data(thread))
            return 0
        for line in thread_lines(thread):
            say(line)
        return 0
    view = project.queries.show(run)
    if as_json:
        tell_data(run_data(view, wall_clock()))
        return 0
    for line in run_lines(view, wall_clock(), painter(), width=terminal_width()):
        say(line)
    return 0
