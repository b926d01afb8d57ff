"""`podium verify`: the chain of a run's events, or a folder that was exported."""

from __future__ import annotations

import json
from pathlib import Path

import click

from podium.app.archive.check_export import check_export, is_export
from podium.app.project import Project
from podium.core.hash_chain import FIRST_HASH, RunId
from podium.errors import EXIT_FAILED
from podium.frontends.cli.open_run import opened_project
from podium.frontends.cli.shell_completion import complete_run_or_folder
from podium.ports.runtime import LogCheck


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
        data = {
            "run": result.run,
            "ok": result.fault is None,
            "events": result.events,
            "hash": result.last_hash,
            "fault": result.fault,
            "compared": result.compared,
        }
        click.echo(json.dumps(data, indent=2))
    elif result.fault is None:
        click.echo(f"{result.run}: {result.events} events, whole and unaltered, {result.last_hash}")
    else:
        click.echo(f"{result.run}: {result.fault}")
    if result.fault is None and not result.compared:
        click.echo("its chain_head is missing, so events at the end could be missing too", err=True)
    return 0 if result.fault is None else EXIT_FAILED


def _check_log(project: Project, name: str | None) -> LogCheck:
    lost = project.queries.lost_runs()
    if lost and (name in lost or not project.runtime.heads()):
        run = name if name in lost else lost[-1]
        fault = "its folder is there, and the log knows nothing of it: podium.db was deleted or replaced"
        return LogCheck(RunId(str(run)), 0, FIRST_HASH, fault, compared=False)
    return project.queries.verify(project.run(name).run)


def _check_folder(folder: Path, as_json: bool) -> int:
    result = check_export(folder)
    if as_json:
        data = {
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
        click.echo(json.dumps(data, indent=2))
    elif result.fault is None:
        sizes = f"{result.files} files, {result.events} events, {result.trees} trees"
        click.echo(f"{result.run}: {sizes}, whole and unaltered; manifest {result.manifest}")
    else:
        click.echo(f"{folder}: {result.fault}")
    for note in result.notes:
        click.echo(note, err=True)
    return 0 if result.fault is None else EXIT_FAILED
