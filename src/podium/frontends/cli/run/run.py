"""`podium run`: start a workflow."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import click

from podium.app.author.load import parse_inputs
from podium.app.placement import steps_at_home
from podium.app.run.cost_history import usual_times
from podium.app.run.start import RunRequest, StartedRun
from podium.app.values import parse_vars, read_values
from podium.core.payloads import Trial
from podium.core.queries.steps import may_call_agents
from podium.errors import ConfigurationError
from podium.frontends.cli.background import detach as run_detached
from podium.frontends.cli.confirm_rerun import finish
from podium.frontends.cli.foreground import Foreground, is_terminal
from podium.frontends.cli.gitignore import offer_ignore_lines
from podium.frontends.cli.open_run import in_project_of_file
from podium.frontends.cli.options import detail_options, role_option, set_option
from podium.frontends.cli.output import say, tell_output, tell_run
from podium.frontends.cli.question import ask_missing_inputs
from podium.frontends.cli.shell_completion import complete_sandbox
from podium.views.format import dollars, duration, first_of, plural
from podium.views.run.choices import choice_text
from podium.workflow.problems import did_you_mean

if TYPE_CHECKING:
    from podium.app.author.load import LoadedWorkflow
    from podium.app.project import Project
    from podium.app.run.cost_history import History
    from podium.core.hash_chain import RunId
    from podium.core.model import Workflow
    from podium.frontends.cli.live_display import Detail

SHOWN = 5


@click.command("run", short_help="Run a workflow.")
@in_project_of_file
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
@role_option
@click.option("--detach", is_flag=True, help="Run in the background and print the run id.")
@click.option("--sequential", is_flag=True, help="Run one attempt at a time.")
@click.option("--dirty", is_flag=True, help="Include uncommitted files.")
@click.option("--base", metavar="REF", help="Start from another branch, tag or commit than the current one.")
@click.option(
    "--note", default="", metavar="TEXT", help="What is new in this run, for comparisons: podium metrics."
)
@click.option("--no-human", is_flag=True, help="Fail instead of asking a person (for CI).")
@click.option(
    "--sandbox",
    metavar="LEVEL",
    help="Sandbox level: auto (default), container, bubblewrap, limits or none.",
    shell_complete=complete_sandbox,
)
@click.option(
    "--on",
    metavar="ADDRESS",
    envvar="PODIUM_ON",
    help="Let workers of a Temporal server perform it, such as temporal://localhost:7233/default.",
)
@click.option(
    "--exchange",
    metavar="URL",
    help="Repository by which workers get the project and return work.  [default: remote podium, or origin]",
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
@click.option(
    "--trial", hidden=True, help="The place of the run in an experiment, as JSON; podium compare sets it."
)
@click.option("--output", metavar="NAME", help="Print only this output of the workflow on stdout.")
@detail_options
@click.option("--json", "as_json", is_flag=True, help="Print the run as JSON when it stops.")
def command(  # noqa: PLR0913  # one argument per option
    project: Project,
    definition: LoadedWorkflow,
    inputs: tuple[str, ...],
    inputs_file: Path | None,
    vars_: tuple[str, ...],
    vars_file: Path | None,
    detach: bool,
    sequential: bool,
    dirty: bool,
    base: str | None,
    note: str,
    no_human: bool,
    sandbox: str | None,
    on: str | None,
    exchange: str | None,
    record: Path | None,
    replay: Path | None,
    yes: bool,
    trial: str | None,
    output: str | None,
    detail: Detail,
    as_json: bool,
) -> int:
    """Run a workflow in its project: the git repository around FILE, or its folder outside of git.

    Exit code: 0 passed, 1 failed, 4 rejected by a person, 5 limit reached, 6 waiting, 124 timed out, 130
    cancelled or interrupted; 2 if nothing was started, 3 if a path leaves the project, also during a step. At a
    terminal, inputs without a value and questions are asked here. Without one, a run that needs a person parks.
    """
    _check_options(
        on=on, exchange=exchange, record=record, replay=replay, output=output, awaited=not (as_json or detach)
    )
    workflow = definition.workflow
    _print_warnings(definition, detail)
    _check_output(workflow, output)
    request = RunRequest(
        note=note,
        definition=definition,
        inputs=_inputs(definition, inputs, inputs_file, may_ask=not (as_json or no_human)),
        vars={**read_values(vars_file), **parse_vars(vars_, workflow.vars)},
        dirty=dirty,
        base=base,
        no_human=no_human,
        sequential=sequential,
        sandbox=sandbox,
        on=on or "",
        exchange=exchange or "",
        record=_absolute(record),
        replay=_absolute(replay),
        trial=None if trial is None else Trial(**json.loads(trial)),
    )
    request, history, forecast = _with_forecast(project, request, yes=yes)
    started = project.commands.start(request, on_trial=partial(_announce, detail))
    _tell_start(started, forecast, detail, on or "")
    offer_ignore_lines(project, yes=yes)
    if detach:
        return _detach(project, started.run, on=on, as_json=as_json)
    shown: dict[str, Any] = {"as_json": as_json, "detail": detail, "usual": usual_times(history)}
    return _follow(project, Foreground(project, started.run, checks_base=on is None, **shown), output)


def _detach(project: Project, run: RunId, *, on: str | None, as_json: bool) -> int:
    if on is None:
        return run_detached(project, run, as_json=as_json)
    # Workers perform it, so no process is needed here.
    tell_run(project, run) if as_json else click.echo(run)
    return 0


def _follow(project: Project, display: Foreground, output: str | None) -> int:
    with display:
        driving = partial(project.commands.drive, display.run, park=display.parks, observer=display.observer)
        code = finish(project, display, anyio.run(driving))
    if output is not None:
        tell_output(project, display.run, output)
    return code


def _with_forecast(project: Project, request: RunRequest, *, yes: bool) -> tuple[RunRequest, History, str]:
    workflow = request.definition.workflow
    history = project.queries.history(workflow)
    forecast = _forecast(workflow, request, history)
    return replace(request, accepts=_accepted(workflow, request, yes=yes), history=history), history, forecast


def _tell_start(started: StartedRun, forecast: str, detail: Detail, on: str) -> None:
    if detail != "quiet":
        _warn(started, on)
        for chosen in started.chosen:
            say(f"  {choice_text(chosen)}", err=True)
        say(forecast, err=True)


def _inputs(
    definition: LoadedWorkflow, typed: tuple[str, ...], file: Path | None, *, may_ask: bool
) -> dict[str, Any]:
    values = {**read_values(file), **parse_inputs(typed, definition)}
    return ask_missing_inputs(definition, values) if may_ask and is_terminal() else values


def _check_options(
    *,
    on: str | None,
    exchange: str | None,
    record: Path | None,
    replay: Path | None,
    output: str | None,
    awaited: bool,
) -> None:
    if record is not None and replay is not None:
        raise click.UsageError("--record and --replay exclude each other")
    if exchange is not None and on is None:
        raise click.UsageError("--exchange needs --on")
    if output is not None and not awaited:
        raise click.UsageError("--output excludes --json and --detach")


def _print_warnings(definition: LoadedWorkflow, detail: Detail) -> None:
    for warning in definition.warnings if detail != "quiet" else ():
        say(warning.render(), err=True)


def _announce(detail: Detail, gate: str) -> None:
    if detail != "quiet":
        say(f"trying {gate}", err=True)


def _check_output(workflow: Workflow, name: str | None) -> None:
    names = [output for output, _ in workflow.outputs]
    if name is not None and name not in names:
        hint = did_you_mean(name, names) or f"its outputs: {', '.join(names) or 'none'}"
        raise ConfigurationError(f'{workflow.name} has no output "{name}"', hint=hint)


def _forecast(workflow: Workflow, request: RunRequest, history: History) -> str:
    """What is likely and the worst case in a line; the limits are what stops it."""
    if not may_call_agents(workflow):
        return "no agent calls"
    from podium.app.forecast.check import check_plan

    calls, limits = check_plan(workflow, request.inputs, history), workflow.limits
    if calls == 0:
        return "no agent calls"
    stops = [dollars(limits.usd)] if limits.usd is not None else []
    stops += [duration(limits.time)] if limits.time is not None else []
    stops += [f"{limits.tokens} tokens"] if limits.tokens is not None else []
    ended = f"; stops at {' or '.join(stops)}" if stops else ""
    most = "as many agent calls as the run will allow" if calls is None else plural(calls, "agent call")
    from podium.app.forecast.plan import likely_use

    likely = likely_use(workflow, request.inputs, history)
    if likely is None or likely.calls == calls:
        return f"at most {most}{ended}"
    usual = f"likely {plural(likely.calls, 'agent call')} and {dollars(likely.usd)}"
    path = f" if every retry and loop is used up (see: podium plan {_typed(request.definition.file)})"
    return f"{usual}; at most {calls if calls is not None else most}{path}{ended}"


def _accepted(workflow: Workflow, request: RunRequest, *, yes: bool) -> tuple[str, ...]:
    """Agents that may work without a price. Without a terminal the run asks before their first call, and parks."""
    if yes:
        return ("*",)
    if workflow.unknown_cost != "ask" or request.replay is not None or workflow.limits.usd is None:
        return ()
    from podium.adapters.agents.registry import agent_types
    from podium.app.run.preflight import agents_without_price

    names = agents_without_price(workflow, agent_types())
    for name in names:
        warning = (
            f'what calls of "{name}" cost will not be known; each is booked with what is reserved for it'
        )
        ways = f"write agents.{name}.price or limits: {{unknown_cost: count_tokens}}, or start with --yes"
        if request.no_human:
            raise ConfigurationError(
                f"{warning}, and --no-human forbids asking whether to continue", hint=ways
            )
        if not is_terminal():
            say(f"{warning}; the run will ask before the first one\n  hint: {ways}", err=True)
        elif not click.confirm(f"{warning}. Continue?", default=True, err=True):
            raise ConfigurationError(f'nothing was started: the price of "{name}" is unknown', hint=ways)
    return names if is_terminal() else ()


def _absolute(folder: Path | None) -> str | None:
    """Since the run may be resumed from another folder."""
    return None if folder is None else str(folder.absolute())


def _warn(started: StartedRun, on: str) -> None:
    say(f"run {started.run}", err=True)
    if on and (steps := steps_at_home(started.prepared.workflow)):
        say("these steps wait for a worker in this folder:", err=True)
        for step in steps:
            say(f"  {step}", err=True)
        say(f"  hint: podium worker --home --only --on {on}", err=True)
    # A run that works in the project itself ignores none of its files.
    if started.uncommitted and not started.host.context.works_in_project:
        files = f"{plural(len(started.uncommitted), 'uncommitted file')}: {_some(started.uncommitted)}"
        say(f"steps work on the last commit, without {files}", err=True)
        say("  hint: commit them, or pass --dirty to include them", err=True)


def _typed(file: Path) -> str:
    """The file as it can be typed here."""
    return shlex.quote(os.path.relpath(file))


def _some(names: tuple[str, ...]) -> str:
    return first_of(names, SHOWN)
