"""`podium run-step`: run a single step."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

from podium.app.author.load import parse_inputs
from podium.app.run.run_step import change_of, check_new_folder, copy_artifacts, step_run
from podium.app.run.start import RunRequest
from podium.app.values import parse_vars, read_values
from podium.files.project_paths import STATE_DIR
from podium.frontends.cli.foreground import Foreground
from podium.frontends.cli.open_run import in_project_of_file
from podium.frontends.cli.shell_completion import complete_sandbox, complete_step
from podium.wiring import open_project

if TYPE_CHECKING:
    from podium.app.author.load import LoadedWorkflow
    from podium.app.project import Project


@click.command("run-step", short_help="Run a single step and discard the result.")
@in_project_of_file
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
@click.option(
    "--artifacts",
    "artifacts_dir",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="New or empty folder for the artifacts of the step, which are discarded otherwise.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the run as JSON.")
def command(  # noqa: PLR0913  # one argument per option
    project: Project,
    definition: LoadedWorkflow,
    step: str,
    inputs: tuple[str, ...],
    inputs_file: Path | None,
    vars_: tuple[str, ...],
    vars_file: Path | None,
    dirty: bool,
    no_human: bool,
    sandbox: str | None,
    artifacts_dir: Path | None,
    as_json: bool,
) -> int:
    """Run STEP of the workflow FILE once, with its gates and attempts, and print what it changed.

    The run is separate from all others and is deleted afterwards; no branch, record or other run is touched.
    STEP is a name, or block/name. A step that reads results of other steps cannot run alone; the missing ones
    are named.
    """
    if artifacts_dir is not None:
        check_new_folder(artifacts_dir)
    workflow = definition.workflow
    request = RunRequest(
        definition=definition,
        inputs={**read_values(inputs_file), **parse_inputs(inputs, definition)},
        vars={**read_values(vars_file), **parse_vars(vars_, workflow.vars)},
        dirty=dirty,
        no_human=no_human,
        sandbox=sandbox,
    )
    with tempfile.TemporaryDirectory(prefix="podium-step-") as folder:
        state_dir = Path(folder) / STATE_DIR
        apart = open_project(project.root, user_dir=project.user_dir, create=True, state_dir=state_dir)
        try:
            with (
                step_run(apart, request, step) as started,
                Foreground(apart, started.run, as_json=as_json, asks=False) as display,
            ):
                driving = partial(apart.commands.drive, started.run, park=True, observer=display.observer)
                state = anyio.run(driving)
                code = display.finish(state, hints=False)
                text = "" if as_json else change_of(started, state)
                if artifacts_dir is not None:
                    copy_artifacts(apart.paths.run_dir(started.run), artifacts_dir)
        finally:
            apart.close()
    if text:
        click.echo(text, nl=False)
    return code
