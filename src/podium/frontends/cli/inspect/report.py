"""`podium report`: a run as one page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from podium.errors import ConfigurationError
from podium.files import atomic
from podium.frontends.cli.open_run import in_project
from podium.frontends.cli.output import tell_data

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.core.hash_chain import RunId


@click.command("report", short_help="Write a run as one HTML page, or as Markdown for a pull request.")
@in_project(run="optional")
@click.option(
    "-o",
    "output",
    metavar="FILE",
    help="Where to write it, - for stdout; default: podium-RUN.html, and stdout for Markdown.",
)
@click.option("--markdown", "as_markdown", is_flag=True, help="A short summary for a pull request.")
@click.option("--focus", is_flag=True, help="Leave out prompts and answers: short for --without prompts.")
@click.option(
    "--without",
    metavar="PARTS",
    help="Leave these out, separated by commas: diff, prompts, output, definition.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the result as JSON; its schema: podium schema --of report."
)
def command(
    project: Project,
    run: RunId,
    output: str | None,
    as_markdown: bool,
    focus: bool,
    without: str | None,
    as_json: bool,
) -> int:
    """Write a run as one page: picture, timeline, costs, decisions, findings, attempts, changes and output.

    The page needs no server and no network, and has no script. Secrets were masked when the run stored them; the changes
    are the project's code. A report proves nothing: podium export writes what can be verified.

    RUN is an id, a prefix of one, or @2 for the second newest run; default: the newest.
    """
    left_out = tuple(part.strip() for part in (without or "").split(",") if part.strip())
    text = project.queries.report(
        run, as_markdown=as_markdown, without=(*left_out, *(["prompts"] if focus else []))
    )
    file = output or ("-" if as_markdown else f"podium-{run}.html")
    if file != "-":
        _write(Path(file), text)
    if as_json:
        form = "markdown" if as_markdown else "html"
        tell_data({"run": run, "format": form, "file": None if file == "-" else file, "bytes": len(text),
                   "text": text.decode() if file == "-" else None})  # fmt: skip
    elif file == "-":
        click.echo(text, nl=False)
    else:
        click.echo(file)
    return 0


def _write(file: Path, text: bytes) -> None:
    try:
        atomic.write(file, text, fsync=False, mode=0o644)
    except OSError as error:
        raise ConfigurationError(
            f"cannot write {file}: {error.strerror}", hint="name another file with -o"
        ) from error
