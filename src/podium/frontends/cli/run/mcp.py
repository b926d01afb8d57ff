"""`podium mcp`: tools for the user's own assistant, by the Model Context Protocol."""

from __future__ import annotations

import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import click

from podium.app.inside_step import refuse_inside_step
from podium.app.paths import project_root
from podium.errors import ConfigurationError
from podium.files.project_paths import ProjectPaths
from podium.frontends.cli.output import say, tell_data
from podium.frontends.cli.service_lines import print_line
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
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the entry, the address or an error as JSON; schemas: mcp, serve, error. On standard output the protocol "
    "is JSON lines anyway.",
)
def command(may_answer: bool, port: int | None, client: str | None, as_json: bool) -> int:
    """Serve the runs of the project around the current folder to an assistant: list, show, start, steer, write workflows.

    An assistant starts this command itself; --print-config prints what to write into its settings. It can answer no
    question of a run unless --may-answer is given.
    """
    if client is not None:
        return _print_entry(client, may_answer=may_answer, as_json=as_json)
    _check_installed()
    root = project_root(Path.cwd())
    refuse_inside_step(ProjectPaths(root), "serve an assistant")
    if port is not None:
        from podium.frontends.mcp.http import serve_http

        return serve_http(
            root, port=port, may_answer=may_answer, tell=partial(_tell_address, as_json=as_json)
        )
    if sys.stdin.isatty():
        raise ConfigurationError(
            "`podium mcp` is started by an assistant, which speaks to it on standard input",
            hint="podium mcp --print-config NAME   prints what to write into its settings",
        )
    from podium.frontends.mcp.stdio import serve_stdio

    return serve_stdio(root, may_answer=may_answer)


def _print_entry(client: str, *, may_answer: bool, as_json: bool) -> int:
    entry = entry_for(client, may_answer=may_answer)
    if as_json:
        tell_data({"client": client, "place": PLACES[client], "entry": entry})
    else:
        say(f"for {PLACES[client]}:", err=True)
        click.echo(entry, nl=False)
    return 0


def _tell_address(url: str, header: str, *, as_json: bool) -> None:
    print_line("mcp", f"url: {url}\nheader: {header}", as_json=as_json, url=url, header=header)
    if not as_json:
        say("The key is valid until this command ends. Ctrl-C stops it.", err=True)


def _check_installed() -> None:
    if find_spec("mcp") is None:
        raise ConfigurationError(
            "`podium mcp` needs a library that is not installed: mcp",
            hint="pip install 'podium[mcp]'",
            code="extra_missing",
        )
