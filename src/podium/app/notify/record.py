"""Stores the messages about a run's events in the outbox, and starts the process that sends them.

Rule 1: nothing here delays or stops a run: it happens in a thread, and a fault of the outbox is only noted.
Rule 2: what a process did not store before it died is stored by the next one: the log says what happened, and the
outbox up to which event it is stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from podium.app.notify.channels import chosen_channels
from podium.app.notify.notices import (
    Notice,
    answered_questions,
    channels_of_run,
    groups_of,
    notices,
)
from podium.app.notify.schedule import due_of
from podium.app.notify.words import body_of, data_of, title_of
from podium.app.page_addresses import link_to
from podium.core.addresses import ROOT
from podium.core.events import Event
from podium.core.hash_chain import RunId
from podium.core.state import State
from podium.core.types import Millis
from podium.errors import ConfigurationError
from podium.ports.channel import ChannelMessage, ChannelSettings
from podium.ports.clock import wall_clock
from podium.ports.outbox import Outbox, OutgoingMessage
from podium.runtime.question_text import question_renderer
from podium.views.format import plural
from podium.views.run.builder import RunViewBuilder
from podium.views.run.questions import with_state
from podium.views.run.view import Pending, RunView

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.ports.store import RunHead

WATCHED_MS: Final = 10_000
"""How long a message waits while the person looks at the open questions anyway."""
ABOUT_QUESTIONS: Final = ("asked", "reminded", "escalated", "vetoable")


class Recorder:
    """Stores messages of one project."""

    def __init__(self, project: Project, channels: Mapping[str, ChannelSettings], outbox: Outbox) -> None:
        self._project = project
        self._channels = channels
        self._outbox = outbox
        self._render = question_renderer(project.root)

    def record(self, run: RunId, state: State, events: Sequence[Event]) -> int:
        """Store the messages about all events that are not stored yet; returns how many are new."""
        seen = self._outbox.seen(run)
        if seen is None or seen >= len(events):
            return 0
        noticed = tuple(notices(state, events, after=seen))
        messages: tuple[OutgoingMessage, ...] = ()
        if noticed:
            builder = RunViewBuilder()
            builder.feed(events)
            view = with_state(builder.view(), state, self._render)._replace(run=run)
            messages = tuple(message for notice in noticed for message in self._messages(notice, state, view))
        answered = answered_questions(events, after=seen)
        return self._outbox.add(run, len(events), messages, answered=answered)

    def _messages(self, notice: Notice, state: State, view: RunView) -> Iterator[OutgoingMessage]:
        named = notice.channels if notice.channels is not None else channels_of_run(state)
        targets = tuple(
            chosen_channels(
                self._channels, notice.kind, named=named, people=notice.people, groups=groups_of(state)
            )
        )
        if not targets:
            return
        pending = next((each for each in view.pending if each.path == notice.path), None)
        if notice.kind not in ABOUT_QUESTIONS:
            pending = None
        title = title_of(notice, view, pending)
        link = link_to(self._project.root, view.run, "" if pending is None else pending.path)
        body = body_of(notice, view, pending, change=self._change(view, pending), link=link)
        data = {**data_of(notice, view, pending), **({"link": link} if link else {})}
        yield from (
            self._outgoing(
                channel, notice, view, ChannelMessage("", notice.kind, title, body, data, notice.at)
            )
            for channel in targets
        )

    def _outgoing(
        self, channel: ChannelSettings, notice: Notice, view: RunView, message: ChannelMessage
    ) -> OutgoingMessage:
        now = wall_clock()
        due = due_of(channel, now)
        if notice.question and self._outbox.is_watched(now):
            due = max(due, Millis(now + WATCHED_MS))
        named = replace(message, id=message_id(view.run, notice.seq, notice.kind, channel.name))
        return OutgoingMessage(named, channel.name, RunId(view.run), due, notice.question)

    def _change(self, view: RunView, pending: Pending | None) -> str:
        """How much the question is about; empty outside of git."""
        if pending is None or pending.tree is None:
            return ""
        from podium.app.query.diff import read_changes, span_of_question

        try:
            changes = read_changes(self._project.paths, span_of_question(view, pending))
        except ConfigurationError:
            return ""
        added, removed = sum(each.added for each in changes), sum(each.removed for each in changes)
        return f"{plural(len(changes), 'file')} changed, +{added} -{removed}"

    def record_stuck(self, head: RunHead, why: str) -> int:
        """A run that cannot continue by itself, once for each state of its log."""
        from podium.app.query.runs import show

        notice = Notice("stuck", head.last_seq, wall_clock(), ROOT)
        view = show(self._project, head)
        messages = []
        for channel in chosen_channels(self._channels, "stuck", named=None, people=(), groups={}):
            title = title_of(notice, view, None)
            link = link_to(self._project.root, view.run)
            body = body_of(notice, view, None, change="", why=why, link=link)
            message = ChannelMessage(
                "", "stuck", title, body, {**data_of(notice, view, None), "why": why}, notice.at
            )
            messages.append(self._outgoing(channel, notice, view, message))
        seen = self._outbox.seen(head.run)
        return self._outbox.add(head.run, seen or 0, messages)


def message_id(run: str, seq: int, kind: str, channel: str) -> str:
    """The same in every process that comes to send it."""
    facts = "\0".join((run, str(seq), kind, channel))
    return f"msg_{hashlib.sha256(facts.encode()).hexdigest()[:24]}"
