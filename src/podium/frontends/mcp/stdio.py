"""Serves one client on standard input and output: the front at once, and behind it the real server in a thread.

The front reads and writes duplicates of the descriptors 0 and 1. In their places it puts pipes, from which the real
server reads what is passed on, and into which it writes.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Final

from podium.frontends.mcp.front import Front, Wire, read_answers

PATIENCE_S: Final = 5.0
"""How long the real server may take to end after the client has left."""


def serve_stdio(root: Path, *, may_answer: bool) -> int:
    """Serve until the client closes standard input."""
    source, wire = os.fdopen(os.dup(0), "rb"), Wire(os.dup(1))
    front = Front(read_answers(may_answer=may_answer))
    server: _Server | None = None
    for line in source:
        try:
            message = json.loads(line)
        except ValueError:
            message = None  # The real server says what is wrong with it.
        answer, is_passed_on = front.answer(message)
        if answer is not None:
            wire.send(answer)
        if answer is not None and is_passed_on:
            wire.drop(answer["id"])
        if server is None:
            # After the first answer, because the imports would slow it down.
            server = _Server(root, wire, may_answer=may_answer)
        if is_passed_on:
            server.send(line)
    if server is not None:
        server.close()
    return 0


class _Server:
    """The real server in a thread, between two pipes."""

    def __init__(self, root: Path, wire: Wire, *, may_answer: bool) -> None:
        self._root, self._wire, self._may_answer = root, wire, may_answer
        self._requests = _pipe_to(0)
        self._replies = _pipe_from(1)
        threading.Thread(target=self._relay, name="mcp-replies", daemon=True).start()
        self._thread = threading.Thread(target=self._run, name="mcp", daemon=True)
        self._thread.start()

    def send(self, line: bytes) -> None:
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(self._requests, rest) :]

    def close(self) -> None:
        os.close(self._requests)
        self._thread.join(PATIENCE_S)

    def _relay(self) -> None:
        with os.fdopen(self._replies, "rb") as replies:
            for line in replies:
                if not self._wire.relay(line):
                    sys.stderr.buffer.write(line)

    def _run(self) -> None:
        try:
            self._serve()
        except BaseException:  # noqa: BLE001  # whatever it is, a client must not wait for a server that has gone
            traceback.print_exc()
            with suppress(OSError):
                sys.stderr.flush()
            os._exit(1)

    def _serve(self) -> None:
        # Imported here, in the thread: this is what takes so long.
        import anyio

        from podium.app.decide.sender import speaker_by
        from podium.frontends.mcp.server import make_server
        from podium.frontends.project_access import Access

        server = make_server(Access(self._root, speaker_by("mcp"), self._may_answer))
        anyio.run(server.run_stdio_async)


def _pipe_to(descriptor: int) -> int:
    """Make this descriptor the end of a new pipe from which can be read, and return the other end."""
    read_end, write_end = os.pipe()
    os.dup2(read_end, descriptor)
    os.close(read_end)
    return write_end


def _pipe_from(descriptor: int) -> int:
    """Make this descriptor the end of a new pipe into which can be written, and return the other end."""
    read_end, write_end = os.pipe()
    os.dup2(write_end, descriptor)
    os.close(write_end)
    return read_end
