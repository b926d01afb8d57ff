"""`podium verify`: the chain of a run's events, or a folder that was exported."""

from __future__ import annotations

import json
from pathlib import Path

import click

from podium.app.archive.check_export import Checked, check_any, is_export
from podium.app.project import Project
from podium.core.hash_chain import FIRST_HASH, RunId
from podium.errors import EXIT_FAILED
from podium.frontends.cli.open_run import opened_project
from podium.frontends.cli.output import say
from podium.frontends.cli.shell_completion import complete_run_or_folder
from podium.ports.runtime import LogCheck
from podium.views.format import plural


@click.command("verify", short_help="Verify that a run's log or an export is complete.")
@click.argument("run", required=False, metavar="[RUN|FOLDER]", shell_complete=complete_run_or_folder)
@click.option(
    "--json", "as_json", is_flag=True, help="Print it as JSON; its schema: podium schema --of verify."
)
def command(run: str | None, as_json: bool) -> int:
    """Verify that no event of a run is missing, altered or added. Exit code 1 if one is.

    Each event carries a hash of itself and of all events before it; the last hash is also stored outside the
    database. RUN is an id, a prefix of one, or @2 for the second newest run; default: the newest.

    FOLDER is one that `podium export` wrote: every file is checked by its hash, the definition by its
    fingerprint, and every tree that an event or a verdict names must be present. That needs neither the project
    nor a network.
    """
    if run is not None and (is_export(Path(run)) or ("/" in run and Path(run).is_dir())):
        return _check_folder(Path(run), as_json)
    with opened_project() as project:
        result = _check_log(project, run)
    if as_json:
        data: dict[str, object] = {
            "run": result.run,
            "ok": result.fault is None,
            "events": result.events,
            "hash": result.last_hash,
            "fault": result.fault,
            "compared": result.compared,
        }
        if result.follows or result.deleted:
            data["series"] = {"checked": list(result.follows), "deleted": result.deleted or None}
        click.echo(json.dumps(data, indent=2))
    elif result.fault is None:
        click.echo(f"{result.run}: {result.events} events, whole and unaltered, {result.last_hash}")
        if result.follows:
            click.echo(f"it follows {plural(len(result.follows), 'run')} of its series, whole and linked")
    else:
        click.echo(f"{result.run}: {result.fault}")
    if result.deleted:
        say(f"run {result.deleted} of its series was deleted, so it cannot be checked", err=True)
    if result.fault is None and not result.compared:
        say("its chain_head is missing, so events at the end could be missing too", err=True)
    return 0 if result.fault is None else EXIT_FAILED


def _check_log(project: Project, name: str | None) -> LogCheck:
    lost = project.queries.lost_runs()
    if lost and (name in lost or not project.runtime.heads()):
        run = name if name in lost else lost[-1]
        fault = "its folder is there, and the log knows nothing of it: podium.db was deleted or replaced"
        return LogCheck(RunId(str(run)), 0, FIRST_HASH, fault, compared=False)
    return project.queries.verify(project.run(name).run)


def _check_folder(folder: Path, as_json: bool) -> int:
    results = check_any(folder)
    if as_json:
        data = [_folder_data(result) for result in results]
        # One object for one run, as ever; a list for a series.
        click.echo(json.dumps(data[0] if len(data) == 1 else data, indent=2))
    for result in results:
        _tell_folder(folder if len(results) == 1 else folder / result.run, result, as_json)
    return 0 if all(result.fault is None for result in results) else EXIT_FAILED


def _folder_data(result: Checked) -> dict[str, object]:
    return {
        "run": result.run,
        "ok": result.fault is None,
        "events": result.events,
        "hash": result.last_hash,
        "fault": result.fault,
        "compared": True,
        "files": result.files,
        "trees": result.trees,
        "manifest": result.manifest or None,
    }


def _tell_folder(folder: Path, result: Checked, as_json: bool) -> None:
    if not as_json and result.fault is None:
        sizes = f"{result.files} files, {result.events} events, {result.trees} trees"
        click.echo(f"{result.run}: {sizes}, whole and unaltered; manifest {result.manifest}")
    elif not as_json:
        click.echo(f"{folder}: {result.fault}")
    for note in result.notes:
        say(note, err=True)
