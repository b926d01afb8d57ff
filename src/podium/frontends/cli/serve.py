"""`podium serve`: carry parked runs on when they are ready."""

from __future__ import annotations

import signal
import threading

import click

from podium.app.serving import Service
from podium.frontends.cli.driving import office_here


@click.command("serve", short_help="Carry parked runs on when they are ready.")
@click.option("--headless", is_flag=True, help="Without a page to look at; so far the only way.")
@click.option("--once", is_flag=True, help="Carry on what is ready now, then end; for cron.")
@click.option(
    "--slots", type=click.IntRange(min=1), default=4, show_default=True, help="So many runs at once."
)
def command(headless: bool, once: bool, slots: int) -> int:
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
    service = Service(office_here(create=True), slots=slots, say=_say)
    if not once:
        _say(f"watching the runs of {service.office.project}, {slots} at once")
    service.serve(stopped.is_set, once=once)
    if not once:
        _say("stopped")
    return 0


def _say(line: str) -> None:
    click.echo(line)
