"""Reads a child's stdout and stderr, writes its live input and detects its exit, through one epoll descriptor.

One task can therefore wait for all of them.
"""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress
from typing import Final, Self

import anyio

from podium.process.child import Child
from podium.process.launch import LiveInput
from podium.process.output import OutputSink

CHUNK: Final = 64 * 1024
POLL_S: Final = 0.02
CLOSED_S: Final = 0.001
"""How long the exit is waited for in place after a pipe was closed: most processes close their pipes by ending."""


class PipeReader:
    def __init__(self, stdout: OutputSink, stderr: OutputSink) -> None:
        self.began: Final = time.monotonic()
        self.last_output: float | None = None
        """The time of its last output."""
        self._streams: Final = (stdout, stderr)
        self._sinks: dict[int, OutputSink] = {}
        """The sink of each pipe that has not reached its end."""
        self._epoll: Final = select.epoll()
        self._has_pidfd = False
        self._child: Child | None = None
        self._input: LiveInput | None = None
        self._input_handle = -1

    def attach(self, child: Child, live: LiveInput | None = None) -> None:
        self._sinks = dict(zip(child.outputs, self._streams, strict=False))
        self._has_pidfd = child.pidfd is not None
        for handle in (*self._sinks, *(() if child.pidfd is None else (child.pidfd,))):
            self._epoll.register(handle, select.EPOLLIN)
        if child.input is not None and live is not None:
            self._child, self._input, self._input_handle = child, live, child.input
            self._epoll.register(child.input, 0)
            live.attach(self._write_input)
            self._write_input()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._epoll.close()

    def _write_input(self) -> None:
        """Write what fits into the pipe, wait for room for the rest, and end the input after the last of it."""
        child, live = self._child, self._input
        if self._epoll.closed or child is None or live is None or child.input is None:
            return
        has_more = live.write_to(child.input)
        if has_more or not live.is_closed:
            self._epoll.modify(child.input, select.EPOLLOUT if has_more else 0)
        else:
            self._epoll.unregister(child.input)
            child.close_input()

    async def read(self, within_s: float) -> None:
        """Wait for output or the exit, at most this long, and read what is available; may return without anything new."""
        # Without a pidfd there is no event for the exit, so poll.
        pause_s = within_s if self._has_pidfd else min(within_s, POLL_S)
        with anyio.move_on_after(pause_s):
            await anyio.wait_readable(self._epoll.fileno())
        self._read_available()

    async def read_to_end(self) -> None:
        """Read until both pipes are closed; raises what a sink raises."""
        while self._sinks:
            await self.read(float("inf"))

    async def read_ignoring_errors(self) -> None:
        """Read until both pipes are closed and ignore errors, when the output no longer matters."""
        with suppress(Exception):
            await self.read_to_end()

    async def drain(self, within_s: float) -> None:
        """Read the rest after the tree has ended; a pipe that another process still holds gets at most this long."""
        deadline = time.monotonic() + within_s
        # The last output and the end of both pipes are already there.
        self._read_available()
        self._read_available()
        while self._sinks and (left_s := deadline - time.monotonic()) > 0:
            await self.read(left_s)

    def _read_available(self) -> None:
        """Read one chunk of each pipe, so that neither starves the other."""
        wait_s = 0.0
        # A process that ends closes its pipes one by one, and each return to the event loop takes longer than all of it.
        while self._read_ready(wait_s) and self._has_pidfd:
            wait_s = CLOSED_S

    def _read_ready(self, within_s: float) -> bool:
        """Whether pipes were closed, and nothing else has happened."""
        ready = self._epoll.poll(within_s)
        only_closed = bool(ready)
        for handle, mask in ready:
            # Reading the output may have closed the input meanwhile.
            if self._input is not None and handle == self._input_handle:
                if mask & select.EPOLLERR:
                    # The child has closed its end, which would stay an event forever.
                    self._input.drop()
                self._write_input()
                only_closed = False
                continue
            sink = self._sinks.get(handle)
            data = b"" if sink is None else _read_chunk(handle)
            if sink is not None and data:
                self.last_output = time.monotonic()
                sink.feed(data)
            elif data is not None:
                # A pipe at its end would stay readable forever.
                self._epoll.unregister(handle)
                self._sinks.pop(handle, None)
            only_closed &= sink is not None and data == b""
        return only_closed


def _read_chunk(pipe: int) -> bytes | None:
    try:
        return os.read(pipe, CHUNK)
    except BlockingIOError:  # pragma: no cover (the kernel may call a pipe readable that is not)
        return None
