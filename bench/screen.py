"""How long `podium top` takes from its start to the first screen that shows a run, in a terminal of its own."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from typing import Final

from bench.engine import Cost
from tests.browser.site import Site

SAMPLES: Final = 7
PATIENCE_S: Final = 30.0
SIZE: Final = struct.pack("HHHH", 24, 80, 0, 0)


def costs(site: Site, run: str) -> Iterator[Cost]:
    """`run` is how the ids of the runs begin."""
    first_screen_ms(site, run)  # Compiled modules are stored.
    figures = [first_screen_ms(site, run) for _ in range(SAMPLES)]
    detail = f"{min(figures):.0f} to {max(figures):.0f}"
    yield Cost("podium top, first screen", statistics.median(figures), "ms", 400, detail=detail)


def first_screen_ms(site: Site, run: str) -> float:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, SIZE)
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "podium", "top"],
        cwd=site.root,
        env={**site.env, "TERM": "xterm-256color"},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    try:
        _read_until(master, run.encode(), start + PATIENCE_S)
        return (time.perf_counter() - start) * 1000
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)
        os.close(master)


def _read_until(master: int, wanted: bytes, deadline: float) -> None:
    screen = b""
    while wanted not in screen:
        if not select.select([master], [], [], max(0.0, deadline - time.perf_counter()))[0]:
            raise TimeoutError("podium top shows no run")
        screen += os.read(master, 65_536)
