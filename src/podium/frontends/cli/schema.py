"""`podium schema`: help for editors."""

from __future__ import annotations

import json

import click

from podium.workflow.json_schema import config_schema, feature_schema, workflow_schema


@click.command("schema", short_help="Print the JSON Schema of the file format, for editors.")
@click.option(
    "--of",
    "what",
    type=click.Choice(["workflow", "config", "feature"]),
    default="workflow",
    help="Of which kind of file.",
)
def command(what: str) -> int:
    """Print the JSON Schema of workflow files, or of configuration or feature files.

    Save it beside your workflows and begin each file with
    "# yaml-language-server: $schema=podium.schema.json".
    """
    schemas = {"workflow": workflow_schema, "config": config_schema, "feature": feature_schema}
    click.echo(json.dumps(schemas[what](), indent=2))
    return 0
