"""Lists the triggers of a project and what waits for them; and makes the watch that `podium serve` uses."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from podium.app.triggers.definitions import DefinedTrigger
from podium.app.triggers.event_sources import next_time
from podium.app.triggers.watch import TriggerWatch
from podium.core.types import Millis
from podium.errors import ConfigurationError
from podium.git.repository import find
from podium.ports.store import TriggerEvent
from podium.views.format import clock, iso

if TYPE_CHECKING:
    from podium.app.project import Project


class ListedTrigger(NamedTuple):
    file: str
    name: str
    """Empty for a file whose triggers do not count now."""
    watches: str
    details: tuple[str, ...] = ()
    next: str | None = None
    """A time of cron, in UTC."""
    waiting: tuple[str, ...] = ()


def watch_triggers(project: Project, branch: str | None, listen: str | None) -> TriggerWatch | None:
    """None outside of git, where nothing is committed."""
    repository = find(project.root, project.paths.trees)
    if repository is None:
        if listen is not None or branch is not None:
            raise ConfigurationError(
                "triggers need a git repository, because only committed ones count",
                hint="git init, and commit",
            )
        return None
    watch = TriggerWatch(project, repository, branch)
    if listen is not None:
        from podium.app.triggers.webhooks import WebhookListener

        host, port = _address(listen)
        watch.listener = WebhookListener(host, port, os.environ)
    return watch


def _address(listen: str) -> tuple[str, int]:
    host, colon, port = listen.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65_535:
        raise ConfigurationError(
            f'"{listen}" is not an address', hint="write --listen 127.0.0.1:8787 or --listen 0.0.0.0:8787"
        )
    return host or "127.0.0.1", int(port)


def list_triggers(watch: TriggerWatch, now: Millis) -> tuple[ListedTrigger, ...]:
    committed = watch.reader.read()
    waiting = watch.project.runtime.trigger_events()
    refused = [ListedTrigger(file, "", f"does not count: {why}") for file, why in committed.refused]
    return (*(_listed(defined, waiting, now) for defined in committed.triggers), *refused)


def poll_trigger(watch: TriggerWatch, name: str) -> list[str]:
    """Run the command of the trigger FILE:NAME once; returns the lines that it prints."""
    from podium.app.triggers.polled_commands import poll_once

    committed = watch.reader.read()
    polled = {
        f"{each.file}:{each.name}": each for each in committed.triggers if each.trigger.command is not None
    }
    if name not in polled:
        names = ", ".join(polled) or "none"
        raise ConfigurationError(
            f'no committed trigger "{name}" has a command', hint=f"triggers with a command: {names}"
        )
    return poll_once(watch.project, watch.repository, polled[name], committed.commit)


def _listed(defined: DefinedTrigger, waiting: tuple[TriggerEvent, ...], now: Millis) -> ListedTrigger:
    trigger = defined.trigger
    own = tuple(event for event in waiting if (event.file, event.trigger) == defined.key)
    at = next_time(defined, now) if trigger.cron is not None else None
    details = [] if at is None else [f"next: {clock(at)} UTC"]
    if trigger.webhook is not None:
        details.append(
            f"at /hooks/{defined.file}/{defined.name} while `podium serve --listen HOST:PORT` runs"
        )
    details += [f"waits since {clock(Millis(event.at))} UTC: {event.id}" for event in own]
    return ListedTrigger(
        defined.file,
        defined.name,
        _watches(defined),
        tuple(details),
        None if at is None else iso(at),
        tuple(event.id for event in own),
    )


def _watches(defined: DefinedTrigger) -> str:
    trigger = defined.trigger
    match trigger.source:
        case "cron":
            return f"cron {trigger.cron} in {trigger.zone or 'UTC'}"
        case "file":
            return f"files {', '.join(trigger.file or ())}"
        case "ref":
            return f"refs {', '.join(trigger.ref or ())}"
        case "webhook":
            assert trigger.webhook is not None
            kinds = ", ".join(trigger.webhook.events) or "all events"
            return f"webhook ({trigger.webhook.scheme}): {kinds}"
        case _:
            assert trigger.command is not None
            words = trigger.command.run
            return f"command {words if isinstance(words, str) else ' '.join(words)}"
