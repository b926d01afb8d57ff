"""`podium graph`: the steps and where they lead."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from podium.app.author.load import open_workflow
from podium.app.paths import user_dir
from podium.errors import ConfigurationError
from podium.frontends.cli.open_run import can_show, opened_project
from podium.frontends.cli.output import tell_data
from podium.frontends.cli.shell_completion import complete_run, complete_workflow

if TYPE_CHECKING:
    from podium.core.model import Workflow
    from podium.core.types import Address
    from podium.views.pictures.states import NodeState

FORMS = ("text", "boxes", "mermaid", "dot", "svg")
PICTURES = ("boxes", "svg")
"""The forms that can show how far a run is."""


@click.command("graph", short_help="Draw the steps of a workflow and their routes.")
@click.argument("file", type=click.Path(path_type=Path), required=False, shell_complete=complete_workflow)
@click.option(
    "--format", "form", type=click.Choice(FORMS), help="How to draw it; default: text, or boxes with --run."
)
@click.option("--svg", "form", flag_value="svg", help="Short for --format svg.")
@click.option("--dot", "form", flag_value="dot", help="Short for --format dot.")
@click.option("--run", "run", metavar="RUN", shell_complete=complete_run, help="Draw how far this run is.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON object; its schema: podium schema --of text."
)
def command(file: Path | None, form: str | None, run: str | None, as_json: bool) -> int:
    """Draw a workflow, or with --run a run.

    text is an outline, boxes a drawing for the terminal, mermaid a flowchart for Markdown, dot the input of Graphviz, and
    svg a picture for a browser. boxes and svg also draw a run.
    """
    workflow, states = _subject(file, run, form)
    form = form or ("text" if run is None else "boxes")
    text = _drawn(workflow, form, states)
    if as_json:
        tell_data({"file": str(file or run), "format": form, "text": text, "document": None})
    else:
        click.echo(text, nl=False)
    return 0


def _subject(
    file: Path | None, run: str | None, form: str | None
) -> tuple[Workflow, Mapping[Address, NodeState] | None]:
    """The workflow to draw, and for a run the states of its steps."""
    if (file is None) == (run is None):
        raise click.UsageError("name a workflow file, or a run with --run")
    if run is None:
        assert file is not None
        return open_workflow(file, user_dir=user_dir()), None
    if form not in (None, *PICTURES):
        raise ConfigurationError(
            f"--format {form} cannot draw a run", hint="use --format boxes or --format svg"
        )
    with opened_project() as project:
        return project.queries.picture(project.run(run).run)


def _drawn(workflow: Workflow, form: str, states: Mapping[Address, NodeState] | None) -> str:
    # Imported here: each form needs only its own.
    if form in PICTURES:
        from podium.views.pictures import box_text, layout, svg

        figure = layout.layout(workflow, states)
        if form == "svg":
            return svg.paint(figure, workflow.name, states)
        return box_text.paint(figure, states, unicode=can_show(sys.stdout, box_text.CHARACTERS))
    from podium.views.text.graph import as_dot, as_mermaid, as_text

    return {"text": as_text, "mermaid": as_mermaid, "dot": as_dot}[form](workflow)
