"""Hears a child: what it says on both its pipes, and that it has ended. One descriptor stands for all three.

So the one task that waits for the child does everything, and no other has to be made, watched and ended for it.
"""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress
from typing import Final, Self

import anyio

from podium.process.child import Child
from podium.process.output import OutputSink

CHUNK: Final = 64 * 1024
POLL_S: Final = 0.02


class PipeReader:
    def __init__(self, stdout: OutputSink, stderr: OutputSink) -> None:
        self.began: Final = time.monotonic()
        self.heard: float | None = None
        """When it last said something."""
        self._streams: Final = (stdout, stderr)
        self._sinks: dict[int, OutputSink] = {}
        """By the pipes that are not yet at their end."""
        self._any: Final = select.epoll()
        self._tells_end = False

    def turn_to(self, child: Child) -> None:
        self._sinks = dict(zip((child.stdout, child.stderr), self._streams, strict=True))
        self._tells_end = child.pidfd is not None
        for handle in (*self._sinks, *(() if child.pidfd is None else (child.pidfd,))):
            self._any.register(handle, select.EPOLLIN)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._any.close()

    async def listen(self, within_s: float) -> None:
        """Until there is something to hear, which is taken in, or the time is over; it may return for nothing, too."""
        # Where the kernel has no event for the end of a process, somebody has to look.
        pause_s = within_s if self._tells_end else min(within_s, POLL_S)
        with anyio.move_on_after(pause_s):
            await anyio.wait_readable(self._any.fileno())
        self._take()

    async def listen_to_the_end(self) -> None:
        """Until both pipes are closed. Raises what a sink raises."""
        while self._sinks:
            await self.listen(float("inf"))

    async def listen_anyhow(self) -> None:
        """The same, when it no longer matters what becomes of it."""
        with suppress(Exception):
            await self.listen_to_the_end()

    async def drain(self, within_s: float) -> None:
        """With the tree dead the pipes are at their end; the time is for one that was handed to a stranger."""
        deadline = time.monotonic() + within_s
        # What was said last is there already, and so is the end.
        self._take()
        self._take()
        while self._sinks and (left_s := deadline - time.monotonic()) > 0:
            await self.listen(left_s)

    def _take(self) -> None:
        """One piece of each pipe, so that none starves the other."""
        for handle, _ in self._any.poll(0):
            sink = self._sinks.get(handle)
            data = b"" if sink is None else _read(handle)
            if sink is not None and data:
                self.heard = time.monotonic()
                sink.feed(data)
            elif data is not None:
                # At its end it would be readable for ever.
                self._any.unregister(handle)
                self._sinks.pop(handle, None)


def _read(pipe: int) -> bytes | None:
    try:
        return os.read(pipe, CHUNK)
    except BlockingIOError:  # pragma: no cover (the kernel may call a pipe readable that is not)
        return None
