"""`podium watch`: a run whenever files change, of everything or of what an edit affects, or one for each new file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import click

from podium.app.author.load import open_workflow, parse_inputs
from podium.app.project import Office
from podium.app.query.runs import find_run
from podium.app.run.definition import project_files
from podium.app.run.rerun import preview_rerun, start_rerun
from podium.app.run.start import RunRequest, StartedRun, start_run
from podium.app.run.watch import (
    Files,
    WatchedProject,
    arrived,
    changed,
    inbox,
    list_files,
    own_changes,
    wait_for_files,
    watched_project,
    without_news,
)
from podium.app.values import parse_vars
from podium.core.hash_chain import RunId
from podium.errors import ConfigurationError, PathViolation
from podium.frontends.cli.completion import complete_sandbox, complete_workflow
from podium.frontends.cli.confirm_rerun import as_text
from podium.frontends.cli.foreground import drive_with_display, open_project_for
from podium.frontends.cli.output import complain

SHOWN: Final = 3


@click.command("watch", short_help="Run a workflow whenever files change, or once per new file.")
@click.argument("file", type=click.Path(path_type=Path), shell_complete=complete_workflow)
@click.option(
    "--mode",
    type=click.Choice(["rerun", "affected", "enqueue"]),
    default="rerun",
    help="rerun: now and after every change in the project. affected: the same, but after an edit of the "
    "workflow or its prompts rerun only what it affects. enqueue: one run per new file.",
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("inbox"),
    help="With enqueue: folder where files arrive.",
)
@click.option("--into", default="task", help="With enqueue: input or variable that gets the file's path.")
@click.option(
    "-i", "--input", "inputs", multiple=True, metavar="NAME=VALUE", help="Value of an input; repeatable."
)
@click.option(
    "--var",
    "--context",
    "vars_",
    multiple=True,
    metavar="NAME=VALUE",
    help="Initial value of a variable; repeatable.",
)
@click.option("--runs", "most", type=click.IntRange(min=1), help="Stop after this many runs.")
@click.option("--no-human", is_flag=True, help="Fail instead of asking a person.")
@click.option(
    "--sandbox",
    metavar="LEVEL",
    help="Sandbox level: auto (default), container, bubblewrap, limits or none.",
    shell_complete=complete_sandbox,
)
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

    A run starts once files have changed and nothing else changes for half a second. Files that git ignores do
    not count, and changes made by a run do not start another. A mistake in the file is reported, and the next
    save is tried. Ctrl-C stops watching. The exit code is that of the last run.
    """
    office = open_project_for(file)
    workflow = open_workflow(file, user_dir=office.user_dir, project=office.project)
    order = RunRequest(
        file=file,
        inputs=parse_inputs(inputs, workflow),
        vars=parse_vars(vars_, workflow.vars),
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
        code = drive_with_display(office, begun.run, as_json=False)
        if number == most:
            return code
    return code  # pragma: no cover (only Ctrl-C ends the watch, and that raises)


def _reruns(office: Office, order: RunRequest, *, sparing: bool) -> Iterator[StartedRun]:
    project = watched_project(office)
    files = list_files(project).files
    begun = start_run(office, order)
    while True:
        yield begun
        files = without_news(files, list_files(project).files, own_changes(office, begun))
        start = partial(_affected, office, order, begun.run) if sparing else partial(_anew, office, order)
        begun, files = _next(project, start, files)


def _next(
    project: WatchedProject, start: Callable[[Sequence[str]], StartedRun], files: Files
) -> tuple[StartedRun, Files]:
    """The next run that can begin, and the files at that time."""
    last = files
    while True:
        click.echo("watching; Ctrl-C ends it", err=True)
        now = wait_for_files(project, last)
        _tell(changed(last, now))
        # An edit that could not begin a run is still new to the one that can.
        begun = _tried(partial(start, changed(files, now)))
        if begun is not None:
            return begun, now
        last = now


def _tell(paths: Sequence[str]) -> None:
    more = f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
    click.echo(f"changed: {', '.join(paths[:SHOWN])}{more}", err=True)


def _tried(start: Callable[[], StartedRun]) -> StartedRun | None:
    """None for what is wrong in a file: it is told, and the next change may mend it."""
    try:
        return start()
    except (ConfigurationError, PathViolation) as error:
        complain(error)
        return None


def _anew(office: Office, order: RunRequest, _: Sequence[str]) -> StartedRun:
    return start_run(office, order)


def _affected(office: Office, order: RunRequest, earlier: RunId, paths: Sequence[str]) -> StartedRun:
    """Goes on from the earlier run after an edit of its definition; any other file may matter to every step."""
    head = find_run(office.runtime, earlier)
    if not project_files(office, str(order.file), head).issuperset(paths):
        return start_run(office, order)
    prospect = preview_rerun(office, earlier)
    click.echo(as_text(prospect), err=True)
    return start_rerun(office, prospect, closed_by="podium watch")


def _enqueued(
    office: Office, order: RunRequest, folder: Path, *, into: str, is_input: bool
) -> Iterator[StartedRun]:
    """Files that are there when the watch begins are work too; each is taken once."""
    project = watched_project(office, folder)
    start = f"{folder.relative_to(project.root)}/"
    done: Files = {}
    # Of the whole project: a run that could not begin may begin after an edit of its workflow.
    files = wait_for_files(project)
    while True:
        now = {path: mark for path, mark in files.items() if path.startswith(start.removeprefix("./"))}
        refused = set()
        for path in arrived(done, now):
            click.echo(f"new: {path}", err=True)
            begun = _tried(partial(start_run, office, _given(order, {into: path}, is_input=is_input)))
            if begun is None:
                refused.add(path)
            else:
                yield begun
        done = {path: mark for path, mark in now.items() if path not in refused}
        click.echo("watching; Ctrl-C ends it", err=True)
        files = wait_for_files(project, files)


def _given(order: RunRequest, values: Mapping[str, str], *, is_input: bool) -> RunRequest:
    if is_input:
        return replace(order, inputs={**order.inputs, **values})
    return replace(order, vars={**order.vars, **values})
