"""Starts a process that outlives this one: the owner of a run in the background.

Such a process belongs to no launch, and only its starter waits for it; `process_tree` leaves it alone.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final, TypeAlias

DetachedProcess: TypeAlias = "subprocess.Popen[bytes]"

detached: Final[set[int]] = set()
"""The pids of detached processes that are our children."""


def disown(process: DetachedProcess) -> None:
    """Let the process continue alone; without this, the interpreter would warn that it was not waited for."""
    if process.returncode is None:
        process.returncode = 0


def stop(children: Iterable[DetachedProcess], *, patience_s: float) -> None:
    """Send TERM to each process, and KILL those that have not ended after `patience_s`."""
    processes = tuple(children)
    deadline = time.monotonic() + patience_s
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def start_detached(argv: tuple[str, ...], *, cwd: Path, output: Path) -> DetachedProcess:
    """Start a process in its own session, so that closing the terminal does not end it."""
    output.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        process = subprocess.Popen(  # noqa: S603  # our own program; programs of a run are started by `run`
            argv,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=handle,
            start_new_session=True,
        )
        detached.add(process.pid)
        return process
    finally:
        os.close(handle)
