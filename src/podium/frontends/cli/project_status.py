"""`podium` without a command: the state of the project around the current folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from podium.app.author.workflow_files import workflow_files
from podium.app.paths import has_runs, project_root
from podium.frontends.cli.open_run import opened_project, painter, terminal_width
from podium.frontends.cli.output import say
from podium.ports.clock import wall_clock
from podium.views.text.project_status import LAST_RESULTS, status_lines

if TYPE_CHECKING:
    from podium.views.run.view import RunView


def print_status() -> None:
    """What runs, what waits for a person, the last results, and the next commands."""
    root = project_root(Path.cwd())
    open_runs, ended = _read_runs() if has_runs(root) else ((), ())
    click.echo(f"{root.name}: {_summary(open_runs, ended)}\n")
    files = tuple(workflow_files(root))
    for line in status_lines(open_runs, ended, files, wall_clock(), painter(), terminal_width()):
        say(line)


def _read_runs() -> tuple[tuple[RunView, ...], tuple[RunView, ...]]:
    """The runs that have not ended, with their questions, and the newest of the others."""
    from podium.app.query.runs import ENDED

    with opened_project() as project:
        open_runs = tuple(
            project.queries.show(head.run) for head in project.runtime.heads() if head.status not in ENDED
        )
        newest, _ = project.queries.runs(len(open_runs) + LAST_RESULTS)
    return open_runs, tuple(view for view in newest if view.ended is not None)


def _summary(open_runs: tuple[RunView, ...], ended: tuple[RunView, ...]) -> str:
    if not open_runs and not ended:
        return "no runs yet"
    return f"{len(open_runs)} not finished" if open_runs else "nothing is running"
