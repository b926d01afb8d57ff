"""`podium notify`: the channels of messages to people, and what became of the messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from podium.app.notify.project_messages import (
    ChannelCheck,
    check_channels,
    open_messages,
    send_messages,
    send_test,
)
from podium.app.notify.send import LINGER_S
from podium.frontends.cli.open_run import in_project
from podium.frontends.cli.output import say
from podium.ports.clock import wall_clock
from podium.views.format import clock_time, duration, iso

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.ports.outbox import StoredMessage

SHOWN: int = 20


@click.command("notify", short_help="Show or test the channels that tell people about runs.")
@in_project(create=True)
@click.option("--test", "tested", metavar="CHANNEL", help="Send a test message through this channel.")
@click.option(
    "--send", "sends", is_flag=True, hidden=True, help="Send what is due; runs start this themselves."
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON object; its schema: podium schema --of notify."
)
def command(project: Project, tested: str | None, sends: bool, as_json: bool) -> int:
    """List the channels that `notify` of the configuration defines, and the newest messages with their state.

    Messages are sent by a process of their own, which runs start; one that fails is sent again after 1, 5 and 25
    minutes. Addresses are never printed. Exit code 1 if a test message is not delivered.
    """
    if sends:
        send_messages(project, linger_s=LINGER_S)
        return 0
    if tested is not None:
        send_test(project, tested)
        say(f"{tested}: sent")
        return 0
    from podium.wiring import open_channel

    checks, messages = check_channels(project.root, project.user_dir, open_channel), open_messages(project)
    newest = () if messages is None else messages.newest(SHOWN)
    if messages is not None:
        messages.close()
    if as_json:
        data = {
            "channels": [_channel(each) for each in checks],
            "messages": [_message(each) for each in newest],
        }
        click.echo(json.dumps(data, indent=2, ensure_ascii=False))
        return 0
    for line in _lines(checks, newest):
        say(line)
    return 0


def _lines(checks: tuple[ChannelCheck, ...], newest: tuple[StoredMessage, ...]) -> Iterator[str]:
    for check in checks:
        yield f"{check.name}  {check.form}  {', '.join(check.on)}"
        if check.fault:
            yield f"  {check.fault}"
    if not checks:
        yield "the configuration defines no channel; docs/how-to/get-notified.md shows how"
    if newest:
        yield ""
    for stored in newest:
        message = stored.outgoing.message
        yield f"{clock_time(message.at)}  {stored.outgoing.channel}  {_state(stored)}  {message.title}"


def _state(stored: StoredMessage) -> str:
    reason = f": {stored.reason}" if stored.reason else ""
    if stored.state == "queued" and (stored.tries or stored.outgoing.due > wall_clock()):
        wait = duration(max(0, stored.outgoing.due - wall_clock()))
        return f"tried {stored.tries} times, again in {wait}{reason}" if stored.tries else f"due in {wait}"
    return f"{stored.state}{reason}"


def _channel(check: ChannelCheck) -> dict[str, Any]:
    return {"name": check.name, "form": check.form, "on": list(check.on), "fault": check.fault}


def _message(stored: StoredMessage) -> dict[str, Any]:
    outgoing = stored.outgoing
    return {
        "id": outgoing.message.id,
        "channel": outgoing.channel,
        "run": outgoing.run,
        "kind": outgoing.message.kind,
        "title": outgoing.message.title,
        "text": outgoing.message.body,
        "at": iso(outgoing.message.at),
        "due": iso(outgoing.due),
        "state": stored.state,
        "tries": stored.tries,
        "reason": stored.reason,
    }
