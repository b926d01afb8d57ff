"""Shared by commands: tables, errors, and the problems of files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from podium.errors import PodiumError

if TYPE_CHECKING:
    from podium.app.author.load import Checked
    from podium.core.model import Workflow


def complain(error: PodiumError) -> None:
    click.echo(error.message, err=True)
    if error.hint:
        click.echo(f"  hint: {error.hint}", err=True)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    for row in (head, *rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def tell_problems(results: Sequence[Checked], *, as_json: bool) -> int:
    """All that is wrong, and the exit code that says so."""
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
        click.echo(f"{result.path}: good{extra}{_suites(result.workflow)}", err=True)


def _suites(workflow: Workflow | None) -> str:
    """Names the commands that run tests."""
    if workflow is None:
        return ""
    from podium.workflow.test_gates.listing import list_suites

    suites = [suite.described for suite in list_suites(workflow)]
    return f"\n  runs tests: {', '.join(suites)}" if suites else ""


def _many(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")


def _row(problem: object) -> dict[str, object]:
    fields = ("file", "line", "col", "rule", "message", "hint", "warning")
    return {name: _plain(getattr(problem, name)) for name in fields}


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | bool | None) else str(value)
