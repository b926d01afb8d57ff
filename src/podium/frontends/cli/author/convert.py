"""`podium convert`: a file of another format as a native one."""

from __future__ import annotations

from pathlib import Path

import click

from podium.app.author.load import converted


@click.command("convert", short_help="Print a file of another format as a native one.")
@click.argument("file", type=click.Path(path_type=Path))
def command(file: Path) -> int:
    """Print the native form of a workflow, configuration, role or feature that was written for another tool.

    Such files also run as they are; convert one when you want to go on in the native language. What has no native
    form is named in comments, by its line.
    """
    click.echo(converted(file), nl=False)
    return 0
