"""`podium gc`: delete what old runs have left."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

import click

from podium.app.archive.gc import ExpiredRun
from podium.core.types import Millis
from podium.errors import EXIT_FAILED, ConfigurationError
from podium.frontends.cli.open_run import in_project
from podium.frontends.cli.output import say
from podium.frontends.cli.progress import ProgressLine
from podium.ports.clock import wall_clock
from podium.views.format import iso

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.core.hash_chain import RunId

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
@click.option(
    "--without-history",
    is_flag=True,
    help="Also delete runs whose numbers cannot be kept for podium metrics, such as those with a damaged log.",
)
@click.option("--yes", is_flag=True, help="Delete without asking.")
@click.option("--json", "as_json", is_flag=True, help="Print what would be or was deleted as JSON.")
def command(
    project: Project, age: str, unlanded: bool, without_history: bool, yes: bool, as_json: bool
) -> int:
    """List ended runs older than AGE, or than `record.keep` of their workflow, and delete them after confirmation.

    Deletes a run's log, records, artifacts and refs; its numbers stay in the history, which `podium metrics` reads. Unfinished runs are kept, and so are runs whose work has
    not landed, unless --unlanded is given. Without a terminal, nothing is deleted unless --yes is given.
    """
    now = wall_clock()
    runs = project.commands.expired(before=Millis(now - _millis(age)), now=now, unlanded=unlanded)
    agreed = bool(runs) and (yes or _ask(runs, quiet=as_json))
    refused: dict[RunId, str] = {}
    if agreed:
        with ProgressLine("deleted runs", len(runs)) as line:
            refused = project.commands.delete(line.track(runs), without_history=without_history)
        runs = tuple(run for run in runs if run.run not in refused)
    if as_json:
        not_deleted = [{"run": run, "reason": reason} for run, reason in refused.items()]
        data = {"deleted": agreed, "runs": [_data(run) for run in runs], "refused": not_deleted}
        click.echo(json.dumps(data, indent=2))
    elif not runs:
        say(f"nothing to delete: no ended run without open work is older than {age}", err=True)
    elif agreed:
        say(f"deleted {len(runs)} run{'' if len(runs) == 1 else 's'}", err=True)
    for run, reason in refused.items():
        say(f"{run} was not deleted, because its numbers cannot be kept: {reason}", err=True)
    if refused:
        say("  hint: --without-history deletes such runs too", err=True)
    return EXIT_FAILED if refused else 0


def _ask(runs: tuple[ExpiredRun, ...], *, quiet: bool) -> bool:
    if quiet:
        return False
    for run in runs:
        note = "" if run.landed or not run.refs else "  its work has not landed"
        click.echo(f"{run.run}  {run.workflow:<20} {run.status:<10} {_size(run.bytes):>8}{note}")
    if not sys.stdin.isatty():
        say("nothing was deleted; pass --yes to delete them", err=True)
        return False
    return click.confirm(f"Delete these {len(runs)} runs?", default=False, err=True)


def _millis(age: str) -> int:
    match = re.fullmatch(r"(\d+)([smhdw])", age.strip())
    if match is None:
        raise ConfigurationError(f"{age!r} is not an age", hint="write 12h, 30d or 4w")
    return int(match[1]) * UNITS[match[2]] * 1000


def _size(count: int) -> str:
    return f"{count / 1_000_000:.1f} MB" if count >= 1_000_000 else f"{count / 1000:.0f} kB"


def _data(run: ExpiredRun) -> dict[str, object]:
    return {
        "run": run.run,
        "workflow": run.workflow,
        "status": run.status,
        "started_at": iso(run.created),
        "bytes": run.bytes,
        "refs": run.refs,
        "landed": run.landed,
    }
