"""The three streams of the process: always open, able to print any text, and released when their reader is gone.

Their last text is written by `end_process`.
"""

from __future__ import annotations

import atexit
import os
import sys
from io import TextIOWrapper
from typing import Final, NoReturn

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


def end_process(code: int) -> NoReturn:
    """End the process as `sys.exit` does, but leave its memory to the kernel.

    Freeing every object and module takes Python 8 to 20 ms, and nothing depends on it: files, locks and the database are
    closed by their owners. Python ends the process itself if a thread still works or the last output cannot be written.
    """
    if _has_working_threads():
        sys.exit(code)
    atexit._run_exitfuncs()  # noqa: SLF001 (there is no public way; multiprocessing ends its processes like this)
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (OSError, ValueError):
        sys.exit(code)
    os._exit(code)


def _has_working_threads() -> bool:
    threading = sys.modules.get("threading")
    return threading is not None and any(
        not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()
    )
