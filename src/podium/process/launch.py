"""What to start and within which bounds, as a value."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from podium.errors import ConfigurationError
from podium.process.environment import check_env
from podium.process.limits import Limits
from podium.process.output import CapturedOutput, OutputLimits
from podium.redaction.mask import Mask

NOTHING_HIDDEN: Final = Mask()
MARKER: Final = re.compile(r"[A-Za-z0-9._-]{6,200}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One process to start: an argv and never a shell line (R181, C2), with a complete environment."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str] = field(repr=False)
    """All the child gets, besides the marker. See minimal_env."""
    marker: str
    """Names the run in the child's environment; no two runs on a machine may share one. See sweep."""
    stdin: bytes | Path | None = field(default=None, repr=False)
    """Bytes, a file, or None: at its end from the start (R189)."""
    timeout_s: float = 300.0
    first_output_s: float = math.inf
    """So long it may say nothing at all, on neither stream; and from then on `silence_s` at a time."""
    silence_s: float = math.inf
    grace_s: float = 10.0
    """From TERM to KILL when the time is up (R141)."""
    cancel_grace_s: float = 1.0
    """The same when the caller cancels: a person waits."""
    mask: Mask = NOTHING_HIDDEN
    plain: bool = False
    """Take out the colours and cursor moves of terminals (R063); off where output may be binary."""
    output: OutputLimits = OutputLimits()
    spill_dir: Path | None = None
    """Where output goes that is too long for memory or for the record."""
    limits: Limits | None = None
    fds: tuple[int, ...] = ()
    """Descriptors that it gets besides the first three; they stay the caller's to close."""
    walled: bool = False
    """All that matters of it lives in a pid namespace of its own. What stands around that ends at once when it is
    told to, and takes the rest with it; so only what is inside is asked to end."""

    def __post_init__(self) -> None:
        if not self.argv or not self.argv[0]:
            raise ConfigurationError("there is no program to start: argv is empty")
        for position, argument in enumerate(self.argv):
            if "\0" in argument:
                raise ConfigurationError(f'argument {position} of "{self.argv[0]}" contains a NUL character')
            if self.mask.hides(argument):
                raise ConfigurationError(
                    f"argument {position} of a command contains a secret, and every user of this machine can read it "
                    "in the list of processes",
                    hint="pass the secret as a variable, or the text by stdin or a file",
                )
        if not MARKER.fullmatch(self.marker):
            raise ConfigurationError(
                f'marker "{self.marker}" is not 6 to 200 letters, digits, dots or dashes'
            )
        check_env(self.env)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How it ended; failure is a value here, not an exception."""

    exit_code: int
    """The child's own; 124 after a timeout, 128 + n after signal n, 126 and 127 when it could not start."""
    signal: int | None
    timed_out: bool
    """Its time was up, or it had been silent for too long."""
    duration_s: float
    stdout: CapturedOutput
    stderr: CapturedOutput
    not_started: str | None = None
    """Why the program could not be started."""
    silent_s: float | None = None
    """How long it had said nothing when that was too long."""
    survivors: tuple[int, ...] = ()
    """Processes that outlived KILL, in uninterruptible sleep or under another user."""
