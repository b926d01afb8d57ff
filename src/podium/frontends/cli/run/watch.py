"""`podium watch`: a run whenever files change, of everything or of what an edit affects, or one per new file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import click

from podium.app.author.load import LoadedWorkflow, parse_inputs
from podium.app.project import Project
from podium.app.run.definition import project_files
from podium.app.run.start import RunRequest, StartedRun
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
from podium.frontends.cli.confirm_rerun import as_text
from podium.frontends.cli.foreground import Foreground
from podium.frontends.cli.open_run import in_project_of_file
from podium.frontends.cli.output import complain, say
from podium.frontends.cli.shell_completion import complete_sandbox
from podium.views.files.run_json import run_data
from podium.views.format import first_of

SHOWN: Final = 3


@click.command("watch", short_help="Run a workflow whenever files change, or once per new file.")
@in_project_of_file
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
@click.option("--json", "as_json", is_flag=True, help="Print each run as a JSON line when it stops.")
def command(  # noqa: PLR0913  # one argument per option
    project: Project,
    definition: LoadedWorkflow,
    mode: str,
    folder: Path,
    into: str,
    inputs: tuple[str, ...],
    vars_: tuple[str, ...],
    most: int | None,
    no_human: bool,
    sandbox: str | None,
    as_json: bool,
) -> int:
    """Watch the project and run a workflow in it.

    A run starts once files have changed and nothing else changes for half a second. Files that git ignores do
    not count, and changes made by a run do not start another. A mistake in the file is reported, and the next
    save is tried. Ctrl-C stops watching. The exit code is that of the last run.
    """
    workflow = definition.workflow
    request = RunRequest(
        definition=definition,
        inputs=parse_inputs(inputs, definition),
        vars=parse_vars(vars_, workflow.vars),
        no_human=no_human,
        sandbox=sandbox,
        # What has just been saved is what the run is about.
        dirty=True,
    )
    if mode != "enqueue":
        runs = _reruns(project, request, sparing=mode == "affected")
    else:
        names = {item.name for item in workflow.inputs}
        runs = _enqueued(project, request, inbox(project.root, folder), into=into, is_input=into in names)
        if into not in names and into not in workflow.vars:
            raise ConfigurationError(
                f'{workflow.name} has no input or variable "{into}"', hint="name one by --into"
            )
    code = 0
    for number, started in enumerate(runs, 1):
        say(f"run {started.run}", err=True)
        with Foreground(project, started.run) as display:
            driving = partial(
                project.commands.drive, started.run, park=display.parks, observer=display.observer
            )
            code = display.finish(anyio.run(driving))
        if as_json:
            click.echo(json.dumps(run_data(project.queries.show(display.run)), ensure_ascii=False))
        if number == most:
            return code
    return code  # pragma: no cover (only Ctrl-C ends the watch, and that raises)


def _reruns(project: Project, request: RunRequest, *, sparing: bool) -> Iterator[StartedRun]:
    watched = watched_project(project)
    files = list_files(watched).files
    started = project.commands.start(request)
    while True:
        yield started
        files = without_news(files, list_files(watched).files, own_changes(project, started))
        start = (
            partial(_affected, project, request, started.run) if sparing else partial(_anew, project, request)
        )
        started, files = _next(watched, start, files)


def _next(
    watched: WatchedProject, start: Callable[[Sequence[str]], StartedRun], files: Files
) -> tuple[StartedRun, Files]:
    """The next run that can begin, and the files at that time."""
    last = files
    while True:
        say("watching; Ctrl-C ends it", err=True)
        now = wait_for_files(watched, last)
        _tell(changed(last, now))
        # An edit that could not start a run still counts for the next one.
        started = _tried(partial(start, changed(files, now)))
        if started is not None:
            return started, now
        last = now


def _tell(paths: Sequence[str]) -> None:
    say(f"changed: {first_of(paths, SHOWN)}", err=True)


def _tried(start: Callable[[], StartedRun]) -> StartedRun | None:
    """None for a mistake in a file: it is reported, and the next change may fix it."""
    try:
        return start()
    except (ConfigurationError, PathViolation) as error:
        complain(error)
        return None


def _anew(project: Project, request: RunRequest, _: Sequence[str] = ()) -> StartedRun:
    """A run of the definition as it is now."""
    before = request.definition
    definition = project.load(before.file, settings=before.settings)
    return project.commands.start(replace(request, definition=definition))


def _affected(project: Project, request: RunRequest, earlier: RunId, paths: Sequence[str]) -> StartedRun:
    """Continue the earlier run after an edit of its definition; any other file may matter to every step."""
    if not project_files(project, request.definition.file, project.run(earlier)).issuperset(paths):
        return _anew(project, request)
    preview = project.commands.preview_rerun(earlier)
    say(as_text(preview), err=True)
    return project.commands.rerun(preview, closed_by="podium watch")


def _enqueued(
    project: Project, request: RunRequest, folder: Path, *, into: str, is_input: bool
) -> Iterator[StartedRun]:
    """Also files that exist when the watch starts; each is used once."""
    watched = watched_project(project, folder)
    start = f"{folder.relative_to(watched.root)}/"
    done: Files = {}
    # Of the whole project: a run that could not begin may begin after an edit of its workflow.
    files = wait_for_files(watched)
    while True:
        now = {path: mark for path, mark in files.items() if path.startswith(start.removeprefix("./"))}
        refused = set()
        for path in arrived(done, now):
            say(f"new: {path}", err=True)
            started = _tried(partial(_anew, project, _with_values(request, {into: path}, is_input=is_input)))
            if started is None:
                refused.add(path)
            else:
                yield started
        done = {path: mark for path, mark in now.items() if path not in refused}
        say("watching; Ctrl-C ends it", err=True)
        files = wait_for_files(watched, files)


def _with_values(request: RunRequest, values: Mapping[str, str], *, is_input: bool) -> RunRequest:
    if is_input:
        return replace(request, inputs={**request.inputs, **values})
    return replace(request, vars={**request.vars, **values})
