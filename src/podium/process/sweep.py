"""Ends processes that a crashed engine left behind: those of this user with the run's marker.

A child that cleared its environment and lost its parent cannot be found this way. In a sandbox with its own pid
namespace that cannot happen, because everything there ends with its first process.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from podium.errors import ConfigurationError
from podium.process.launch import MARKER
from podium.process.procfs import PROC, Process, read_marker, read_pids, read_process, send

LIMIT_S: Final = 2.0
PAUSE_S: Final = 0.005


def sweep(marker: str) -> tuple[int, ...]:
    """Kill the processes with a marker and return their pids; blocks until they are gone.

    Spares this process, its ancestors and, unless we are root, processes of other users.
    """
    if not MARKER.fullmatch(marker):
        raise ConfigurationError(f'"{marker}" is not a valid marker of a run')
    spared = frozenset(_own_and_ancestors())
    killed: set[int] = set()
    deadline = time.monotonic() + LIMIT_S
    while remaining := tuple(_processes_with_marker(marker, spared)):
        killed.update(process.pid for process in remaining if send(process, signal.SIGKILL))
        if time.monotonic() >= deadline:  # pragma: no cover (only uninterruptible sleep survives KILL)
            break
        # There is no event for the end of a process that is not our child, so poll.
        time.sleep(PAUSE_S)
    return tuple(sorted(killed))


def _processes_with_marker(marker: str, spared: frozenset[int]) -> Iterator[Process]:
    for pid in read_pids():
        # The start time is read before the marker, and send() compares it again. If the number is reused in between, the
        # new process has a later start time and is spared.
        process = read_process(pid)
        if process is None or process.is_dead or pid in spared or not _is_ours(pid):
            continue
        process_marker = read_marker(pid)
        if process_marker is not None and process_marker.split("/")[0] == marker:
            yield process


def _is_ours(pid: int) -> bool:
    try:
        # A process that root started may have changed its user.
        return os.geteuid() in (0, Path(PROC, str(pid)).stat().st_uid)
    except (FileNotFoundError, ProcessLookupError):  # pragma: no cover (it ended a moment ago)
        return False


def _own_and_ancestors() -> Iterator[int]:
    pid = os.getpid()
    while pid > 0 and (process := read_process(pid)):
        yield pid
        pid = process.parent
