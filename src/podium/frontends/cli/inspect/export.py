"""`podium export`: a run as a folder that anybody can verify."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from podium.frontends.cli.open_run import in_project
from podium.frontends.cli.output import say
from podium.frontends.cli.progress import ProgressLine

if TYPE_CHECKING:
    from podium.app.archive.export import Exported
    from podium.app.project import Project
    from podium.core.hash_chain import RunId


@click.command("export", short_help="Export a run as a folder that anyone can verify offline.")
@in_project(run="optional")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--series", is_flag=True, help="All runs of the series that RUN belongs to, a folder for each.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the result as JSON; its schema: podium schema --of export."
)
def command(project: Project, run: RunId, folder: Path | None, series: bool, as_json: bool) -> int:
    """Export the definition, events, verdicts, trees and evidence of RUN to FOLDER (default: podium-RUN).

    `podium verify FOLDER` checks it anywhere, without the project or a network. Secrets were masked before
    anything was stored; the trees contain the project's files as they were. RUN is an id, a prefix of one, or
    @2 for the second newest run; default: the newest.
    """
    target = folder or Path(f"podium-{run}")
    with ProgressLine("exporting") as line:
        if series:
            exported = project.commands.export_series(run, target, on_part=line.name)
        else:
            exported = (project.commands.export(run, target, on_part=line.name),)
    if as_json:
        # One object for one run, as ever; with --series a list.
        data = [_data(done) for done in exported]
        click.echo(json.dumps(data if series else data[0], indent=2))
        return 0
    for done in exported:
        click.echo(f"{done.folder}: {done.files} files, {len(done.trees)} trees; manifest {done.manifest}")
        if done.lost:
            say(f"{len(done.lost)} trees that events name are gone from git", err=True)
    say(f"hint: check it anywhere with: podium verify {target}", err=True)
    return 0


def _data(done: Exported) -> dict[str, object]:
    return {
        "run": done.run,
        "folder": str(done.folder),
        "files": done.files,
        "trees": len(done.trees),
        "lost_trees": len(done.lost),
        "manifest": done.manifest,
    }
