"""`podium validate`: every mistake at once, by line."""

from __future__ import annotations

from pathlib import Path

import click

from podium.app.author.load import check
from podium.app.paths import user_dir
from podium.app.values import parse_settings
from podium.frontends.cli.options import set_option
from podium.frontends.cli.output import tell_problems
from podium.frontends.cli.shell_completion import complete_workflow


@click.command("validate", short_help="Check workflow files and report every mistake by line.")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(path_type=Path), shell_complete=complete_workflow
)
@set_option
@click.option("--json", "as_json", is_flag=True, help="Print the problems as one JSON list.")
def command(files: tuple[Path, ...], settings: tuple[str, ...], as_json: bool) -> int:
    """Check workflow files without running anything.

    Prints file:line:col: message for each mistake and warning. Exit code 0 if there is no mistake, else 2; 3 if
    a path leaves the project.
    """
    results = [check(path, user_dir=user_dir(), settings=parse_settings(settings)) for path in files]
    return tell_problems(results, as_json=as_json)
