"""Options of the commands that send something to a run: which run, and in whose name."""

from __future__ import annotations

import click

from podium.app.project import Office
from podium.app.query.runs import find_run
from podium.core.hash_chain import RunId

by_option = click.option(
    "--by", metavar="NAME", help="Name to record (default: $PODIUM_USER, else your login name)."
)
detach_option = click.option("--detach", is_flag=True, help="Continue the run in the background.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print the run as JSON when it stops.")


def run_named(office: Office, name: str | None) -> RunId:
    return find_run(office.runtime, name).run
