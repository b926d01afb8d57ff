"""`podium graph`: the steps and where they lead."""

from __future__ import annotations

from pathlib import Path

import click

from podium.app.author.load import open_workflow
from podium.app.paths import user_dir
from podium.frontends.cli.output import tell_text
from podium.frontends.cli.shell_completion import complete_workflow
from podium.views.text.graph import as_mermaid, as_text


@click.command("graph", short_help="Draw the steps of a workflow and their routes.")
@click.argument("file", type=click.Path(path_type=Path), shell_complete=complete_workflow)
@click.option(
    "--format", "form", type=click.Choice(["text", "mermaid"]), default="text", help="How to draw it."
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON object; its schema: podium schema --of text."
)
def command(file: Path, form: str, as_json: bool) -> int:
    """Draw a workflow as an outline, or as a Mermaid flowchart."""
    workflow = open_workflow(file, user_dir=user_dir())
    text = as_mermaid(workflow) if form == "mermaid" else as_text(workflow)
    tell_text(file, form, text) if as_json else click.echo(text, nl=False)
    return 0
