"""Finds and ends every process that a launch has started.

Process groups are not enough: a grandchild after setsid and a double-forked daemon leave them. So this process is the
subreaper of everything it starts: a process whose parent ends becomes our own child and is found there. These rules
decide which launch such an orphan belongs to:

Rule 1: if its session is that of a launch, to that launch. The main process of a launch is reaped last, so that the
        number of its session cannot be reused.
Rule 2: if it is in our own session, to none, because every launch has a new session and cannot return to ours.
Rule 3: if its environment has the marker of a running launch, to that launch.
Rule 4: if it has cleared its environment, to the running launch that started before it, if there is only one. If there
        are several, it is left until the last of them ends. So nothing else in this process may start a child in a
        session of its own, except detached processes, which are known and belong to none.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Final

import anyio
import anyio.lowlevel

from podium.fast_dataclass import dataclass
from podium.process.detach import detached
from podium.process.procfs import (
    Process,
    descend,
    is_inside,
    read_children,
    read_marker,
    read_pids,
    read_process,
    send,
)

PR_SET_CHILD_SUBREAPER: Final = 36
KILL_LIMIT_S: Final = 3.0
# A dead child that a debugger holds cannot be reaped; do not wait for it forever.
MOST_LOOKS: Final = 20
FIRST_PAUSE_S: Final = 0.002
LONGEST_PAUSE_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class Root:
    """The main process of a launch; it leads its own session and group."""

    pid: int
    marker: str
    own_pid_namespace: bool = False
    """If True, TERM goes only to processes in a pid namespace below ours; see Launch."""


_running: Final[dict[int, Root]] = {}

# The launch of each process when it was first seen; a dying process has already lost its environment.
_owners: Final[dict[tuple[int, int], Root]] = {}

# Held from before a start until the process is in `_running`; otherwise it would look like an orphan (rule 4).
starting: Final = threading.RLock()


@cache
def adopt_orphans() -> None:
    """Make this process the subreaper of its descendants, for its whole life."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:  # pragma: no cover (Linux can since 3.4)
        raise OSError(ctypes.get_errno(), "this kernel cannot make a process a subreaper")


def register(pid: int, marker: str, *, own_pid_namespace: bool = False) -> Root:
    root = Root(pid, marker, own_pid_namespace)
    _running[pid] = root
    return root


def unregister(root: Root) -> None:
    with starting:
        del _running[root.pid]
        for process in [process for process, owner in _owners.items() if owner is root]:
            del _owners[process]


async def kill(root: Root, *, grace_s: float) -> tuple[int, ...]:
    """Send TERM to the whole tree, wait, then send KILL until nothing is left; returns the pids that survive."""
    if not await _signal_until_gone(root, signal.SIGTERM, within_s=grace_s):
        return ()
    return await _signal_until_gone(root, signal.SIGKILL, within_s=KILL_LIMIT_S)


async def kill_now(root: Root) -> tuple[int, ...]:
    """Send KILL until nothing is left, to processes that may start others faster than they are found."""
    if not root.own_pid_namespace:
        await _stop_all(root)
    return await _signal_until_gone(root, signal.SIGKILL, within_s=KILL_LIMIT_S)


async def _stop_all(root: Root) -> None:
    """Stop every process first: a stopped one starts no other, and still counts for the limit of processes."""
    deadline = time.monotonic() + KILL_LIMIT_S
    stopped: set[tuple[int, int]] = set()
    while time.monotonic() < deadline:
        running = [
            process for process in live_processes(root) if (process.pid, process.started) not in stopped
        ]
        if not running:
            return
        for process in running:
            send(process, signal.SIGSTOP)
            stopped.add((process.pid, process.started))
        await anyio.lowlevel.checkpoint()


def has_strays(root: Root) -> bool:
    """Whether any process of the launch still runs after its main process has ended."""
    with starting:
        return bool(_orphans()) and bool(live_processes(root))


