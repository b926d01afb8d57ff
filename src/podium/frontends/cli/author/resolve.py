"""`podium resolve`: a workflow after templates and configuration."""

from __future__ import annotations

from pathlib import Path

import click

from podium.app.author.load import resolved
from podium.app.paths import user_dir
from podium.app.values import parse_settings
from podium.frontends.cli.options import set_option
from podium.frontends.cli.output import tell_text
from podium.frontends.cli.shell_completion import complete_workflow


@click.command("resolve", short_help="Print the workflow with templates and configuration applied.")
@click.argument("file", type=click.Path(path_type=Path), shell_complete=complete_workflow)
@set_option
@click.option("--origin", is_flag=True, help="Annotate each key with the file and line it came from.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON object; its schema: podium schema --of text."
)
def command(file: Path, settings: tuple[str, ...], origin: bool, as_json: bool) -> int:
    """Print a workflow as one file with its templates and configuration merged in."""
    text = resolved(file, origin=origin, user_dir=user_dir(), settings=parse_settings(settings))
    tell_text(file, "yaml", text) if as_json else click.echo(text, nl=False)
    return 0
