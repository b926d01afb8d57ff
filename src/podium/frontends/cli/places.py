"""What stands over a workflow: the folder of the user, and what was typed."""

from __future__ import annotations

import os
from pathlib import Path

import click

set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting over all files, such as limits.usd=20 or roles.reviewer.agent=codex.",
)


def user_dir() -> Path:
    """The folder of the user's own configuration, roles and templates."""
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "podium"
