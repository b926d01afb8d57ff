"""`podium schema`: help for editors, and for programs that read what Podium prints."""

from __future__ import annotations

import click

from podium.app.author.schemas import names, schema_text


@click.command("schema", short_help="Print the JSON Schema of a file kind or of --json output.")
@click.option(
    "--of",
    "what",
    type=click.Choice(names()),
    default="workflow",
    show_default=True,
    help="Of which kind of file, or of which command's --json.",
)
@click.option(
    "--json", is_flag=True, expose_value=False, help="Accepted everywhere; a schema is JSON anyway."
)
def command(what: str) -> int:
    """Print the JSON Schema of workflow, configuration or feature files, or of what commands print as JSON.

    Save the schema of workflows next to your files and start each file with
    "# yaml-language-server: $schema=podium.schema.json".

    run: show, run, resume. runs, events (one line), verify, inbox: the commands of these names. problems:
    validate. simulation: simulate. init, prompt: these. roles, role, role_pack: roles list, show and install.
    state, log: files in a run's folder. step: a part of run.
    """
    click.echo(schema_text(what), nl=False)
    return 0
