"""`podium watch`: a run whenever files change, of everything or of what an edit affects, or one for each new file."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from podium.app.continuing import begin_again, look_ahead
from podium.app.definition import project_files
from podium.app.looking import find_run
from podium.app.office import Office
from podium.app.running import Begun, Order, begin
from podium.app.values import parse_values
from podium.app.watching import Seen, arrived, changed, inbox, look
from podium.app.workflows import open_workflow, parse_inputs
from podium.core.chain import RunId
from podium.errors import ConfigurationError
from podium.frontends.cli.continuing import as_text
from podium.frontends.cli.driving import drive, office_of

POLL_S: Final = 0.5
SHOWN: Final = 3


@click.command("watch", short_help="Run a workflow again when files change, or once per new file.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--mode",
    type=click.Choice(["rerun", "affected", "enqueue"]),
    default="rerun",
    help="rerun: at once, and again after every change in the project. affected: the same, but after an edit of the "
    "workflow or its prompts only what it changes. enqueue: a run for each new file.",
)
@click.option(
    "--folder", type=click.Path(path_type=Path), default=Path("inbox"), help="Of enqueue: where files arrive."
)
@click.option(
    "--into", default="task", help="Of enqueue: the input or variable that gets the path of the file."
)
@click.option("-i", "--input", "inputs", multiple=True, metavar="NAME=VALUE", help="A value for an input.")
@click.option(
    "--var", "--context", "vars_", multiple=True, metavar="NAME=VALUE", help="A variable's first value."
)
@click.option("--runs", "most", type=click.IntRange(min=1), help="Stop after so many runs.")
@click.option("--no-human", is_flag=True, help="What would ask a person fails instead.")
@click.option("--sandbox", metavar="LEVEL", help="The walls: auto (default), limits or none.")
def command(  # noqa: PLR0913  # one argument per option
    file: Path,
    mode: str,
    folder: Path,
    into: str,
    inputs: tuple[str, ...],
    vars_: tuple[str, ...],
    most: int | None,
    no_human: bool,
    sandbox: str | None,
) -> int:
    """Watch the project and run a workflow in it.

    Files are looked at twice a second; a run starts when a whole look has found nothing new. What a run itself
    changes does not start another. Ctrl-C ends it. The exit code is that of the last run.
    """
    office = office_of(file)
    workflow = open_workflow(file, user_dir=office.user_dir, project=office.project)
    order = Order(
        file=file,
        inputs=parse_inputs(inputs, workflow),
        vars=parse_values(vars_),
        no_human=no_human,
        sandbox=sandbox,
        # What has just been saved is what the run is about.
        dirty=True,
    )
    if mode != "enqueue":
        runs = _reruns(office, order, sparing=mode == "affected")
    else:
        names = {known.name for known in workflow.inputs}
        runs = _enqueued(office, order, inbox(office.project, folder), into=into, is_input=into in names)
        if into not in names and into not in workflow.vars:
            raise ConfigurationError(
                f'{workflow.name} has no input or variable "{into}"', hint="name one by --into"
            )
    code = 0
    for number, begun in enumerate(runs, 1):
        click.echo(f"run {begun.run}", err=True)
        code = drive(office, begun.site, as_json=False)
        if number == most:
            return code
    return code  # pragma: no cover (only Ctrl-C ends the watch, and that raises)


def _reruns(office: Office, order: Order, *, sparing: bool) -> Iterator[Begun]:
    begun = begin(office, order)
    while True:
        yield begun
        # Taken after the run: its own changes are not news.
        before = look(office.project)
        click.echo("watching; Ctrl-C ends it", err=True)
        paths = changed(before, _settled(office.project, before))
        more = f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
        click.echo(f"changed: {', '.join(paths[:SHOWN])}{more}", err=True)
        begun = (sparing and _affected(office, order, begun.run, paths)) or begin(office, order)


def _affected(office: Office, order: Order, earlier: RunId, paths: Sequence[str]) -> Begun | None:
    """Goes on from the earlier run after an edit of its definition; any other file may matter to every step."""
    head = find_run(office.store, earlier)
    if not project_files(office, str(order.file), head).issuperset(paths):
        return None
    prospect = look_ahead(office, earlier)
    click.echo(as_text(prospect), err=True)
    return begin_again(office, prospect, closed_by="podium watch")


def _enqueued(office: Office, order: Order, folder: Path, *, into: str, is_input: bool) -> Iterator[Begun]:
    """Files that are there when the watch begins are work too; each is taken once."""
    done: Seen = {}
    while True:
        now = look(folder)
        if not arrived(done, now):
            click.echo("watching; Ctrl-C ends it", err=True)
            now = _settled(folder, now)
        for name in arrived(done, now):
            path = str((folder / name).relative_to(office.project.resolve()))
            click.echo(f"new: {path}", err=True)
            given = {into: path}
            one = (
                replace(order, inputs={**order.inputs, **given})
                if is_input
                else replace(order, vars={**order.vars, **given})
            )
            yield begin(office, one)
        done = now


def _settled(folder: Path, before: Seen) -> Seen:
    """The first look that differs from `before` and is the same half a second later."""
    last = before
    while True:
        time.sleep(POLL_S)
        now = look(folder)
        if now == last and changed(before, now):
            return now
        last = now
