"""`podium ui`: what waits for you, in the browser."""

from __future__ import annotations

import signal
import threading
import webbrowser
from pathlib import Path

import click

from podium.app.paths import has_runs, project_root
from podium.app.user_projects import user_projects
from podium.frontends.cli.output import say
from podium.frontends.cli.web_server import running_web_address, web_server


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
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def command(all_projects: bool, port: int, only_url: bool, no_browser: bool) -> int:
    """Open a page with everything that waits for you, and decide there with the evidence in front of you.

    The server answers on this machine only, and to nobody without the key in the address that it prints. It carries no
    run itself: each gets a process of its own, so closing it loses nothing. Timers fire under `podium serve --web`.
    """
    here = project_root(Path.cwd())
    if only_url:
        click.echo(running_web_address(here))
        return 0
    others = [root for root in user_projects() if root != here] if all_projects else []
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: stopped.set())
    with web_server((here, *(root for root in others if has_runs(root))), port=port) as server:
        click.echo(server.address)
        say("the address has the key of this server; Ctrl-C ends it", err=True)
        if not no_browser:
            webbrowser.open(server.address)
        while not stopped.wait(0.5) and server.is_alive:
            pass
    return 0
