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
@click.option(
    "--otlp",
    metavar="URL",
    help="Send the run to an OpenTelemetry collector instead, such as http://localhost:4318.",
)
@click.option("--content", is_flag=True, help="With --otlp: also send the answers of agents.")
@click.option("--series", is_flag=True, help="All runs of the series that RUN belongs to, a folder for each.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the result as JSON; its schema: podium schema --of export."
)
def command(
    project: Project,
    run: RunId,
    folder: Path | None,
    otlp: str | None,
    content: bool,
    series: bool,
    as_json: bool,
) -> int:
    """Export the definition, events, verdicts, trees and evidence of RUN to FOLDER (default: podium-RUN).

    `podium verify FOLDER` checks it anywhere, without the project or a network. Secrets were masked before
    anything was stored; the trees contain the project's files as they were. RUN is an id, a prefix of one, or
    @2 for the second newest run; default: the newest.

    With --otlp, RUN is sent as one trace with its metrics, without prompts, answers, diffs and names of people. Sending
    it again changes nothing. Set PODIUM_OTLP=URL to send spans while runs are driven.
    """
    if otlp is not None:
        if folder is not None or series:
            raise click.UsageError("--otlp writes no folder and sends one run")
        return _send(project, run, otlp, content=content, as_json=as_json)
    if content:
        raise click.UsageError("--content needs --otlp")
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


def _send(project: Project, run: RunId, address: str, *, content: bool, as_json: bool) -> int:
    from podium.app.telemetry.send import send_run

    sent = send_run(project, run, address, content=content)
    if as_json:
        click.echo(json.dumps({"run": sent.run, "spans": sent.spans, "points": sent.points}))
    else:
        points = (
            f"{sent.points} metric points"
            if sent.points
            else "no metrics, which the collector does not take,"
        )
        click.echo(f"sent {sent.spans} spans and {points} of run {sent.run}")
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
