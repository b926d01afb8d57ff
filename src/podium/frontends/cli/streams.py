"""The three streams of the process: always open, able to print any text, and released when their reader is gone."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from typing import Final

# Half a character, as the name of a file or an old log may hold one, is spelled out.
STREAMS: Final = (
    ("stdin", "r", "replace"),
    ("stdout", "w", "backslashreplace"),
    ("stderr", "w", "backslashreplace"),
)


def open_streams() -> None:
    for number, (name, mode, errors) in enumerate(STREAMS):
        if getattr(sys, name) is None:
            # It was closed before we began. Its number is taken, or the next file that is opened would get it, and
            # with it whatever a child prints.
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 (until the end)
        stream = getattr(sys, name)
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=errors)


def let_go() -> None:
    """Discard all further output, since its reader is gone; flushing it at the end of the process would fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None:
            os.dup2(nowhere, stream.fileno())
