"""Podium at a terminal of its own, and somebody who types there."""

from __future__ import annotations

import fcntl
import os
import pty
import subprocess
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.e2e.kit import Project, until

NEVER = b"\0 is what no program shows"


class Terminal:
    def __init__(self, child: subprocess.Popen[bytes], master: int) -> None:
        self.child = child
        self._master = master
        self._seen = b""

    @property
    def seen(self) -> bytes:
        return self._seen

    def press_ctrl_c(self) -> None:
        os.write(self._master, b"\x03")

    def type(self, line: str) -> None:
        os.write(self._master, f"{line}\n".encode())

    def shows(self, text: bytes) -> bool:
        with suppress(BlockingIOError, OSError):
            self._seen += os.read(self._master, 65536)
        return text in self._seen

    def whole(self) -> bytes:
        """All that it has shown when its program has ended."""
        until(lambda: self.shows(NEVER) or self.child.poll() is not None, "its end")
        before = -1
        while before < len(self._seen):
            before = len(self._seen)
            self.shows(NEVER)
        return self._seen


@contextmanager
def at_a_terminal(project: Project, *args: str) -> Iterator[Terminal]:
    master, slave = pty.openpty()
    os.set_blocking(master, False)
    child = project.start(
        *args,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(slave)
    try:
        yield Terminal(child, master)
    finally:
        os.close(master)
