"""Shared by commands: tables, errors, and the problems of files."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from podium.errors import PodiumError
from podium.views.plain import wrapped

if TYPE_CHECKING:
    from pathlib import Path

    from podium.app.author.load import Checked
    from podium.app.project import Project
    from podium.core.hash_chain import RunId
    from podium.core.model import Workflow


def say(text: str, *, err: bool = False) -> None:
    """Print words for people: at a terminal broken between words, in a pipe or file as they are."""
    stream = sys.stderr if err else sys.stdout
    width = shutil.get_terminal_size((80, 24)).columns if stream.isatty() else None
    click.echo("\n".join(wrapped(text, width)), err=err)


def complain(error: PodiumError) -> None:
    say(error.message, err=True)
    if error.hint:
        say(f"  hint: {error.hint}", err=True)


def tell_error(error: Exception) -> None:
    """Print an error as JSON in one line, so that it is a document and also the last line of a stream of lines."""
    click.echo(json.dumps({"error": error_data(error)}, ensure_ascii=False))


def error_data(error: Exception) -> dict[str, object]:
    """By data/schemas/error.json."""
    code, message, hint = _parts(error)
    problems = [dict(problem) for problem in error.problems] if isinstance(error, PodiumError) else []
    first = problems[0] if problems else {}
    data = {
        "code": code,
        "message": str(first.get("message") or message),
        "hint": first.get("hint") or hint or None,
        "file": first.get("file"),
        "line": first.get("line") or None,
    }
    return {**data, "problems": problems} if problems else data


def _parts(error: Exception) -> tuple[str, str, str | None]:
    match error:
        case PodiumError():
            return error.code, error.message, error.hint
        case click.UsageError():
            path = error.ctx.command_path if error.ctx is not None else "podium"
            return "usage", error.format_message(), f"{path} --help"
        case click.ClickException():
            return "usage", error.format_message(), None
        case click.Abort():
            return "interrupted", "interrupted before it was done", None
        case _:
            return (
                "internal",
                f"{type(error).__name__}: {error}",
                "this is a bug in Podium; stderr has the details",
            )


def tell_run(project: Project, run: RunId) -> None:
    """Print a run as it is now, by data/schemas/run.json."""
    from podium.ports.clock import wall_clock
    from podium.views.files.run_json import run_data

    tell_data(run_data(project.queries.show(run), wall_clock()))


def tell_output(project: Project, run: RunId, name: str) -> None:
    """Print one output of the workflow: text as it is, anything else as JSON; nothing if the run has not ended."""
    outputs = project.queries.show(run).outputs
    if name in outputs:
        value = outputs[name]
        click.echo(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def tell_data(data: object) -> None:
    click.echo(json.dumps(data, indent=2, ensure_ascii=False))


def tell_text(file: Path, form: str, text: str) -> None:
    """Print a text that was made from a file, with its content as data if it is YAML; by data/schemas/text.json."""
    from podium.workflow.source import yaml

    document = yaml.load(text, name=str(file)).value if form == "yaml" else None
    tell_data({"file": str(file), "format": form, "text": text, "document": document})


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    for row in (head, *rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def tell_problems(results: Sequence[Checked], *, as_json: bool) -> int:
    """All that is wrong, and the exit code that says so."""
    if as_json:
        rows = [problem.data() for result in results for problem in result.problems]
        click.echo(json.dumps(rows, indent=2))
    else:
        for result in results:
            _tell(result)
    return max(result.exit_code for result in results)


def _tell(result: Checked) -> None:
    for problem in result.problems:
        say(problem.render())
    errors, warnings = len(result.errors), len(result.warnings)
    if errors:
        say(f"{result.path}: {_many(errors, 'mistake')}, {_many(warnings, 'warning')}", err=True)
    else:
        extra = f", {_many(warnings, 'warning')}" if warnings else ""
        say(f"{result.path}: good{extra}{_suites(result.workflow)}", err=True)


def _suites(workflow: Workflow | None) -> str:
    """Names the commands that run tests."""
    if workflow is None:
        return ""
    from podium.workflow.test_gates.listing import list_suites

    suites = [suite.described for suite in list_suites(workflow)]
    return f"\n  runs tests: {', '.join(suites)}" if suites else ""


def _many(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")
