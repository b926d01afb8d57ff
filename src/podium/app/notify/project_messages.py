"""The messages of one project: its channels, its outbox, and the process that sends. The way in for everything else."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from podium.app.notify.channels import read_channels
from podium.app.notify.send import Sender, SenderProcess, digests_of, sender_lock
from podium.core.types import Millis
from podium.errors import ConfigurationError, PodiumError
from podium.ports.channel import Channel, ChannelError, ChannelMessage, ChannelSettings, OpenChannel
from podium.ports.clock import wall_clock
from podium.ports.outbox import Messaging, StoredMessage
from podium.workflow.problems import did_you_mean

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.core.events import Event
    from podium.core.hash_chain import RunId
    from podium.core.state import State
    from podium.ports.store import RunHead


class ChannelCheck(NamedTuple):
    """What is known of a channel without sending anything."""

    name: str
    form: str
    on: tuple[str, ...]
    fault: str
    """Empty if nothing is known to be wrong."""


class ProjectMessages:
    def __init__(
        self, project: Project, messaging: Messaging, channels: Mapping[str, ChannelSettings]
    ) -> None:
        self._project = project
        self._channels = channels
        self._outbox = messaging.open_outbox()
        self._process = SenderProcess(project.root, project.paths.state_dir)

    def begin(self, run: RunId, seq: int) -> None:
        """People are told what happens in this run from now on, unless they are already."""
        if self._outbox.seen(run) is None:
            self._outbox.add(run, seq, ())

    def record(self, run: RunId, state: State, events: Sequence[Event]) -> None:
        from podium.app.notify.record import Recorder

        Recorder(self._project, self._channels, self._outbox).record(run, state, events)
        self.send_due()

    def record_stuck(self, head: RunHead, why: str) -> None:
        from podium.app.notify.record import Recorder

        Recorder(self._project, self._channels, self._outbox).record_stuck(head, why)
        self.send_due()

    def catch_up(self, head: RunHead) -> None:
        """Store the messages that the driver of a run did not store before it died."""
        from podium.app.query.runs import definition_of
        from podium.core.evolve.evolve import fold
        from podium.runtime.records import events_of

        seen = self._outbox.seen(head.run)
        if seen is None or seen >= head.last_seq:
            return
        workflow = definition_of(self._project, head)
        if workflow is not None:
            events = events_of(self._project.runtime.events(head.run))
            self.record(head.run, fold(workflow, events), events)

    def send_due(self) -> None:
        """Start the process that sends, if something is to be sent now and none does."""
        due = self._outbox.next_due()
        if due is not None and due <= wall_clock():
            self._process.ensure()

    def is_sending(self) -> bool:
        """Whether messages are on their way that have not failed before."""
        newest = self._outbox.messages(limit=50)
        now = wall_clock()
        return any(
            each.state == "sending"
            or (each.state == "queued" and not each.tries and each.outgoing.due <= now)
            for each in newest
        )

    def look(self, viewer: str, until: int) -> None:
        """A person looks at the open questions until then, so messages about them can wait a little."""
        self._outbox.look(viewer, Millis(until))

    def leave(self) -> None:
        self._process.leave()

    def newest(self, limit: int) -> tuple[StoredMessage, ...]:
        return self._outbox.messages(limit=limit)

    def close(self) -> None:
        self._outbox.close()


def open_messages(project: Project) -> ProjectMessages | None:
    """None if the configuration defines no channel, or the project tells nobody."""
    if project.messaging is None:
        return None
    channels = read_channels(project.root, project.user_dir)
    return ProjectMessages(project, project.messaging, channels) if channels else None


def send_messages(project: Project, *, linger_s: float) -> None:
    """Send what is due, unless another process does."""
    channels = read_channels(project.root, project.user_dir)
    messaging = _messaging(project)

    def open_channel(name: str) -> Channel | None:
        settings = channels.get(name)
        return None if settings is None else messaging.open_channel(settings, os.environ)

    outbox = messaging.open_outbox()
    try:
        while True:
            with sender_lock(project.paths.state_dir) as is_ours:
                if not is_ours:
                    return
                Sender(outbox, open_channel, digests_of(channels)).send_all(linger_s=linger_s)
            # A message that was stored while the lock was being released has started no other sender.
            due = outbox.next_due()
            if due is None or due > wall_clock():
                return
    finally:
        outbox.close()


def check_channels(root: Path, user_dir: Path | None, open_channel: OpenChannel) -> tuple[ChannelCheck, ...]:
    return tuple(
        ChannelCheck(name, channel.form, channel.on, open_channel(channel, os.environ).fault())
        for name, channel in read_channels(root, user_dir).items()
    )


def send_test(project: Project, name: str) -> None:
    """Send a message that says that the channel works; raises with the reason if that fails."""
    channels = read_channels(project.root, project.user_dir)
    if name not in channels:
        hint = did_you_mean(name, channels) or "define it under `notify` in .podium/config.yaml"
        raise ConfigurationError(f'the configuration defines no channel "{name}"', hint=hint)
    now = wall_clock()
    text = f"Messages of {project.root.name} reach you here."
    message = ChannelMessage(f"msg_test_{now}", "test", "Podium: a test", text, {"kind": "test"}, now)
    try:
        _messaging(project).open_channel(channels[name], os.environ).send(message)
    except ChannelError as error:
        raise PodiumError(f"{name}: {error.message}", code="channel") from error


def _messaging(project: Project) -> Messaging:
    if project.messaging is None:
        raise ConfigurationError("the runs of this project are stored elsewhere and send no messages")
    return project.messaging
