"""`podium mcp`: tools for the user's own assistant, by the Model Context Protocol."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import click

from podium.app.paths import project_root
from podium.errors import ConfigurationError
from podium.frontends.cli.output import say
from podium.frontends.mcp.client_entries import CLIENTS, PLACES, entry_for


@click.command("mcp", short_help="Give your own assistant tools for the runs of this project.")
@click.option(
    "--may-answer",
    is_flag=True,
    help="Let the assistant answer what runs ask, for you; recorded as your name with `by mcp`.",
)
@click.option(
    "--http",
    "port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Serve over HTTP on this port of 127.0.0.1 (0: any) instead of standard input and output.",
)
@click.option(
    "--print-config", "client", type=click.Choice(CLIENTS), help="Print the entry for this program."
)
def command(may_answer: bool, port: int | None, client: str | None) -> int:
    """Serve the runs of the project around the current folder to an assistant: list, show, start, steer, write workflows.

    An assistant starts this command itself; --print-config prints what to write into its settings. It can answer no
    question of a run unless --may-answer is given.
    """
    if client is not None:
        say(f"for {PLACES[client]}:", err=True)
        click.echo(entry_for(client, may_answer=may_answer), nl=False)
        return 0
    _check_installed()
    root = project_root(Path.cwd())
    if port is not None:
        from podium.frontends.mcp.http import serve_http

        return serve_http(root, port=port, may_answer=may_answer)
    if sys.stdin.isatty():
        raise ConfigurationError(
            "`podium mcp` is started by an assistant, which speaks to it on standard input",
            hint="podium mcp --print-config NAME   prints what to write into its settings",
        )
    from podium.frontends.mcp.stdio import serve_stdio

    return serve_stdio(root, may_answer=may_answer)


def _check_installed() -> None:
    if find_spec("mcp") is None:
        raise ConfigurationError(
            "`podium mcp` needs a library that is not installed: mcp",
            hint="pip install 'podium[mcp]'",
            code="not_installed",
        )
