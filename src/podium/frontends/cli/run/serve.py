"""`podium serve`: resume parked runs when they are due."""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from podium.app.inside_step import refuse_inside_step
from podium.app.notify.project_messages import open_messages
from podium.app.run.serve import Service, ServiceLine
from podium.app.triggers.listing import list_triggers, poll_trigger, watch_triggers
from podium.errors import ConfigurationError
from podium.frontends.cli.open_run import in_project
from podium.frontends.cli.service_lines import as_line, print_line
from podium.frontends.cli.web_server import WebServer, listening, listening_options, web_server
from podium.ports.clock import wall_clock
from podium.views.format import iso

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.app.triggers.watch import TriggerWatch


@click.command("serve", short_help="Resume parked runs when they are due.")
@in_project(create=True)
@click.option(
    "--headless", is_flag=True, expose_value=False, help="Accepted for compatibility; has no effect."
)
@click.option("--once", is_flag=True, help="Resume what is due now, then exit (for cron).")
@click.option(
    "--slots",
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    help="Maximum number of runs to drive at once.",
)
@click.option(
    "--listen",
    metavar="HOST:PORT",
    help="Receive webhooks of triggers at this address; port 0 chooses a free one.",
)
@click.option("--web", is_flag=True, help="Also serve the pages of `podium ui`, and print their address.")
@click.option(
    "--web-port",
    type=click.IntRange(0, 65535),
    default=0,
    help="The port of the pages; 0 chooses a free one.",
)
@listening_options
@click.option(
    "--mcp", is_flag=True, help="With --web: also serve the tools of `podium mcp`, and print their key."
)
@click.option(
    "--metrics-key",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="With --web: also answer /metrics/ for Prometheus, to callers with the key in FILE, which is made if missing.",
)
@click.option("--branch", help="Read triggers from this branch.  [default: the default branch]")
@click.option("--no-triggers", is_flag=True, help="Only resume runs; start none.")
@click.option(
    "--list", "as_list", is_flag=True, help="List the triggers and the events that wait, then exit."
)
@click.option(
    "--poll", metavar="FILE:TRIGGER", help="Run the command of a trigger once, print its lines, then exit."
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print each action as a JSON line; its schema: podium schema --of serve.",
)
def command(  # noqa: PLR0913  # one for each option
    project: Project,
    once: bool,
    slots: int,
    listen: str | None,
    web: bool,
    web_port: int,
    socket: Path | None,
    behind_proxy: str | None,
    public: str | None,
    mcp: bool,
    metrics_key: Path | None,
    branch: str | None,
    no_triggers: bool,
    as_list: bool,
    poll: str | None,
    as_json: bool,
) -> int:
    """Resume the runs of this project when they are due, and start runs by triggers, until stopped.

    A run is due when a timer, reminder or deadline fires, a quota window opens, an answer or a signal arrives,
    or its process has died. Paused runs are left alone. The `triggers` of workflows that are committed on the
    default branch start runs; --list shows them. Each action is printed as one line. SIGTERM and Ctrl-C stop
    the service and interrupt active runs without loss; they continue when it starts again.
    """
    _check_web(web, {"--mcp": mcp, "--metrics-key": metrics_key, "--socket": socket})
    place = listening(web_port, socket, behind_proxy, public)
    triggers = None if no_triggers else watch_triggers(project, branch, listen)
    if as_list:
        return _list(triggers, as_json=as_json)
    if poll is not None:
        return _poll(triggers, poll, as_json=as_json)
    refuse_inside_step(project.paths, "serve runs")
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: stopped.set())
    tell = _tell_json if as_json else _tell
    messages = open_messages(project)
    service = Service(project, slots=slots, tell=tell, triggers=triggers, messages=messages)
    pages = ExitStack()
    try:
        if web:
            shown = pages.enter_context(web_server((project.root,), place, mcp=mcp, counters_key=metrics_key))
            _tell_pages(shown, as_json=as_json)
        address = None if triggers is None or triggers.listener is None else triggers.listener.start()
        if not once:
            text = f"watching the runs of {project.root}, {slots} at once{_hooks(address)}"
            print_line("watching", text, as_json=as_json)
        service.serve(stopped.is_set, once=once)
    finally:
        pages.close()
        if triggers is not None:
            triggers.close()
        if messages is not None:
            messages.leave()
            messages.close()
    if not once:
        print_line("ended", "stopped", as_json=as_json)
    return 0


def _check_web(web: bool, options: Mapping[str, object]) -> None:
    for name, value in options.items():
        if value and not web:
            raise click.UsageError(f"{name} needs --web")


def _poll(triggers: TriggerWatch | None, name: str, *, as_json: bool) -> int:
    if triggers is None:
        raise ConfigurationError("triggers need a git repository", hint="git init, and commit")
    lines = poll_trigger(triggers, name)
    click.echo(as_line({"lines": lines}) if as_json else "\n".join(lines))
    return 0


def _hooks(address: tuple[str, int] | None) -> str:
    return "" if address is None else f"; webhooks at http://{address[0]}:{address[1]}/hooks/FILE/TRIGGER"


def _tell_pages(shown: WebServer, *, as_json: bool) -> None:
    print_line("pages", shown.address, as_json=as_json, url=shown.address)
    if shown.mcp:
        text = f"{shown.mcp} with the header {shown.header}"
        print_line("mcp", text, as_json=as_json, url=shown.mcp, header=shown.header)
    if shown.counters:
        text = f"{shown.counters} for Prometheus"
        print_line("metrics", text, as_json=as_json, url=shown.counters)


def _list(triggers: TriggerWatch | None, *, as_json: bool) -> int:
    listed = () if triggers is None else list_triggers(triggers, wall_clock())
    if as_json:
        click.echo(as_line({"triggers": [line._asdict() for line in listed]}))
        return 0
    for line in listed:
        click.echo(f"{line.file}: {line.name}  {line.watches}")
        for text in line.details:
            click.echo(f"    {text}")
    if not listed:
        click.echo("no triggers are committed; docs/how-to/start-runs-by-triggers.md shows how to write one")
    return 0


def _tell(line: ServiceLine) -> None:
    click.echo(line.line())


def _tell_json(line: ServiceLine) -> None:
    """Fields that do not apply to the action are left out."""
    fields = {name: value for name, value in line._asdict().items() if value not in (None, "")}
    click.echo(as_line({**fields, "at": iso(line.at)}))
