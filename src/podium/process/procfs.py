"""Reads /proc: the children, start times and markers of processes.

A process is identified by its number and start time, because numbers are reused.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import field
from functools import cache
from typing import Final

from podium.fast_dataclass import dataclass

PROC: Final = "/proc"
MARKER_VARIABLE: Final = "PODIUM_MARKER"
CHUNK: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    parent: int
    session: int
    started: int
    """The start time in clock ticks since boot."""
    is_dead: bool
    """True if it has ended and its parent has not reaped it yet."""
    threads: int = field(default=1, compare=False)


def read_process(pid: int) -> Process | None:
    try:
        data = _read(f"{PROC}/{pid}/stat")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The program chooses the name in brackets, which may contain spaces and brackets; only numbers follow it.
    values = data[data.rindex(b")") + 2 :].split()
    return Process(
        pid=pid,
        parent=int(values[1]),
        session=int(values[3]),
        started=int(values[19]),
        # If the main thread ends before the others, the state is Z although the process is running.
        is_dead=values[0] in {b"Z", b"X"} and int(values[17]) <= 1,
        threads=int(values[17]),
    )


def read_marker(pid: int) -> str | None:
    """The marker of a process, if we may read its environment."""
    try:
        data = _read(f"{PROC}/{pid}/environ")
    except OSError:
        return None
    prefix = f"{MARKER_VARIABLE}=".encode()
    entry = next((line for line in data.split(b"\0") if line.startswith(prefix)), None)
    return entry[len(prefix) :].decode("ascii", "replace") if entry else None


def has_marked_ancestor(pid: int) -> bool:
    """Whether a process of a run has started this one, also if the marker was taken out of its environment since."""
    return next(markers_of_ancestors(pid), None) is not None


def markers_of_ancestors(pid: int) -> Iterator[str]:
    """The markers of a process and of those that started it, the nearest first."""
    while pid > 1:
        marker = read_marker(pid)
        if marker is not None:
            yield marker
        process = read_process(pid)
        if process is None:  # pragma: no cover (it ended a moment ago)
            return
        pid = process.parent


def is_inside(pid: int) -> bool:
    """Whether a process is in a pid namespace below ours."""
    return _depth(str(pid)) > _depth("self")


def _depth(pid: str) -> int:
    try:
        status = _read(f"{PROC}/{pid}/status")
    except (FileNotFoundError, ProcessLookupError):  # pragma: no cover (it ended a moment ago)
        return 0
    match = re.search(rb"^NSpid:(.*)$", status, re.MULTILINE)
    return len(match[1].split()) if match else 0


def read_pids() -> tuple[int, ...]:
    return tuple(int(entry.name) for entry in os.scandir(PROC) if entry.name.isdigit())


def read_children(pid: int) -> tuple[int, ...]:
    """The children, from the kernel's list, because reading all of /proc takes 25 microseconds per process."""
    if _has_lists():
        return listed_children(pid)
    return searched_children(pid)  # pragma: no cover (depends on the kernel; the function itself is tested)


def listed_children(pid: int) -> tuple[int, ...]:
    return tuple(child for thread in _threads(pid) for child in _children_of_thread(thread))


def searched_children(pid: int) -> tuple[int, ...]:
    """The children by searching all processes, for kernels without CONFIG_PROC_CHILDREN."""
    processes = (read_process(other) for other in read_pids())
    return tuple(process.pid for process in processes if process and process.parent == pid)


def tasks_of_user(uid: int) -> int:
    """The number of threads of all processes of a user, which is what the kernel counts for RLIMIT_NPROC."""
    count = 0
    for entry in os.scandir(PROC):
        with suppress(OSError):
            if entry.name.isdigit() and entry.stat().st_uid == uid:
                process = read_process(int(entry.name))
                count += 0 if process is None else process.threads
    return count


def count_tasks(pids: Iterable[int]) -> int:
    """The number of threads of these processes and everything below them, counted as the kernel does for its limits.

    Processes that ended and were not reaped count. The lists of children miss those whose parent ends during the search,
    so this reads every process of the machine once.
    """
    children: dict[int, list[Process]] = {}
    for pid in read_pids():
        if process := read_process(pid):
            children.setdefault(process.parent, []).append(process)
    counted = {process.pid: process for process in map(read_process, pids) if process}
    waiting = list(counted)
    while waiting:
        below = {process.pid: process for process in children.get(waiting.pop(), ())}
        waiting.extend(below.keys() - counted.keys())
        counted.update(below)
    return sum(max(1, process.threads) for process in counted.values())


def descend(pids: Iterable[int]) -> Iterator[Process]:
    """These processes and everything below them, parents first."""
    waiting, visited = list(pids), set[int]()
    while waiting:
        pid = waiting.pop(0)
        if pid in visited or not (process := read_process(pid)):
            continue
        visited.add(pid)
        yield process
        if not process.is_dead:
            # The children of a dead process have a new parent.
            waiting.extend(read_children(pid))


def send(process: Process, number: signal.Signals) -> bool:
    """Signal exactly this process and never a later one with the same number."""
    try:
        handle = open_pidfd(process.pid)
        try:
            # The handle is opened before the check, so it cannot refer to a process that reuses the number later.
            if (current := read_process(process.pid)) is None or current.started != process.started:
                return False
            if handle is None:
                os.kill(process.pid, number)
            else:
                signal.pidfd_send_signal(handle, number)
        finally:
            if handle is not None:
                os.close(handle)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def open_pidfd(pid: int) -> int | None:
    """A pidfd, or None if the kernel has none (before 5.3, some sandboxes); then only the start time identifies it."""
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except OSError:
        return None


@cache
def _has_lists() -> bool:
    return os.access(f"{PROC}/thread-self/children", os.F_OK)


def _threads(pid: int) -> list[str]:
    try:
        return [entry.path for entry in os.scandir(f"{PROC}/{pid}/task")]
    except (FileNotFoundError, ProcessLookupError):
        return []


def _children_of_thread(thread: str) -> tuple[int, ...]:
    try:
        return tuple(map(int, _read(f"{thread}/children").split()))
    except (FileNotFoundError, ProcessLookupError):  # pragma: no cover (the thread ended a moment ago)
        return ()


def _read(path: str) -> bytes:
    """Read a whole file by its descriptor, which needs five system calls less than a file object."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.read(handle, CHUNK)
        while more := os.read(handle, CHUNK):
            data += more
    finally:
        os.close(handle)
    return data
