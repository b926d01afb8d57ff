"""Runs a program on a terminal of its own and relays it to the user's, which the program never gets itself.

A program that shared the user's terminal could put characters into its input, which the user's shell would run after the
program has ended (TIOCSTI). On its own terminal it only reaches itself. The relay is a thread, because writing to a
terminal may block.
"""

from __future__ import annotations

import fcntl
import os
import select
import struct
import sys
import termios
import threading
import time
import tty
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self

from podium.fast_dataclass import dataclass

PIECE: Final = 64 * 1024
SIZE_S: Final = 0.25
"""How often the size of the user's terminal is compared; a signal would only reach the main thread."""
JOIN_S: Final = 2.0
SUSPEND: Final = b"\x1a"
"""Ctrl-Z. Nothing could continue a program that stopped itself in the sandbox, so it is not passed on."""
QUIET_S: Final = 0.05
REPLY_S: Final = 0.5
"""How long answers of the user's terminal are waited for, and discarded, after the program has ended."""
RESET: Final = (
    b"\x18"  # Ends a sequence that the program has not finished.
    b"\x1b[?1049l\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1006l\x1b[?2004l\x1b[<u\x1b[0m"
)
"""Leaves the other screen, shows the cursor, and ends reports of the mouse, the focus, pasted text and keys."""


@dataclass(frozen=True, slots=True)
class Terminal:
    """The user's terminal: the descriptors to read from and to write to."""

    input: int
    output: int


class TerminalRelay:
    """A new terminal for one program. Leave the `with` block when the program has ended."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._master, self.slave = os.openpty()
        self._wake_read, self._wake_write = os.pipe()
        self._thread = threading.Thread(target=self._relay, daemon=True)
        self._before: list[Any] | None = None
        self._size = b""

    def __enter__(self) -> Self:
        os.set_blocking(self._master, False)
        self._copy_size()
        return self

    def start(self) -> None:
        """Relay from now on; call it when the program has the other end."""
        os.close(self.slave)
        self.slave = -1
        with suppress(termios.error):
            self._before = termios.tcgetattr(self._terminal.input)
            tty.setraw(self._terminal.input, termios.TCSADRAIN)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        if self._thread.is_alive():
            os.write(self._wake_write, b"x")
            self._thread.join(JOIN_S)
        if self._before is not None:
            with suppress(OSError, termios.error):
                os.write(self._terminal.output, RESET)
                self._discard_replies()
                termios.tcsetattr(self._terminal.input, termios.TCSAFLUSH, self._before)
        if not self._thread.is_alive():
            # A thread that still waits for the user's terminal must not find other files behind its descriptors.
            for handle in (self._master, self.slave, self._wake_read, self._wake_write):
                if handle >= 0:
                    os.close(handle)
            self._master = -1

    def _discard_replies(self) -> None:
        """Discard what the terminal answers to questions that the program asked at its end.

        The answer may contain text of the program, such as the title that it has set, and the user's shell would read it
        as typed.
        """
        end = time.monotonic() + REPLY_S
        while (
            time.monotonic() < end
            and select.select([self._terminal.input], [], [], QUIET_S)[0]
            and os.read(self._terminal.input, PIECE)
        ):
            pass

    def _relay(self) -> None:
        inputs = [self._master, self._wake_read, self._terminal.input]
        while True:
            readable, _, _ = select.select(inputs, [], [], SIZE_S)
            self._copy_size()
            if self._master in readable and self._pass_output() == b"":
                return  # The program has closed its end.
            if self._wake_read in readable:
                while self._pass_output():
                    pass
                return
            if self._terminal.input in readable and not self._pass_input():
                # The person is gone, so the program's terminal hangs up too.
                os.close(self._master)
                self._master = -1
                return

    def _pass_output(self) -> bytes | None:
        """Pass on what the program has written; None if there is nothing now, empty if there will be nothing more."""
        try:
            data = os.read(self._master, PIECE)
        except BlockingIOError:
            return None
        except OSError:
            return b""
        with suppress(OSError):
            _write(self._terminal.output, data)
        return data

    def _pass_input(self) -> bool:
        """Pass on what the person has typed; returns whether the person is still there."""
        try:
            data = os.read(self._terminal.input, PIECE)
        except OSError:
            return False
        with suppress(OSError):
            _write(self._master, data.replace(SUSPEND, b""))
        return bool(data)

    def _copy_size(self) -> None:
        with suppress(OSError):
            size = fcntl.ioctl(self._terminal.output, termios.TIOCGWINSZ, struct.pack("4H", 0, 0, 0, 0))
            if size != self._size:
                fcntl.ioctl(self._master, termios.TIOCSWINSZ, size)
                self._size = size


def _write(handle: int, data: bytes) -> None:
    while data:
        try:
            data = data[os.write(handle, data) :]
        except BlockingIOError:
            select.select([], [handle], [], SIZE_S)


def controlling_terminal() -> tuple[str, ...]:
    """The prefix for an argv whose stdin becomes its controlling terminal, so that the program hears of a new size."""
    return (sys.executable, "-I", "-S", str(Path(__file__).with_name("control_terminal.py")))
