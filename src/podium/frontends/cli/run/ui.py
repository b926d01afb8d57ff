"""`podium ui`: what waits for you, in the browser."""

from __future__ import annotations

import signal
import threading
import webbrowser
from pathlib import Path

import click

from podium.app.page_addresses import running_address
from podium.app.paths import has_runs, project_root
from podium.app.user_projects import user_projects
from podium.frontends.cli.output import say
from podium.frontends.cli.service_lines import print_line
from podium.frontends.cli.web_server import (
    Listening,
    listening,
    listening_options,
    web_server,
)


@click.command("ui", short_help="Open the pages of this project in the browser.")
@click.option(
    "--all", "all_projects", is_flag=True, help="Show every project in which you have started runs."
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="The port; 0 chooses a free one.  [default: 0]"
)
@click.option(
    "--url",
    "only_url",
    is_flag=True,
    help="Print the address of the server that runs for this project, and exit.",
)
@listening_options
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the address as a JSON line; its schema: podium schema --of serve.",
)
def command(
    all_projects: bool,
    port: int,
    only_url: bool,
    socket: Path | None,
    behind_proxy: str | None,
    public: str | None,
    no_browser: bool,
    as_json: bool,
) -> int:
    """Open a page with everything that waits for you, and decide there with the evidence in front of you.

    The server listens on this machine only and refuses requests without the key in the address that it prints. Runs
    have processes of their own, so stopping the server loses nothing. Timers fire under `podium serve --web`.
    """
    here = project_root(Path.cwd())
    if only_url:
        address = running_address(here)
        print_line("pages", address, as_json=as_json, url=address)
        return 0
    place = listening(port, socket, behind_proxy, public)
    others = [root for root in user_projects() if root != here] if all_projects else []
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: stopped.set())
    with web_server((here, *(root for root in others if has_runs(root))), place) as server:
        print_line("pages", server.address, as_json=as_json, url=server.address)
        say(_note(place), err=True)
        if not no_browser and socket is None:
            webbrowser.open(server.address)
        while not stopped.wait(0.5) and server.is_alive:
            pass
    if as_json:
        print_line("ended", "stopped", as_json=True)
    return 0


def _note(place: Listening) -> str:
    if place.header:
        return f"The proxy reaches it at {place.socket} and names people in {place.header}. Ctrl-C stops it."
    if place.socket is not None:
        return (
            f"Forward a port of your machine to {place.socket} and put it into the address. Ctrl-C stops it."
        )
    return "The address contains the key of this server. Ctrl-C stops it."
