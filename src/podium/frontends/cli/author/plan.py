"""`podium plan`: what a workflow can use, before anything runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from podium.app.author.load import load_workflow, parse_inputs
from podium.app.paths import project_root, user_dir
from podium.app.values import parse_settings
from podium.frontends.cli.open_run import planned_choices, stored_history
from podium.frontends.cli.options import set_option
from podium.frontends.cli.output import say
from podium.frontends.cli.shell_completion import complete_workflow
from podium.views.format import count, dollars, duration, plural
from podium.views.run.choices import choice_data, choice_text

if TYPE_CHECKING:
    from podium.app.author.load import LoadedWorkflow
    from podium.app.forecast.check import Price
    from podium.app.forecast.plan import Plan, PlannedSeries, Range
    from podium.workflow.schema.triggers import Trigger

SHOW: Final[dict[str, Callable[[float], str]]] = {
    "calls": lambda number: f"{number:.0f}",
    "tokens": count,
    "usd": dollars,
    "time": duration,
}
DAY_MS: Final = 86_400_000
NAMES = {"calls": "agent calls", "tokens": "tokens", "usd": "cost", "time": "time"}


@click.command("plan", short_help="Forecast the calls, tokens, cost and time of a workflow.")
@click.argument("file", type=click.Path(path_type=Path), shell_complete=complete_workflow)
@click.option(
    "-i", "--input", "inputs", multiple=True, metavar="NAME=VALUE", help="Value of an input; repeatable."
)
@set_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON; its schema: podium schema --of plan.")
def command(file: Path, inputs: tuple[str, ...], settings: tuple[str, ...], as_json: bool) -> int:
    """Show what FILE can use from the best to the worst case, and the path that leads to the worst.

    Nothing runs. The worst case includes everything that loops, retries, reviewers and people may cause; a
    limit that cuts it off is named. Inputs without a value get a plausible one. The exit code is 2 if `podium
    run` would refuse to start.
    """
    from podium.app.forecast.plan import plan
    from podium.app.forecast.plan_json import plan_data
    from podium.app.run.baseline import refusing_gates
    from podium.workflow.test_gates.listing import list_suites

    definition = load_workflow(file, user_dir=user_dir(), settings=parse_settings(settings))
    workflow = definition.workflow
    history = stored_history(project_root(file.parent), workflow)
    values = parse_inputs(inputs, definition)
    forecast = plan(workflow, values, history)
    chosen = planned_choices(project_root(file.parent), definition)
    suites = list_suites(workflow)
    refusing = [gate.listed.label for gate in refusing_gates(workflow, values)]
    if as_json:
        listed = [suite._asdict() for suite in suites]
        data = {**plan_data(forecast), "test_gates": listed, "green_base_gates": refusing}
        if chosen:
            data["chosen"] = [choice_data(each) for each in chosen]
        click.echo(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        _tell(forecast, [suite.described for suite in suites], refusing)
        for line in _trigger_lines(definition):
            click.echo(line)
        for each in chosen:
            click.echo(f"\n{choice_text(each)}")
    return 2 if forecast.refusals else 0


def _tell(forecast: Plan, suites: list[str], refusing: list[str]) -> None:
    click.echo(f"{forecast.workflow:<14}{'likely':>9}{'least':>9}{'most':>9}")
    for unit, row in forecast.ranges.items():
        click.echo(f"  {NAMES[unit]:<12}{_cells(unit, row)}".rstrip())
    if forecast.way:
        click.echo("\nthe path with the most calls")
        for line in forecast.way:
            click.echo(f"  {line}")
    click.echo("\nassumed for each call")
    for name, price in forecast.prices.items():
        repairs = forecast.repairs.get(name, 0)
        more = f"; an attempt takes up to {plural(1 + repairs, 'call')}" if repairs else ""
        click.echo(
            f"  {name:<24}{dollars(price.usd[1]):>9}{count(price.tokens[1]):>9}  {_source(price)}{more}"
        )
    if forecast.series is not None:
        click.echo(f"\n{_series_line(forecast.series)}")
    for line in _uses_lines(forecast):
        click.echo(line)
    if suites:
        say(
            f"\nthese gates run tests, so the tests from before the work must pass as well: {', '.join(suites)}"
        )
    if refusing:
        say(f"\nmust pass on the base, or podium run does not start: {', '.join(refusing)}")
    for refusal in forecast.refusals:
        say(f"\npodium run refuses it: {refusal}")


def _series_line(series: PlannedSeries) -> str:
    bound = "" if series.max is None else f", at most {plural(series.max, 'run')}"
    whole = (
        "its limits hold for each of them"
        if series.per == "run"
        else "its limits hold for all of them together"
    )
    return f"this is one run of a series: {series.step} continues as a new run{bound}; {whole}"


def _uses_lines(forecast: Plan) -> Iterator[str]:
    for name, steps in forecast.memories.items():
        yield f"\nmemory {name}: used by {', '.join(steps)}, stored when a run passes"
    for poll in forecast.polls:
        every = "" if poll.every_s is None else f" every {duration(poll.every_s * 1000)}"
        most = "" if poll.most is None else f", at most {plural(poll.most, 'time')}"
        yield f"\n{poll.step} calls {poll.command}{every}{most}"


def _trigger_lines(definition: LoadedWorkflow) -> Iterator[str]:
    """How often a service starts runs, and how often it calls the commands of triggers."""
    for name, trigger in definition.context.file.triggers.items():
        every = trigger.every
        polled = "" if every is None else f", calls its command {plural(DAY_MS // every, 'time')} a day"
        yield f"\ntrigger {name} ({trigger.source}){polled}: {_per_day(trigger)}"


def _per_day(trigger: Trigger) -> str:
    budget = trigger.per_day
    if budget is None:
        return "no budget for a day"
    limits = [
        *([] if budget.usd is None else [dollars(int(budget.usd * 1_000_000))]),
        *([] if budget.runs is None else [plural(budget.runs, "run")]),
    ]
    return f"at most {' and '.join(limits)} a day"


def _cells(unit: str, row: Range) -> str:
    show = SHOW[unit]
    most = "no bound" if row.most is None else show(row.most)
    return f"{show(row.likely):>9}{show(row.least):>9}{most:>9}" + (f"  cut by {row.cut}" if row.cut else "")


def _source(price: Price) -> str:
    match price.source:
        case "cap":
            return "where its agent stops (max_usd)"
        case "history":
            return f"history: {plural(price.attempts, 'earlier call')}"
        case "declared" if not price.usd[2]:
            return "free, or declared to be"
        case "declared":
            return "declared by `estimate`"
        case _:
            return "shipped default"
