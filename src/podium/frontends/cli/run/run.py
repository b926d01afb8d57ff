"""`podium run`: start a workflow."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from podium.app.author.load import open_workflow, parse_inputs
from podium.app.run.start import RunRequest, StartedRun, start_run
from podium.app.values import parse_settings, parse_vars, read_values
from podium.errors import ConfigurationError
from podium.frontends.cli.background import go_on_in_background
from podium.frontends.cli.completion import complete_sandbox, complete_workflow
from podium.frontends.cli.foreground import drive_with_display, is_terminal, open_project_for
from podium.frontends.cli.gitignore import offer_ignore_lines
from podium.frontends.cli.options import set_option
from podium.views.format import dollars, duration, plural

if TYPE_CHECKING:
    from podium.app.project import Office
    from podium.core.model import Workflow

SHOWN = 5


@click.command("run", short_help="Run a workflow.")
@click.argument("file", type=click.Path(path_type=Path), shell_complete=complete_workflow)
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
@set_option
@click.option("--detach", is_flag=True, help="Run in the background and print the run id.")
@click.option("--sequential", is_flag=True, help="Run one attempt at a time.")
@click.option("--dirty", is_flag=True, help="Include uncommitted files.")
@click.option("--no-human", is_flag=True, help="Fail instead of asking a person (for CI).")
@click.option(
    "--sandbox",
    metavar="LEVEL",
    help="Sandbox level: auto (default), container, bubblewrap, limits or none.",
    shell_complete=complete_sandbox,
)
@click.option(
    "--record",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder for recordings of all agent exchanges.",
)
@click.option(
    "--replay",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder with recordings that answer instead of agents.",
)
@click.option(
    "--yes", is_flag=True, help="Answer Podium's own questions with yes; steps and gates still ask."
)
@click.option("--json", "as_json", is_flag=True, help="Print the run as JSON when it stops.")
def command(  # noqa: PLR0913  # one argument per option
    file: Path,
    inputs: tuple[str, ...],
    inputs_file: Path | None,
    vars_: tuple[str, ...],
    vars_file: Path | None,
    settings: tuple[str, ...],
    detach: bool,
    sequential: bool,
    dirty: bool,
    no_human: bool,
    sandbox: str | None,
    record: Path | None,
    replay: Path | None,
    yes: bool,
    as_json: bool,
) -> int:
    """Run a workflow in its project: the git repository around FILE, or its folder outside of git.

    Exit code: 0 passed, 1 failed, 4 rejected by a person, 5 limit reached, 6 waiting, 124 timed out, 130
    cancelled or interrupted; 2 if nothing was started, 3 if a path leaves the project, also during a step. At a
    terminal, questions are asked here. Without one, a run that needs a person parks with exit code 6 (see
    `podium inbox`).
    """
    if record is not None and replay is not None:
        raise click.UsageError("--record and --replay exclude each other")
    office = open_project_for(file)
    typed = parse_settings(settings)
    workflow = open_workflow(file, user_dir=office.user_dir, project=office.project, settings=typed)
    order = RunRequest(
        file=file,
        inputs={**read_values(inputs_file), **parse_inputs(inputs, workflow)},
        vars={**read_values(vars_file), **parse_vars(vars_, workflow.vars)},
        dirty=dirty,
        no_human=no_human,
        sequential=sequential,
        sandbox=sandbox,
        record=_named(record),
        replay=_named(replay),
        settings=typed,
    )
    forecast = _forecast(office, workflow, order)
    begun = start_run(office, replace(order, accepts=_accepted(workflow, order, yes=yes)))
    _warn(begun)
    click.echo(forecast, err=True)
    offer_ignore_lines(office, yes=yes)
    if detach:
        go_on_in_background(office, begun.run)
        click.echo(begun.run)
        return 0
    return drive_with_display(office, begun.run, as_json=as_json)


def _forecast(office: Office, workflow: Workflow, order: RunRequest) -> str:
    """The worst case in a line; the limits are what stops it."""
    from podium.app.forecast.plan import check_plan
    from podium.app.run.cost_history import read_history

    history = read_history(office.runtime, workflow.name)
    calls, limits = check_plan(workflow, order.inputs, history), workflow.limits
    if calls == 0:
        return "no agent calls"
    stops = [dollars(limits.usd)] if limits.usd is not None else []
    stops += [duration(limits.time)] if limits.time is not None else []
    stops += [f"{limits.tokens} tokens"] if limits.tokens is not None else []
    ended = f"; stops at {' or '.join(stops)}" if stops else ""
    most = "as many agent calls as the run will allow" if calls is None else plural(calls, "agent call")
    return f"at most {most}{ended}"


def _accepted(workflow: Workflow, order: RunRequest, *, yes: bool) -> tuple[str, ...]:
    """Agents that may work without a price. Without a terminal the run asks before their first call, and parks."""
    if yes:
        return ("*",)
    if workflow.unknown_cost != "ask" or order.replay is not None or workflow.limits.usd is None:
        return ()
    from podium.adapters.agents.registry import agent_types
    from podium.app.run.preflight import agents_without_price

    names = agents_without_price(workflow, agent_types())
    for name in names:
        told = f'what calls of "{name}" cost will not be known; each is booked with what is reserved for it'
        ways = f"write agents.{name}.price or limits: {{unknown_cost: count_tokens}}, or start with --yes"
        if order.no_human:
            raise ConfigurationError(f"{told}, and nobody may be asked whether to go on", hint=ways)
        if not is_terminal():
            click.echo(f"{told}; the run will ask before the first one\n  hint: {ways}", err=True)
        elif not click.confirm(f"{told}. Go on?", default=True, err=True):
            raise ConfigurationError(f'nothing was started: the price of "{name}" is unknown', hint=ways)
    return names if is_terminal() else ()


def _named(folder: Path | None) -> str | None:
    """Whole, since the run may be carried on from elsewhere."""
    return None if folder is None else str(folder.absolute())


def _warn(begun: StartedRun) -> None:
    click.echo(f"run {begun.run}", err=True)
    if begun.uncommitted:
        click.echo(
            f"ignoring {plural(len(begun.uncommitted), 'uncommitted file')}: {_some(begun.uncommitted)}\n"
            "  hint: commit them, or pass --dirty to include them",
            err=True,
        )
    if begun.unheld:
        click.echo(
            f"not a git repository: `touches` is not enforced for: {_some(begun.unheld)}\n"
            "  hint: git init, and commit",
            err=True,
        )


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
