"""`podium serve`: resume parked runs when they are due."""

from __future__ import annotations

import json
import signal
import threading
from typing import TYPE_CHECKING, Any

import click

from podium.app.run.serve import Service, ServiceLine
from podium.frontends.cli.open_run import in_project
from podium.ports.clock import wall_clock
from podium.views.format import iso

if TYPE_CHECKING:
    from podium.app.project import Project


@click.command("serve", short_help="Resume parked runs when they are due.")
@in_project(create=True)
@click.option(
    "--headless", is_flag=True, expose_value=False, help="Accepted for compatibility; has no effect."
)
@click.option("--once", is_flag=True, help="Resume what is due now, then exit (for cron).")
@click.option(
    "--slots",
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    help="Maximum number of runs to drive at once.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print each action as a JSON line; its schema: podium schema --of serve.",
)
def command(project: Project, once: bool, slots: int, as_json: bool) -> int:
    """Resume the runs of this project when they are due, until stopped.

    A run is due when a timer, reminder or deadline fires, a quota window opens, an answer or a signal arrives,
    or its process has died. Paused runs are left alone. Each action is printed as one line. SIGTERM and Ctrl-C
    stop the service and interrupt active runs without loss; they continue when it starts again.
    """
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: stopped.set())
    service = Service(project, slots=slots, tell=_tell_json if as_json else _tell)
    if not once:
        text = f"watching the runs of {project.root}, {slots} at once"
        click.echo(_own("watching", text) if as_json else text)
    service.serve(stopped.is_set, once=once)
    if not once:
        click.echo(_own("ended", "stopped") if as_json else "stopped")
    return 0


def _tell(line: ServiceLine) -> None:
    click.echo(line.line())


def _tell_json(line: ServiceLine) -> None:
    """Fields that do not apply to the action are left out."""
    fields = {name: value for name, value in line._asdict().items() if value not in (None, "")}
    click.echo(_json({**fields, "at": iso(line.at)}))


def _own(did: str, text: str) -> str:
    return _json({"at": iso(wall_clock()), "did": did, "text": text})


def _json(data: dict[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False)
