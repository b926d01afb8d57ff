"""`podium events`: the log of a run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from podium.app.query.runs import event_data
from podium.core.hash_chain import Record
from podium.frontends.cli.open_run import in_project, painter, wait
from podium.views.plain import as_text, one_line
from podium.views.text.terminal import Paint

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.core.hash_chain import RunId


@click.command("events", short_help="Print the events of a run, or follow them.")
@in_project(run="optional")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line; podium schema --of events.")
@click.option(
    "--after", type=click.IntRange(min=0), default=0, metavar="N", help="Only events after number N."
)
@click.option("-f", "--follow", "following", is_flag=True, help="Follow until the run ends.")
def command(project: Project, run: RunId, as_json: bool, after: int, following: bool) -> int:
    """Print the events of a run in order. Every other view is computed from them.

    RUN is an id, a prefix of one, or @2 for the second newest run; default: the newest.
    """
    paint = painter()
    for record in _records(project, run, after, following):
        data = event_data(record)
        click.echo(json.dumps(data, ensure_ascii=False) if as_json else _line(data, paint))
    return 0


def _records(project: Project, run: RunId, after: int, following: bool) -> Iterator[Record]:
    if not following:
        yield from project.queries.events(run, after=after)
        return
    for record in project.queries.follow(run, after=after):
        if record is None:
            wait()
        else:
            yield record


def _line(data: dict[str, object], paint: Paint) -> str:
    fields = dict(data["data"]) if isinstance(data["data"], dict) else {}
    path = fields.pop("path", "")
    rest = "  ".join(f"{key}={one_line(as_text(value), 60)}" for key, value in fields.items())
    kind = paint(f"{data['type']!s:<16}", "bold")
    head = f"{data['seq']:>5}  {data['at']}  {kind}"
    return f"{head} {path}  {paint(rest, 'dim')}".rstrip()
