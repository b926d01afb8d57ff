"""`podium top`: all runs in the terminal, and answers to their questions."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from podium.errors import ConfigurationError
from podium.frontends.cli.open_run import in_project
from podium.frontends.cli.output import tell_data

if TYPE_CHECKING:
    from podium.app.project import Project


@click.command("top", short_help="Watch all runs in the terminal and decide there.")
@in_project(create=True)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the list once, in the order of the screen, and exit; its schema: podium schema --of runs.",
)
def command(project: Project, as_json: bool) -> int:
    """Show all runs of this project, those that wait for a person first, and keep the screen up to date.

    The selected run shows its question with the proof about exactly the tree in question. `a` approves, `r` rejects
    with words, `d` shows the change, `l` the logs, `?` lists all keys. Needs the extra `tui`.
    """
    if as_json:
        return _print_rows(project)
    if find_spec("textual") is None:
        raise ConfigurationError(
            "podium top needs the library textual", hint="pip install 'podium[tui]'", code="extra_missing"
        )
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigurationError("podium top needs a terminal", hint="podium inbox prints what waits for you")
    from podium.frontends.tui.top import Top

    Top(project).run()
    return 0


def _print_rows(project: Project) -> int:
    from podium.app.query.shelf import Shelf
    from podium.frontends.tui.snapshot import read_rows
    from podium.views.files.run_json import list_data

    shelf = Shelf(project)
    tell_data([list_data(shelf.run(row.run).view) for row in read_rows(shelf)])
    return 0
