"""`podium history`: the store that `podium metrics` reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from podium.errors import EXIT_FAILED, ConfigurationError
from podium.frontends.cli.open_run import in_project
from podium.frontends.cli.output import say, tell_data
from podium.views.format import plural

if TYPE_CHECKING:
    from podium.app.history.catch_up import CaughtUp
    from podium.app.history.transfer import Copied, Format, People
    from podium.app.project import Project

JSON = click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON object; its schema: podium schema --of history."
)


@click.group("history", short_help="Check, rebuild, copy and export what metrics are made from.")
def command() -> None:
    """Check, rebuild, copy and export the history of this project: numbers and names of its runs, and no texts.

    It is brought up to date whenever it is read. It is made from the logs of runs; only the rows of runs that
    `podium gc` has deleted exist nowhere else.
    """


@command.command("check")
@in_project()
@JSON
def check_command(project: Project, as_json: bool) -> int:
    """Check that all rows are unaltered, and that they are what the logs give. Exits with 1 if some are not."""
    from podium.app.history.check import check

    done = check(project)
    faults = [{"run": run, "fault": fault} for run, fault in done.faults]
    if as_json:
        tell_data(
            {"runs": done.runs, "only_copies": done.only_copies, "pulled": done.pulled, "faults": faults}
        )
    else:
        for run, fault in done.faults:
            click.echo(f"{run}: {fault}")
        only_here = f", {done.only_copies} of them only here" if done.only_copies else ""
        others = f", {done.pulled} of other projects" if done.pulled else ""
        wrong = f"; {len(done.faults)} are wrong" if faults else "; all are intact"
        click.echo(f"{plural(done.runs, 'run')}{only_here}{others}{wrong}")
        if faults:
            say("  hint: podium history rebuild makes rows again from logs that are intact", err=True)
    return EXIT_FAILED if faults else 0


@command.command("rebuild")
@in_project()
@JSON
def rebuild_command(project: Project, as_json: bool) -> int:
    """Make the rows of all runs again from their logs. Rows of deleted runs, and of other projects, stay as they are.

    Exits with 1 if the log of a run fails verification; its rows stay as they are too.
    """
    from podium.app.history.catch_up import catch_up
    from podium.frontends.cli.progress import ProgressLine

    history = project.open_history()
    try:
        with ProgressLine("counted runs", len(project.runtime.heads())) as line:
            done = catch_up(
                project.runtime, history, force=True, on_run=lambda number, _: line.update(number)
            )
        runs = len(history.marks(history.own))
    finally:
        history.close()
    if as_json:
        tell_data({"runs": runs, **_left_out(done)})
    else:
        say(f"counted: {plural(runs, 'run')}", err=True)
        for text in done.lines:
            say(text, err=True)
    return EXIT_FAILED if done.damaged or done.late else 0


@command.command("pull")
@in_project()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PROJECT...")
@JSON
def pull_command(project: Project, folders: tuple[Path, ...], as_json: bool) -> int:
    """Copy the rows of other projects on this machine, named by their folders, for podium metrics --all-projects.

    Only their history is read, not their logs: bring it up to date there first. Pulling again copies only what is new.
    """
    from podium.app.history.transfer import copy_runs
    from podium.files.project_paths import ProjectPaths
    from podium.wiring import open_history

    history, copied = project.open_history(), []
    try:
        for folder in folders:
            paths = ProjectPaths(folder.resolve())
            if not paths.history.exists():
                raise ConfigurationError(
                    f"{folder} has no history", hint=f"make it there: cd {folder} && podium history rebuild"
                )
            other = open_history(paths, read_only=True)
            try:
                if other.own.id == history.own.id:
                    raise ConfigurationError(f"{folder} is this project", hint="name another project")
                copied.append(copy_runs(other, history, other.own))
            finally:
                other.close()
    finally:
        history.close()
    return _tell_copies(copied, as_json=as_json)


@command.command("push")
@in_project()
@click.argument("address", metavar="ADDRESS")
@click.option(
    "--people",
    type=click.Choice(("names", "hashed", "none")),
    default="hashed",
    show_default=True,
    help="How to store who answered.",
)
@JSON
def push_command(project: Project, address: str, people: People, as_json: bool) -> int:
    """Copy the rows of this project into the PostgreSQL database at ADDRESS, such as postgresql://USER@HOST/DATABASE.

    Any number of projects and machines may push into one database, at the same time; pushing again copies only what is
    new. The password comes from PGPASSWORD or ~/.pgpass. Needs the extra: pip install "podium[postgres]".
    """
    from podium.app.history.catch_up import opened_history
    from podium.app.history.transfer import copy_runs, with_people
    from podium.wiring import open_shared_history

    target = open_shared_history(address)
    try:
        with opened_history(project, patience_s=None) as (history, done):
            copied = copy_runs(history, target, history.own, hide=lambda rows: with_people(rows, people))
    finally:
        target.close()
    for text in done.lines:
        say(text, err=True)
    return _tell_copies([copied], as_json=as_json)


def _tell_copies(copied: list[Copied], *, as_json: bool) -> int:
    if as_json:
        rows = [{"project": each.project.name, "new": each.new, "same": each.same} for each in copied]
        tell_data({"copied": rows})
        return 0
    for each in copied:
        say(f"{each.project.name}: {plural(each.new, 'run')} copied, {each.same} were there", err=True)
    return 0


@command.command("export")
@in_project()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--format",
    "form",
    type=click.Choice(("csv", "jsonl", "parquet", "duckdb")),
    default="csv",
    show_default=True,
    help="The format of the files.",
)
@JSON
def export_command(project: Project, folder: Path, form: Format, as_json: bool) -> int:
    """Write each table of the history into a file of the new folder FOLDER.

    In CSV, a text that a spreadsheet would compute gets an apostrophe in front. `duckdb` is one file with all tables.
    Parquet and DuckDB need the extra: pip install "podium[export]".
    """
    from podium.app.history.catch_up import opened_history
    from podium.app.history.transfer import export

    with opened_history(project, patience_s=None) as (history, done):
        paths = export(history, folder, form)
    if as_json:
        tell_data({"files": [str(path) for path in paths], **_left_out(done)})
    else:
        for path in paths:
            click.echo(path)
        for text in done.lines:
            say(text, err=True)
    return 0


def _left_out(done: CaughtUp) -> dict[str, Any]:
    return {
        "late": done.late,
        "damaged": [{"run": run, "fault": fault} for run, fault in done.damaged],
    }
