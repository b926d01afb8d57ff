"""`podium passkeys`: the passkeys with which people approve what asks for their presence."""

from __future__ import annotations

from pathlib import Path

import click

from podium.app.decide.presence import passkeys, remove_passkey
from podium.app.inside_step import refuse_inside_step
from podium.app.paths import project_root, user_dir
from podium.core.types import Millis
from podium.files.project_paths import ProjectPaths
from podium.frontends.cli.output import say, table, tell_data
from podium.views.format import iso
from podium.views.plain import visible

SHOWN: int = 12


@click.command("passkeys", short_help="List or remove the passkeys that approve with presence.")
@click.option(
    "--remove", "removed", metavar="KEY", help="Remove one, by its name or the beginning of its id."
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON object; its schema: podium schema --of passkeys."
)
def command(removed: str | None, as_json: bool) -> int:
    """List the passkeys of this user's configuration; a step with `presence: true` is approved with one.

    A browser makes them: `podium ui`, then Settings. Only public keys are stored. Runs that were approved keep the proof,
    also after the passkey is removed.
    """
    if removed is not None:
        refuse_inside_step(ProjectPaths(project_root(Path.cwd())), "remove a passkey")
        key = remove_passkey(user_dir(), removed)
        say(f"removed {visible(key.name) or key.credential[:SHOWN]} of {visible(key.person)}", err=as_json)
    keys = passkeys(user_dir())
    if as_json:
        rows = [
            {
                "id": key.credential,
                "name": key.name,
                "person": key.person,
                "added_at": iso(Millis(key.added)) if key.added else None,
            }
            for key in keys
        ]
        tell_data({"passkeys": rows})
        return 0
    if removed is not None:
        return 0
    if not keys:
        say("no passkeys yet; add one in the settings of `podium ui`", err=True)
        return 0
    table(
        ("name", "person", "id", "added"),
        [
            (
                visible(key.name) or "-",
                visible(key.person),
                key.credential[:SHOWN],
                iso(Millis(key.added)) if key.added else "-",
            )
            for key in keys
        ],
    )
    return 0
