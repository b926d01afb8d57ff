"""Lines of commands that run until they are stopped, for people or as JSON: by data/schemas/serve.json."""

from __future__ import annotations

import json
from typing import Any, Literal, TypeAlias

import click

from podium.frontends.cli.output import say
from podium.ports.clock import wall_clock
from podium.views.format import iso

Did: TypeAlias = Literal["watching", "pages", "mcp", "metrics", "ready", "cleared", "stopping", "ended"]


def print_line(did: Did, text: str, *, as_json: bool, err: bool = False, **more: str) -> None:
    """With `err`, the words for people are progress and go to stderr; a JSON line goes to stdout."""
    if as_json:
        click.echo(as_line({"at": iso(wall_clock()), "did": did, "text": text, **more}))
    elif err:
        say(text, err=True)
    else:
        click.echo(text)


def as_line(data: dict[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False)
