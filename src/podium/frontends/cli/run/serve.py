"""`podium serve`: carry parked runs on when they are ready."""

from __future__ import annotations

import json
import signal
import threading
from typing import Any

import click

from podium.app.run.serve import Service, ServiceLine
from podium.attempt.site import wall_clock
from podium.frontends.cli.foreground import open_current_project
from podium.views.format import iso


@click.command("serve", short_help="Carry parked runs on when they are ready.")
@click.option("--headless", is_flag=True, help="Without a page to look at; so far the only way.")
@click.option("--once", is_flag=True, help="Carry on what is ready now, then end; for cron.")
@click.option(
    "--slots", type=click.IntRange(min=1), default=4, show_default=True, help="So many runs at once."
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print each thing done as a line of JSON: podium schema --of serve.",
)
def command(headless: bool, once: bool, slots: int, as_json: bool) -> int:
    """Watch over the runs of this project, and carry each on when it is ready.

    That is: a timer, a reminder or a deadline is due, a quota window opens, an answer or a signal has come, or the
    process that carried it on has died. A run that is paused is left alone. Each thing it does is one line. SIGTERM and
    Ctrl-C end it and interrupt what is at work, without a loss: start it again and it goes on.
    """
    if not headless and not once:
        raise click.UsageError("say --headless: there is no page to look at yet")
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: stopped.set())
    service = Service(open_current_project(create=True), slots=slots, tell=_tell_json if as_json else _tell)
    if not once:
        text = f"watching the runs of {service.office.project}, {slots} at once"
        click.echo(_own("watching", text) if as_json else text)
    service.serve(stopped.is_set, once=once)
    if not once:
        click.echo(_own("ended", "stopped") if as_json else "stopped")
    return 0


def _tell(told: ServiceLine) -> None:
    click.echo(told.line())


def _tell_json(told: ServiceLine) -> None:
    """What does not apply to what was done is left out."""
    known = {name: value for name, value in told._asdict().items() if value not in (None, "")}
    click.echo(_written({**known, "at": iso(told.at)}))


def _own(did: str, text: str) -> str:
    return _written({"at": iso(wall_clock()), "did": did, "text": text})


def _written(line: dict[str, Any]) -> str:
    return json.dumps(line, ensure_ascii=False)
