"""What goes to a terminal: nothing in it that the terminal would obey, except Podium's own colours.

Agents and commands may say anything, and what they say comes along many ways: answers, logs, questions, names of files,
errors. So it is escaped where all output passes, not where each text is printed. Files and pipes get the exact text.
"""

from __future__ import annotations

import sys
from typing import Any, Final, TextIO, cast

from podium.views.plain import visible

COLOURS: Final = {"good": "32", "bad": "31", "wait": "33", "dim": "2", "bold": "1"}
OWN: Final = tuple(f"\x1b[{code}m" for code in ("0", *COLOURS.values()))
"""What the painter writes. Colour never carries meaning alone, so text that contains it gains nothing."""


class Guarded:
    """A stream to a terminal; bytes have no way around it."""

    def __init__(self, bare: TextIO) -> None:
        self.bare = bare

    def write(self, text: str) -> int:
        self.bare.write(visible(text, but=OWN))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":
            raise AttributeError(name)
        return getattr(self.bare, name)


def guard_terminals() -> None:
    """From here on; for the command itself, not for programs that import Podium."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and stream.isatty():
            setattr(sys, name, cast(TextIO, Guarded(stream)))


def bare(stream: TextIO) -> TextIO:
    """For those few who move the cursor themselves."""
    return cast(TextIO, getattr(stream, "bare", stream))
