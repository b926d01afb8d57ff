"""What to start and with which limits, and how it ended, as values."""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Final

from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass
from podium.process.bounds import Bounds
from podium.process.environment import check_env
from podium.process.limits import Limits
from podium.process.output import CapturedOutput, OutputLimits
from podium.process.terminal import Terminal
from podium.redaction.mask import Mask

NOTHING_HIDDEN: Final = Mask()
MARKER: Final = re.compile(r"[A-Za-z0-9._-]{6,200}")


class Heartbeat:
    """Signs of life of a process other than its output, such as data that it receives."""

    __slots__ = ("at",)

    def __init__(self) -> None:
        self.at: float | None = None
        """The monotonic time of the last one."""

    def beat(self) -> None:
        self.at = time.monotonic()


class LiveInput:
    """Input of a process that grows while it runs, and ends when it is closed."""

    __slots__ = ("_data", "_wake", "is_closed")

    def __init__(self, first: bytes) -> None:
        self._data = bytearray(first)
        self._wake: Callable[[], None] = _not_running
        self.is_closed = False
        """True if nothing more can be sent."""

    def attach(self, wake: Callable[[], None]) -> None:
        """Set what is called when there is something to write, or the end."""
        self._wake = wake

    def send(self, data: bytes) -> None:
        if not self.is_closed:
            self._data += data
            self._wake()

    def close(self) -> None:
        self.is_closed = True
        self._wake()

    def write_to(self, pipe: int) -> bool:
        """Write what the pipe takes now; whether more is left to write. The reader may have gone."""
        try:
            while self._data:
                del self._data[: os.write(pipe, self._data)]
        except BlockingIOError:
            return True
        except BrokenPipeError:
            self.drop()
        return False

    def drop(self) -> None:
        """Forget what is not written yet: the process does not read any more."""
        self._data.clear()
        self.is_closed = True


def _not_running() -> None:
    """For input that no process reads yet."""


class StopRequest:
    """Ends a process early, at a time that is set while it runs."""

    __slots__ = ("at",)

    def __init__(self) -> None:
        self.at: float | None = None
        """The monotonic time; None as long as it may run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A process to start: an argv, never a shell command line (R181, C2), with its complete environment."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str] = field(repr=False)
    """The whole environment of the child except the marker. See minimal_env."""
    marker: str
    """Identifies the run in the child's environment; unique on the machine. See sweep."""
    stdin: bytes | Path | LiveInput | None = field(default=None, repr=False)
    """Bytes, a file, input that grows while it runs, or None for empty input (R189)."""
    terminal: Terminal | None = None
    """The user's terminal, to which the child's own is relayed; its output is not stored then, and it has no other input."""
    timeout_s: float = 300.0
    first_output_s: float = math.inf
    """How long it may take until its first output on either stream; after that, `silence_s` applies."""
    silence_s: float = math.inf
    heartbeat: Heartbeat | None = field(default=None, compare=False, repr=False)
    """Counts as output for `first_output_s` and `silence_s`."""
    stop: StopRequest | None = field(default=None, compare=False, repr=False)
    grace_s: float = 10.0
    """The time from TERM to KILL after a timeout (R141)."""
    cancel_grace_s: float = 1.0
    """The same after a cancel; shorter, because a person is waiting."""
    mask: Mask = NOTHING_HIDDEN
    plain: bool = False
    """Remove terminal colours and cursor movements (R063); off if the output may be binary."""
    output: OutputLimits = OutputLimits()
    spill_dir: Path | None = None
    """The folder for output that is too long for memory or for the record."""
    limits: Limits | None = None
    bounds: Bounds | None = None
    """What is measured while it runs, and ends it."""
    fds: tuple[int, ...] = ()
    """Descriptors to pass in addition to the standard three; the caller closes them."""
    starts: tuple[str, ...] = ()
    """Further programs of the user that the program starts; a sandbox shows them."""
    own_pid_namespace: bool = False
    """True if the program runs in its own pid namespace.

    The processes around it would end at once on TERM and take the program with them, so only those inside get TERM.
    """

    def __post_init__(self) -> None:
        if not self.argv or not self.argv[0]:
            raise ConfigurationError("argv is empty, so there is no program to start")
        joined = "\0".join(self.argv)
        # The arguments of a sandbox are many, so they are checked one by one only if there is something to find.
        if joined.count("\0") >= len(self.argv) or self.mask.hides(joined):
            self._check_arguments()
        if not MARKER.fullmatch(self.marker):
            raise ConfigurationError(
                f'marker "{self.marker}" must have 6 to 200 letters, digits, dots or dashes'
            )
        check_env(self.env)

    def _check_arguments(self) -> None:
        for position, argument in enumerate(self.argv):
            if "\0" in argument:
                raise ConfigurationError(f'argument {position} of "{self.argv[0]}" contains a NUL character')
            if self.mask.hides(argument):
                raise ConfigurationError(
                    f"argument {position} of a command contains a secret, which every user of this machine could read "
                    "in the list of processes",
                    hint="pass the secret in an environment variable, or the text through stdin or a file",
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a process ended; a failure is a value, not an exception."""

    exit_code: int
    """The child's exit code; 124 after a timeout, 128 + n after signal n, 126 or 127 if it could not start."""
    signal: int | None
    timed_out: bool
    """True if it ran too long, or had no output for too long."""
    duration_s: float
    stdout: CapturedOutput
    stderr: CapturedOutput
    not_started: str | None = None
    """Why the program could not be started."""
    silent_s: float | None = None
    """How long it had no output, if that was too long."""
    exceeded: str = ""
    """What it used more of than it may, if it was ended for that; with the key that sets the limit."""
    stopped: bool = False
    """True if it was ended because of its `StopRequest`."""
    survivors: tuple[int, ...] = ()
    """Processes that survived KILL, in uninterruptible sleep or of another user."""
