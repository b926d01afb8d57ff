"""`podium convert`: a file of another format as a native one."""

from __future__ import annotations

from pathlib import Path

import click

from podium.app.author.load import converted


@click.command("convert", short_help="Convert a file of another format to the native format.")
@click.argument("file", type=click.Path(path_type=Path))
def command(file: Path) -> int:
    """Convert a workflow, configuration, role or feature file written for another tool and print it.

    Such files also run as they are. Convert one to continue in the native format. What has no native form is
    named in a comment with its line.
    """
    click.echo(converted(file), nl=False)
    return 0
