"""Ends what a crashed engine left behind: processes of this user that carry the run's marker.

A child that wiped its environment before it left its parent cannot be found this way; a sandbox with its own pid
namespace closes that gap, for there everything ends with its first process.
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
    """Kills them and returns their pids. Not for a loop with other work to do: it waits until they are gone.

    Never touches this process, its ancestors, or, unless we are root, another user's processes.
    """
    if not MARKER.fullmatch(marker):
        raise ConfigurationError(f'"{marker}" is no marker of a run')
    spared = frozenset(_ancestry())
    killed: set[int] = set()
    deadline = time.monotonic() + LIMIT_S
    while left := tuple(_marked(marker, spared)):
        killed.update(process.pid for process in left if send(process, signal.SIGKILL))
        if time.monotonic() >= deadline:  # pragma: no cover (only uninterruptible sleep survives KILL)
            break
        # Nobody tells us of the death of a process that is not our child.
        time.sleep(PAUSE_S)
    return tuple(sorted(killed))


def _marked(marker: str, spared: frozenset[int]) -> Iterator[Process]:
    for pid in read_pids():
        # In this order: the start time is read before the marker, and send() compares it once more. Should the number
        # change hands in between, the newcomer has started later and is left alone.
        process = read_process(pid)
        if process is None or process.is_dead or pid in spared or not _is_ours(pid):
            continue
        found = read_marker(pid)
        if found is not None and found.split("/")[0] == marker:
            yield process


def _is_ours(pid: int) -> bool:
    try:
        # What root has started may have dropped its rights since.
        return os.geteuid() in (0, Path(PROC, str(pid)).stat().st_uid)
    except (FileNotFoundError, ProcessLookupError):  # pragma: no cover (it ended a moment ago)
        return False


def _ancestry() -> Iterator[int]:
    pid = os.getpid()
    while pid > 0 and (process := read_process(pid)):
        yield pid
        pid = process.parent
