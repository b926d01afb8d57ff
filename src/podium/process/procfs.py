"""Reads /proc: who is whose child, when it started, which marker it carries.

A process is a number and its start time, for the number alone is given to another one sooner or later.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

PROC: Final = "/proc"
MARKER_VARIABLE: Final = "PODIUM_MARKER"
CHUNK: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    parent: int
    session: int
    started: int
    """Clock ticks since boot."""
    is_dead: bool
    """Ended and not yet collected by its parent."""


def read_process(pid: int) -> Process | None:
    try:
        data = _read(f"{PROC}/{pid}/stat")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in brackets is chosen by the program and may hold spaces and brackets; what follows is numbers.
    values = data[data.rindex(b")") + 2 :].split()
    return Process(
        pid=pid,
        parent=int(values[1]),
        session=int(values[3]),
        started=int(values[19]),
        # A main thread may end before the others; then the state says Z and the process lives.
        is_dead=values[0] in {b"Z", b"X"} and int(values[17]) <= 1,
    )


def read_marker(pid: int) -> str | None:
    """The marker this process was started with, if we may see it."""
    try:
        data = _read(f"{PROC}/{pid}/environ")
    except OSError:
        return None
    prefix = f"{MARKER_VARIABLE}=".encode()
    found = next((entry for entry in data.split(b"\0") if entry.startswith(prefix)), None)
    return found[len(prefix) :].decode("ascii", "replace") if found else None


def is_inside(pid: int) -> bool:
    """Whether it lives in a pid namespace below ours."""
    return _depth(str(pid)) > _depth("self")


def _depth(pid: str) -> int:
    try:
        status = _read(f"{PROC}/{pid}/status")
    except (FileNotFoundError, ProcessLookupError):  # pragma: no cover (it ended a moment ago)
        return 0
    found = re.search(rb"^NSpid:(.*)$", status, re.MULTILINE)
    return len(found[1].split()) if found else 0


def read_pids() -> tuple[int, ...]:
    return tuple(int(entry.name) for entry in os.scandir(PROC) if entry.name.isdigit())


def read_children(pid: int) -> tuple[int, ...]:
    """Asks the parent's own list: reading all of /proc takes 25 microseconds for each process on the machine."""
    if _has_lists():
        return listed_children(pid)
    return searched_children(pid)  # pragma: no cover (such a kernel; the function itself is tested)


def listed_children(pid: int) -> tuple[int, ...]:
    return tuple(child for thread in _threads(pid) for child in _children_of_thread(thread))


def searched_children(pid: int) -> tuple[int, ...]:
    """For kernels without CONFIG_PROC_CHILDREN."""
    found = (read_process(other) for other in read_pids())
    return tuple(process.pid for process in found if process and process.parent == pid)


def descend(pids: Iterable[int]) -> Iterator[Process]:
    """These processes and everything below them, parents first."""
    waiting, seen = list(pids), set[int]()
    while waiting:
        pid = waiting.pop(0)
        if pid in seen or not (process := read_process(pid)):
            continue
        seen.add(pid)
        yield process
        if not process.is_dead:
            # The dead have handed theirs on.
            waiting.extend(read_children(pid))


def send(process: Process, number: signal.Signals) -> bool:
    """Signals exactly this process and never a later one with its number."""
    try:
        handle = open_pidfd(process.pid)
        try:
            # The handle is held before the look: a process that takes over the number now is not behind it.
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
    """None where the kernel has none (before 5.3, some sandboxes); then only the start time tells processes apart."""
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
    """Read to its end by its descriptor: a file object asks five questions more, and this is asked at every end."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        found = os.read(handle, CHUNK)
        while more := os.read(handle, CHUNK):
            found += more
    finally:
        os.close(handle)
    return found
