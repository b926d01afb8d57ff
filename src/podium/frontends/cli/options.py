"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable

import click


def detail_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add -q and -v, which set `detail`; the last one counts."""
    quiet = click.option(
        "-q", "--quiet", "detail", flag_value="quiet", default="normal", help="Print only what failed."
    )
    verbose = click.option(
        "-v", "--verbose", "detail", flag_value="verbose", help="Also print what agents and commands do."
    )
    return quiet(verbose(command))


set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting over all files, such as limits.usd=20 or roles.reviewer.agent=codex.",
)
role_option = click.option(
    "--role",
    "roles",
    multiple=True,
    metavar="ROLE=AGENT",
    help="Another agent for a role in this run, such as reviewer=codex.",
)
by_option = click.option(
    "--by", metavar="NAME", help="Name to record (default: $PODIUM_USER, else your login name)."
)
tree_option = click.option(
    "--tree",
    metavar="ID",
    help="The tree that you looked at, from `podium inbox`; the answer is refused if the files have changed since.",
)
detach_option = click.option("--detach", is_flag=True, help="Continue the run in the background.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print the run as JSON when it stops.")
