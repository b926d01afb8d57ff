"""The --set option: command-line values override the workflow's."""

from __future__ import annotations

import click

set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting over all files, such as limits.usd=20 or roles.reviewer.agent=codex.",
)