async def kill_strays(root: Root, *, linger_s: float, grace_s: float) -> tuple[int, ...]:
    """End what still runs after the main process has ended, but let it finish for a moment, like a final `tee`."""
    pauses = _pauses()
    with anyio.move_on_after(linger_s):
        while live_processes(root):  # noqa: ASYNC110 - the kernel has no event for the end of a tree
            await anyio.sleep(next(pauses))
    return await kill(root, grace_s=grace_s)


def live_processes(root: Root, *, everywhere: bool = False) -> tuple[Process, ...]:
    """The running processes of a launch.

    `everywhere` also checks the marker of every process on the machine. The rules above find the same as long as the
    kernel supports subreapers; this is a second check before the tree counts as ended.
    """
    processes: tuple[Process, ...] = ()
    with starting:
        for _ in range(MOST_LOOKS):
            orphans = _orphans()
            own_orphans = [
                process.pid for process in orphans if not process.is_dead and _belongs_to(process, root)
            ]
            marked = [pid for pid in read_pids() if read_marker(pid) == root.marker] if everywhere else []
            processes = tuple(
                process for process in descend((root.pid, *own_orphans, *marked)) if not process.is_dead
            )
            _owners.update({(process.pid, process.started): root for process in processes})
            # A process that ended during the search may have passed its children to us, so search again.
            if processes or not (own_orphans or any(process.is_dead for process in orphans)):
                break
    return processes


def _orphans() -> tuple[Process, ...]:
    """Our children that are not main processes of launches; dead ones are reaped, because they have no environment."""
    pids = read_children(os.getpid())
    detached.intersection_update(pids)
    children = (read_process(pid) for pid in pids if pid not in _running and pid not in detached)
    orphans = tuple(process for process in children if process and process.session != os.getsid(0))
    for process in orphans:
        if process.is_dead:
            with suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)
    return orphans


def _belongs_to(process: Process, root: Root) -> bool:
    if process.session in _running:
        return process.session == root.pid
    if owner := _owners.get((process.pid, process.started)):
        return owner is root
    marker = read_marker(process.pid)
    if any(marker == other.marker for other in _running.values()):
        return marker == root.marker
    # Start times are read only here, because that is slower than most other work for a launch.
    started = ((other, read_process(other.pid)) for other in _running.values())
    older = [other for other, main in started if main is not None and main.started <= process.started]
    return older == [root]


async def _signal_until_gone(root: Root, number: signal.Signals, *, within_s: float) -> tuple[int, ...]:
    deadline = time.monotonic() + within_s
    signalled: set[Process] = set()
    pauses = _pauses()
    # Search everywhere only when the fast search finds nothing more.
    while remaining := live_processes(root) or live_processes(root, everywhere=True):
        _signal(root, remaining, number=number, signalled=signalled)
        if time.monotonic() >= deadline:
            return tuple(process.pid for process in remaining)
        await anyio.sleep(min(next(pauses), max(0.0, deadline - time.monotonic())))
    return ()


def _signal(
    root: Root, processes: tuple[Process, ...], *, number: signal.Signals, signalled: set[Process]
) -> None:
    if number == signal.SIGKILL:
        # One call for the whole group, so that no fork escapes it; safe until the main process is reaped, because its
        # number is not reused before that.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(root.pid, signal.SIGKILL)
        for process in processes:
            send(process, signal.SIGKILL)
        return
    for process in processes:
        # Only once per process, because several CLIs skip their clean-up on a second TERM.
        if process not in signalled and (not root.own_pid_namespace or is_inside(process.pid)):
            signalled.add(process)
            send(process, number)
            # A stopped process handles TERM only after this.
            send(process, signal.SIGCONT)


def _pauses() -> Iterator[float]:
    pause = FIRST_PAUSE_S
    while True:
        yield pause
        pause = min(pause * 1.5, LONGEST_PAUSE_S)
