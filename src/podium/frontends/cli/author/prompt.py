"""`podium prompt`: the prompt of a step."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from podium.frontends.cli.options import set_option
from podium.frontends.cli.output import say
from podium.frontends.cli.shell_completion import complete_step, complete_workflow_or_run

if TYPE_CHECKING:
    from podium.app.forecast.prompt import PromptRecord


@click.command("prompt", short_help="Print the prompt of a step, or one that a run sent.")
@click.argument("source", metavar="FILE|RUN", shell_complete=complete_workflow_or_run)
@click.argument("step", shell_complete=complete_step)
@click.option(
    "-i", "--input", "inputs", multiple=True, metavar="NAME=VALUE", help="Value of an input; repeatable."
)
@click.option(
    "--cast", type=click.Path(path_type=Path), help="How the steps before it go: a YAML list of rules."
)
@click.option("--attempt", type=click.IntRange(1, 1000), help="Attempt of a run (default: the newest).")
@set_option
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON object; its schema: podium schema --of prompt."
)
def command(
    source: str,
    step: str,
    inputs: tuple[str, ...],
    cast: Path | None,
    attempt: int | None,
    settings: tuple[str, ...],
    as_json: bool,
) -> int:
    """Print the system text and the prompt of STEP, with everything added to them, and their size.

    For a workflow FILE: the first prompt of the step. Earlier steps are simulated, so their outputs are
    invented or come from a cast. Nothing is started or written. For a RUN: the prompt that was sent, word for
    word.
    """
    is_file = source.endswith((".yaml", ".yml")) or Path(source).is_file()
    record = (
        _of_file(Path(source), step, inputs, cast, settings) if is_file else _of_run(source, step, attempt)
    )
    if as_json:
        click.echo(json.dumps({**asdict(record), "tokens": record.tokens}, indent=2))
        return 0
    if record.system:
        click.echo(f"=== system\n{record.system.rstrip()}\n\n=== prompt")
    click.echo(record.prompt, nl=False)
    author = " ".join(
        filter(None, (record.role, f"by {record.agent}" if record.agent else "by a person", record.model))
    )
    say(f"{record.step} attempt {record.attempt}: {author}, about {record.tokens} tokens", err=True)
    return 0


def _of_run(run: str, step: str, attempt: int | None) -> PromptRecord:
    from podium.frontends.cli.open_run import opened_project

    with opened_project() as project:
        return project.queries.prompt(project.run(run).run, step, attempt)


def _of_file(
    file: Path, step: str, inputs: tuple[str, ...], cast: Path | None, settings: tuple[str, ...]
) -> PromptRecord:
    from podium.app.author.load import load_workflow, parse_inputs
    from podium.app.forecast.prompt import told_by_file
    from podium.app.paths import project_root, user_dir
    from podium.app.values import parse_settings
    from podium.wiring import context_host

    project = project_root(file.absolute().parent)
    definition = load_workflow(file, user_dir=user_dir(), settings=parse_settings(settings))
    workflow = definition.workflow
    with context_host(project) as host:
        return told_by_file(workflow, step, inputs=parse_inputs(inputs, definition), cast=cast, host=host)
