"""`podium run-step`: try one step."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from podium.app.author.load import open_workflow, parse_inputs
from podium.app.run.run_step import StepTrial, change_of, prepared
from podium.app.run.start import drive
from podium.app.values import parse_vars, read_values
from podium.files.project_paths import STATE_DIR
from podium.frontends.cli.completion import complete_sandbox, complete_step, complete_workflow
from podium.frontends.cli.foreground import Foreground, open_project_for
from podium.wiring import open_office


@click.command("run-step", short_help="Run a single step and discard the result.")
@click.argument("file", type=click.Path(path_type=Path), shell_complete=complete_workflow)
@click.argument("step", shell_complete=complete_step)
@click.option(
    "-i", "--input", "inputs", multiple=True, metavar="NAME=VALUE", help="Value of an input; repeatable."
)
@click.option(
    "--inputs", "inputs_file", type=click.Path(path_type=Path), help="YAML or JSON file with inputs."
)
@click.option(
    "--var",
    "--context",
    "vars_",
    multiple=True,
    metavar="NAME=VALUE",
    help="Initial value of a variable; repeatable.",
)
@click.option(
    "--context-file", "vars_file", type=click.Path(path_type=Path), help="YAML or JSON file with variables."
)
@click.option("--dirty", is_flag=True, help="Include uncommitted files.")
@click.option("--no-human", is_flag=True, help="Fail instead of asking a person.")
@click.option(
    "--sandbox",
    metavar="LEVEL",
    help="Sandbox level: auto (default), container, bubblewrap, limits or none.",
    shell_complete=complete_sandbox,
)
@click.option("--json", "as_json", is_flag=True, help="Print the run as JSON.")
def command(  # noqa: PLR0913  # one argument per option
    file: Path,
    step: str,
    inputs: tuple[str, ...],
    inputs_file: Path | None,
    vars_: tuple[str, ...],
    vars_file: Path | None,
    dirty: bool,
    no_human: bool,
    sandbox: str | None,
    as_json: bool,
) -> int:
    """Run STEP of the workflow FILE once, with its gates and attempts, and print what it changed.

    The run is separate from all others and is deleted afterwards; no branch, record or other run is touched.
    STEP is a name, or block/name. A step that reads results of other steps cannot run alone; the missing ones
    are named.
    """
    office = open_project_for(file)
    workflow = open_workflow(file, user_dir=office.user_dir, project=office.project)
    given = {**read_values(inputs_file), **parse_inputs(inputs, workflow)}
    trial = StepTrial(
        file=file,
        step=step,
        inputs=given,
        vars={**read_values(vars_file), **parse_vars(vars_, workflow.vars)},
        dirty=dirty,
        no_human=no_human,
        sandbox=sandbox,
    )
    with tempfile.TemporaryDirectory(prefix="podium-step-") as folder:
        apart = open_office(
            office.project, user_dir=office.user_dir, create=True, state_dir=Path(folder) / STATE_DIR
        )
        foreground = Foreground(apart, as_json=as_json)
        try:
            with prepared(apart, trial) as begun:
                state = drive(apart, begun.run, park=True, on_turn=foreground.on_turn)
                code = foreground.finish(state, hints=False)
                text = "" if as_json else change_of(begun, state)
        finally:
            apart.runtime.close()
    if text:
        click.echo(text, nl=False)
    return code
