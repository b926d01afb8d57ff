"""`podium gc`: delete what old runs have left."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

import click

from podium.app.archive.gc import ExpiredRun
from podium.core.types import Millis
from podium.errors import ConfigurationError
from podium.frontends.cli.open_run import in_project
from podium.ports.clock import wall_clock
from podium.views.format import iso

if TYPE_CHECKING:
    from podium.app.project import Project

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


@click.command("gc", short_help="Delete old runs after listing them.")
@in_project()
@click.option(
    "--older-than",
    "age",
    default="30d",
    show_default=True,
    metavar="AGE",
    help="Minimum age, such as 12h, 30d or 4w.",
)
@click.option("--unlanded", is_flag=True, help="Also delete runs whose work never landed on a branch.")
@click.option("--yes", is_flag=True, help="Delete without asking.")
@click.option("--json", "as_json", is_flag=True, help="Print what would be or was deleted as JSON.")
def command(project: Project, age: str, unlanded: bool, yes: bool, as_json: bool) -> int:
    """List ended runs older than AGE and delete them after confirmation.

    Deletes a run's log, records, artifacts and refs. Unfinished runs are kept, and so are runs whose work has
    not landed, unless --unlanded is given. Without a terminal, nothing is deleted unless --yes is given.
    """
    before = Millis(wall_clock() - _millis(age))
    olds = project.commands.expired(before=before, unlanded=unlanded)
    agreed = bool(olds) and (yes or _ask(olds, quiet=as_json))
    if agreed:
        project.commands.delete(olds)
    if as_json:
        click.echo(json.dumps({"deleted": agreed, "runs": [_data(old) for old in olds]}, indent=2))
    elif not olds:
        click.echo(f"no run is older than {age} and may go", err=True)
    elif agreed:
        click.echo(f"deleted {len(olds)} run{'' if len(olds) == 1 else 's'}", err=True)
    return 0


def _ask(olds: tuple[ExpiredRun, ...], *, quiet: bool) -> bool:
    if quiet:
        return False
    for old in olds:
        note = "" if old.landed or not old.refs else "  its work has not landed"
        click.echo(f"{old.run}  {old.workflow:<20} {old.status:<10} {_size(old.bytes):>8}{note}")
    if not sys.stdin.isatty():
        click.echo("nothing was deleted; say --yes to delete them", err=True)
        return False
    return click.confirm(f"Delete these {len(olds)} runs?", default=False, err=True)


def _millis(age: str) -> int:
    found = re.fullmatch(r"(\d+)([smhdw])", age.strip())
    if found is None:
        raise ConfigurationError(f"{age!r} is no age", hint="write 12h, 30d or 4w")
    return int(found[1]) * UNITS[found[2]] * 1000


def _size(count: int) -> str:
    return f"{count / 1_000_000:.1f} MB" if count >= 1_000_000 else f"{count / 1000:.0f} kB"


def _data(old: ExpiredRun) -> dict[str, object]:
    return {
        "run": old.run,
        "workflow": old.workflow,
        "status": old.status,
        "started_at": iso(old.created),
        "bytes": old.bytes,
        "refs": old.refs,
        "landed": old.landed,
    }
