"""`podium convert`: a file of another format as a native one."""

from __future__ import annotations

from pathlib import Path

import click

from podium.app.author.load import converted
from podium.frontends.cli.output import tell_text


@click.command("convert", short_help="Convert a file of another format to the native format.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON object; its schema: podium schema --of text."
)
def command(file: Path, as_json: bool) -> int:
    """Convert a workflow, configuration, role or feature file written for another tool and print it.

    Such files also run as they are. Convert one to continue in the native format. What has no native form is
    named in a comment with its line.
    """
    text = converted(file)
    tell_text(file, "yaml", text) if as_json else click.echo(text, nl=False)
    return 0
