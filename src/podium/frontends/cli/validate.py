"""`podium validate`: every mistake at once, by line."""

from __future__ import annotations

import json
from pathlib import Path

import click

from podium.app.workflows import Checked, check
from podium.frontends.cli.places import user_dir


@click.command("validate", short_help="Check workflow files and name every mistake by line.")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the problems as one JSON list.")
def command(files: tuple[Path, ...], as_json: bool) -> int:
    """Check workflow files without running anything.

    Prints file:line:col: message for each mistake and warning. Exit 0 if there is no mistake, 2 if there is one,
    3 if a path leaves the project.
    """
    results = [check(path, user_dir=user_dir()) for path in files]
    if as_json:
        rows = [_row(problem) for result in results for problem in result.problems]
        click.echo(json.dumps(rows, indent=2))
    else:
        for result in results:
            _tell(result)
    return max(result.exit_code for result in results)


def _tell(result: Checked) -> None:
    for problem in result.problems:
        click.echo(problem.render())
    errors, warnings = len(result.errors), len(result.warnings)
    if errors:
        click.echo(f"{result.path}: {_many(errors, 'mistake')}, {_many(warnings, 'warning')}", err=True)
    else:
        extra = f", {_many(warnings, 'warning')}" if warnings else ""
        click.echo(f"{result.path}: good{extra}", err=True)


def _many(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")


def _row(problem: object) -> dict[str, object]:
    fields = ("file", "line", "col", "rule", "message", "hint", "warning")
    return {name: _plain(getattr(problem, name)) for name in fields}


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | bool | None) else str(value)
