"""`podium verify`: the chain of a run's events."""

from __future__ import annotations

import json

import click

from podium.app.verifying import verify
from podium.errors import EXIT_FAILED
from podium.frontends.cli.look import found, run_argument


@click.command("verify", short_help="Check that the log of a run is whole and unaltered.")
@run_argument
@click.option(
    "--json", "as_json", is_flag=True, help="Print it as JSON; its schema: podium schema --of verify."
)
def command(run: str | None, as_json: bool) -> int:
    """Check that no event of a run is missing, altered or added. Exit 1 if one is.

    Each event carries a hash of itself and of all before it; the last hash is also kept outside the database.
    RUN is an id, the beginning of one, @2 for the newest but one; without it, the newest run.
    """
    with found(run) as (store, project, head):
        result = verify(store, project, head)
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
