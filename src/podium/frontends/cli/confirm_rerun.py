"""Shared by the commands that go on from a run in a new one: what would be reused, a yes, and the new run."""

from __future__ import annotations

import json

import click

from podium.app.project import Office
from podium.app.run.rerun import Part, RerunPreview, start_rerun
from podium.errors import ConfigurationError
from podium.frontends.cli.background import go_on_in_background
from podium.frontends.cli.foreground import drive_with_display, is_terminal
from podium.views.format import dollars

SHOWN = 12

yes_option = click.option("--yes", is_flag=True, help="Start without asking for confirmation.")
dry_option = click.option(
    "--dry-run", is_flag=True, help="Only print what would be reused and what would run again."
)


def go_on_from(  # the options of the commands
    office: Office,
    prospect: RerunPreview,
    *,
    yes: bool,
    dry: bool,
    detach: bool,
    as_json: bool,
    by: str | None = None,
) -> int:
    """Says what is taken over and what it saves, asks, and carries the new run on.

    `by`: who wants the earlier run closed, should it not be over.
    """
    if dry:
        click.echo(json.dumps(as_data(prospect)) if as_json else as_text(prospect))
        return 0
    click.echo(as_text(prospect), err=True)
    if not yes:
        if not is_terminal():
            raise ConfigurationError(
                "cannot ask for confirmation without a terminal", hint="pass --yes, or --dry-run to preview"
            )
        if not click.confirm("Begin?", default=True, err=True):
            return 0
    begun = start_rerun(office, prospect, closed_by=by)
    click.echo(f"run {begun.run}, which goes on from {prospect.earlier}", err=True)
    if detach:
        go_on_in_background(office, begun.run)
        click.echo(begun.run)
        return 0
    return drive_with_display(office, begun.run, as_json=as_json)


def as_text(prospect: RerunPreview) -> str:
    lines = [
        _line("reused", prospect.reused, "not paid again"),
        _line("repeated", prospect.repeated, "last time"),
    ]
    if prospect.next:
        lines.append(f"begins with  {', '.join(prospect.next[:SHOWN])}")
    else:
        lines.append("nothing is left to be done")
    return "\n".join(lines)


def as_data(prospect: RerunPreview) -> dict[str, object]:
    return {
        "earlier": prospect.earlier,
        "reused": [_data(part) for part in prospect.reused],
        "repeated": [_data(part) for part in prospect.repeated],
        "next": list(prospect.next),
    }


def _line(word: str, parts: tuple[Part, ...], about: str) -> str:
    if not parts:
        return f"{word:<11}  nothing"
    cost = sum(part.cost for part in parts)
    more = f" and {len(parts) - SHOWN} more" if len(parts) > SHOWN else ""
    paths = ", ".join(part.path for part in parts[:SHOWN])
    return f"{word:<11}  {len(parts)} ({dollars(cost)} {about}): {paths}{more}"


def _data(part: Part) -> dict[str, object]:
    return {
        "path": part.path,
        "attempts": part.attempts,
        "cost_usd": part.cost / 1_000_000,
        "tokens": part.tokens,
    }
