"""Sends what the outbox holds, in a process that does nothing else, so that no channel can delay a run.

Rule 1: a message is marked before it is sent, and its result stored after. After a crash in between it is sent again,
with the same id.
Rule 2: channels do not wait for each other, and a message waits for the earlier one of its channel.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any, Final, NamedTuple

from podium.core.types import Millis
from podium.fast_dataclass import dataclass
from podium.ports.channel import Channel, ChannelError, ChannelMessage, ChannelSettings
from podium.ports.clock import Clock, wall_clock
from podium.ports.outbox import Outbox, StoredMessage
from podium.process.detach import DetachedProcess, disown, start_detached
from podium.views.format import plural

RETRIES: Final = (60_000, 300_000, 1_500_000)
"""The pauses before the second, third and fourth try, in milliseconds."""
PATIENCE_S: Final = 10.0
"""How long a channel may take for one message."""
LINGER_S: Final = 3.0
"""How long the process stays after the last message, for the next one."""
AHEAD_MS: Final = 1_800_000
"""For messages that are due later than this, the process does not stay; `podium serve` starts another one."""
LOOK_S: Final = 0.1
LOCK: Final = "notifications.lock"
LOG: Final = "notifications.log"


class _Result(NamedTuple):
    channel: str
    batch: str
    reason: str
    """Empty if it was delivered."""


class _Sending(NamedTuple):
    batch: str
    ids: tuple[str, ...]
    tries: int
    deadline: float


@dataclass(slots=True)
class Sender:
    """Only for the process that holds the lock of the outbox."""

    outbox: Outbox
    open_channel: Callable[[str], Channel | None]
    """None for a channel that the configuration no longer defines."""
    digests: frozenset[str] = frozenset()
    """The channels whose messages are sent together."""
    now: Clock = wall_clock
    patience_s: float = PATIENCE_S
    retries: Sequence[int] = RETRIES
    _sending: dict[str, _Sending] = field(default_factory=dict)
    _results: queue.SimpleQueue[_Result] = field(default_factory=queue.SimpleQueue)

    def send_all(self, *, linger_s: float = LINGER_S) -> None:
        """Until nothing is due soon and `linger_s` have passed without a message."""
        self.outbox.recover()
        idle_since = time.monotonic()
        while True:
            self._start_due()
            self._collect()
            next_due = self.outbox.next_due()
            if self._sending or (next_due is not None and next_due - self.now() < AHEAD_MS):
                idle_since = time.monotonic()
            elif time.monotonic() - idle_since >= linger_s:
                return

    def _start_due(self) -> None:
        waiting: dict[str, list[StoredMessage]] = {}
        for stored in self.outbox.due(self.now()):
            waiting.setdefault(stored.outgoing.channel, []).append(stored)
        for channel, messages in waiting.items():
            if channel not in self._sending:
                self._start(channel, self._together(channel, messages))

    def _together(self, channel: str, messages: list[StoredMessage]) -> list[StoredMessage]:
        """What is sent as one message: what was once sent together, or everything for a channel with a digest."""
        first = messages[0]
        if first.batch:
            return [each for each in messages if each.batch == first.batch]
        fresh = [each for each in messages if not each.batch]
        return fresh if channel in self.digests else fresh[:1]

    def _start(self, channel: str, messages: list[StoredMessage]) -> None:
        ids = tuple(each.outgoing.message.id for each in messages)
        message = messages[0].outgoing.message if len(messages) == 1 else digest_of(messages)
        self.outbox.begin(ids, batch=message.id, now=self.now())
        tries = max(each.tries for each in messages) + 1
        deadline = time.monotonic() + self.patience_s
        self._sending[channel] = _Sending(message.id, ids, tries, deadline)
        threading.Thread(target=self._send, args=(channel, message), daemon=True).start()

    def _send(self, channel: str, message: ChannelMessage) -> None:
        """In a thread of its own, which is left alone if the channel is silent."""
        try:
            opened = self.open_channel(channel)
            if opened is None:
                reason = "the configuration defines no such channel"
            else:
                opened.send(message)
                reason = ""
        except ChannelError as error:
            reason = error.message
        except Exception as error:  # noqa: BLE001  # A library for 180 services may raise anything.
            reason = type(error).__name__
        self._results.put(_Result(channel, message.id, reason))

    def _collect(self) -> None:
        try:
            result = self._results.get(timeout=LOOK_S)
        except queue.Empty:
            pass
        else:
            sending = self._sending.get(result.channel)
            # The answer of a channel that was given up comes too late.
            if sending is not None and sending.batch == result.batch:
                self._finish(result.channel, sending, result.reason)
        for channel, sending in tuple(self._sending.items()):
            if time.monotonic() > sending.deadline:
                self._finish(channel, sending, f"no answer within {self.patience_s:g} s")

    def _finish(self, channel: str, sending: _Sending, reason: str) -> None:
        del self._sending[channel]
        now = self.now()
        if not reason:
            self.outbox.finish(sending.ids, now=now)
            return
        pause = self.retries[sending.tries - 1] if sending.tries <= len(self.retries) else None
        retry_at = None if pause is None else Millis(now + pause)
        self.outbox.fail(sending.ids, reason, retry_at=retry_at, now=now)


def digest_of(messages: Sequence[StoredMessage]) -> ChannelMessage:
    """Several messages as one; the same ones have the same id."""
    each = [stored.outgoing.message for stored in messages]
    name = hashlib.sha256("\0".join(sorted(message.id for message in each)).encode()).hexdigest()[:24]
    lines = [message.title for message in each]
    data: dict[str, Any] = {"kind": "digest", "messages": [{"id": m.id, **m.data} for m in each]}
    return ChannelMessage(
        f"msg_{name}",
        "digest",
        f"{plural(len(each), 'message')} from Podium",
        "\n".join(lines),
        data,
        each[-1].at,
    )


@contextmanager
def sender_lock(state_dir: Path) -> Iterator[bool]:
    """Whether this process is the one that sends; the kernel releases the lock however the process dies."""
    handle = os.open(state_dir / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield True
    finally:
        os.close(handle)


class SenderProcess:
    """Starts the process that sends, unless there is one."""

    def __init__(self, root: Path, state_dir: Path) -> None:
        self._root = root
        self._state_dir = state_dir
        self._child: DetachedProcess | None = None

    def ensure(self) -> None:
        if self._child is not None and self._child.poll() is None:
            return
        with sender_lock(self._state_dir) as is_free:
            if not is_free:
                return
        output = self._state_dir / LOG
        self._child = start_detached("notify", "--send", cwd=self._root, output=output)

    def leave(self) -> None:
        """Let it go on alone."""
        if self._child is not None and self._child.poll() is None:
            disown(self._child)


def digests_of(channels: Mapping[str, ChannelSettings]) -> frozenset[str]:
    return frozenset(name for name, channel in channels.items() if channel.digest)
