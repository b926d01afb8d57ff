"""`podium simulate`: rehearse a workflow; nothing touches the world."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from podium.app.author.load import load_workflow, parse_inputs
from podium.app.forecast.simulate import forecast, rehearse
from podium.app.paths import project_root, user_dir
from podium.app.values import parse_settings
from podium.errors import EXIT_WAITING
from podium.frontends.cli.open_run import planned_choices, stored_history
from podium.frontends.cli.options import set_option
from podium.frontends.cli.output import say
from podium.frontends.cli.progress import ProgressLine
from podium.frontends.cli.shell_completion import complete_workflow
from podium.simulate.statistics import RunStatistics, Spread, outcome_text
from podium.views.format import count, dollars, duration, plural
from podium.views.run.choices import choice_text
from podium.views.run.trace import Trace, TracedStep

MICRO = 1_000_000


@click.command("simulate", short_help="Simulate a workflow without agents, network or cost.")
@click.argument("file", type=click.Path(path_type=Path), shell_complete=complete_workflow)
@click.option("-n", "--runs", type=click.IntRange(1, 1_000_000), help="Number of random runs.")
@click.option("--cast", type=click.Path(path_type=Path), help="Scripted answers, a YAML list of rules.")
@click.option(
    "-i", "--input", "inputs", multiple=True, metavar="NAME=VALUE", help="Value of an input; repeatable."
)
@click.option(
    "-e", "--env", "env", multiple=True, metavar="NAME=VALUE", help="A variable of the environment."
)
@set_option
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(
    file: Path,
    runs: int | None,
    cast: Path | None,
    inputs: tuple[str, ...],
    env: tuple[str, ...],
    settings: tuple[str, ...],
    seed: int,
    as_json: bool,
) -> int:
    """Simulate a workflow in simulated time.

    Without -n: one run that follows the cast and passes wherever the cast is silent; the exit code is the
    run's. With -n: many random runs and their statistics.
    """
    if runs is not None and cast is not None:
        raise click.UsageError("-n draws the answers at random and --cast scripts them; choose one")
    definition = load_workflow(file, user_dir=user_dir(), settings=parse_settings(settings))
    workflow = definition.workflow
    values, around = parse_inputs(inputs, definition), parse_inputs(env)
    chosen = planned_choices(project_root(file.parent), definition)
    for each in chosen:
        say(choice_text(each), err=True)
    if runs is not None:
        history = stored_history(project_root(file.parent), workflow)
        with ProgressLine("simulated runs", runs) as progress:
            seeds = progress.track(range(seed, seed + runs))
            statistics = forecast(
                workflow, seeds=seeds, inputs=values, env=around, history=history, chosen=chosen
            )
        _tell_statistics(statistics, as_json)
        return 0
    rehearsal = rehearse(workflow, cast, inputs=values, env=around, chosen=chosen)
    for line, reason in rehearsal.unplayed:
        say(f"{cast}:{line}: nothing in this run matched this rule: {reason}", err=True)
    run = rehearsal.run
    click.echo(json.dumps(_run_data(run), indent=2)) if as_json else _tell_run(run)
    return EXIT_WAITING if run.exit is None else run.exit


def _tell_run(run: Trace) -> None:
    for step in run.steps:
        if step.role != "gates":
            click.echo(_line(step))
    unknown = f" and {plural(run.unknown_calls, 'call')} of unknown cost" if run.unknown_calls else ""
    spent = f"{duration(run.ended - run.started)}, {run.calls} agent calls, {dollars(run.usd)}{unknown}"
    status = run.status or "waiting for an answer"
    reason = f" ({run.reason})" if run.reason not in ("", run.status) else ""
    click.echo(f"\n{status}{reason}  {spent}")
    if run.message:
        click.echo(run.message)
    if run.continues:
        click.echo("it continues as a new run, which is not simulated")


def _line(step: TracedStep) -> str:
    """A step inside another one is indented above it, since it ended first."""
    mark = {"passed": "ok", "skipped": "--"}.get(step.outcome, "!!")
    indent = "  " * (step.path.count("/") + step.path.count("["))
    notes = [dollars(step.usd)] if step.usd else []
    notes += [f"{step.attempts} attempts"] if step.attempts > 1 else []
    notes += ["degraded"] if step.degraded else []
    took = duration(step.ended - step.started)
    return f"{mark} {indent + step.path:<36} {outcome_text(step):<20} {took:>7}  {'  '.join(notes)}".rstrip()


def _run_data(run: Trace) -> dict[str, Any]:
    return {
        "status": run.status or "waiting",
        "exit": run.exit,
        "reason": run.reason,
        "message": run.message,
        "duration_s": (run.ended - run.started) / 1000,
        "cost": {"usd": run.usd / MICRO, "unknown_calls": run.unknown_calls},
        "usage": {"tokens": run.tokens, "calls": run.calls},
        "steps": [_step_data(step) for step in run.steps],
        **({"continues": True} if run.continues else {}),
    }


def _step_data(step: TracedStep) -> dict[str, Any]:
    return {
        "path": step.path,
        "role": step.role,
        "visit": step.visit,
        "outcome": step.outcome,
        "reason": step.reason,
        "attempts": step.attempts,
        "degraded": step.degraded,
        "duration_s": (step.ended - step.started) / 1000,
        "cost_usd": step.usd / MICRO,
    }


def _tell_statistics(statistics: RunStatistics, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(_statistics_data(statistics), indent=2))
        return
    click.echo(f"{statistics.runs} runs")
    for status, number in statistics.statuses.items():
        click.echo(f"  {number / statistics.runs:6.1%}  {status}")
    click.echo("\n                likely    least  9 of 10     most")
    click.echo(_row("cost", statistics.usd, dollars))
    click.echo(_row("time", statistics.time, duration))
    if statistics.waiting.most:
        click.echo(f"{_row('waiting', statistics.waiting, duration)}  part of the time, for people")
    click.echo(_row("calls", statistics.calls, count))
    _tell_list("the usual ways", statistics.paths, statistics.runs)
    _tell_list("where runs stop", statistics.troubles, statistics.runs)


def _statistics_data(statistics: RunStatistics) -> dict[str, Any]:
    return {
        "runs": statistics.runs,
        "statuses": dict(statistics.statuses),
        "cost_usd": {key: value / MICRO for key, value in asdict(statistics.usd).items()},
        "duration_s": {key: value / 1000 for key, value in asdict(statistics.time).items()},
        "waiting_s": {key: value / 1000 for key, value in asdict(statistics.waiting).items()},
        "calls": asdict(statistics.calls),
        "paths": [{"path": path, "runs": number} for path, number in statistics.paths],
        "stops": [{"where": where, "runs": number} for where, number in statistics.troubles],
    }


def _row(name: str, spread: Spread, show: Callable[[float], str]) -> str:
    values = (spread.median, spread.least, spread.ninety, spread.most)
    return f"  {name:<10}" + "".join(f"{show(value):>9}" for value in values)


def _tell_list(title: str, rows: tuple[tuple[str, int], ...], runs: int) -> None:
    if rows:
        click.echo(f"\n{title}")
    for text, number in rows:
        click.echo(f"  {number / runs:6.1%}  {text}")
