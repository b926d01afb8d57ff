"""Everything a launch has brought to life, and its end.

Process groups do not hold an agent's children: a setsid grandchild and a double-forked daemon leave them. So this
process makes itself the subreaper of all it starts: whoever loses its parent becomes our own child and is found there.
The rules say to which launch such an orphan belongs:

Rule 1: its session is the one of a launch: to that one. A launch's main process is collected last, so that the number
        of its session cannot be given away.
Rule 2: it is in our own session: to none, for every launch begins a new one, and there is no way back.
Rule 3: its environment carries the marker of a launch that is under way: to that one.
Rule 4: it has wiped its environment: to a launch that began before it, if that is the only one under way. If several
        did, it is left until the last of them ends. So nothing else in this process may start a child in a
        session of its own.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Final

import anyio

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
# A dead child whom a debugger holds cannot be collected; it must not hold us.
MOST_LOOKS: Final = 20
FIRST_PAUSE_S: Final = 0.002
LONGEST_PAUSE_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class Root:
    """The main process of a launch; it leads its own session and group."""

    pid: int
    marker: str
    walled: bool = False
    """Only what is in a pid namespace below ours is asked to end; see Launch."""


_under_way: Final[dict[int, Root]] = {}

# Whose a process was when it was seen first. One that is dying has lost its environment and is not yet dead.
_owners: Final[dict[tuple[int, int], Root]] = {}

# Held from before a start until it is in the table above: unknown, the new process would look like an orphan (rule 4).
starting: Final = threading.RLock()


@cache
def adopt_orphans() -> None:
    """Makes this process the parent of every descendant that loses its own; for all its life."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:  # pragma: no cover (Linux can since 3.4)
        raise OSError(ctypes.get_errno(), "this kernel cannot make a process the parent of orphans")


def begin(pid: int, marker: str, *, walled: bool = False) -> Root:
    root = Root(pid, marker, walled)
    _under_way[pid] = root
    return root


def end(root: Root) -> None:
    with starting:
        del _under_way[root.pid]
        for process in [process for process, owner in _owners.items() if owner is root]:
            del _owners[process]


async def kill(root: Root, *, grace_s: float) -> tuple[int, ...]:
    """TERM to the whole tree, the grace, then KILL until nothing is left; returns what cannot be killed."""
    if not await _signal_until_gone(root, signal.SIGTERM, within_s=grace_s):
        return ()
    return await _signal_until_gone(root, signal.SIGKILL, within_s=KILL_LIMIT_S)


def has_left(root: Root) -> bool:
    """After the main process has ended: whether anything of the launch lives on, which has then lost its parent."""
    with starting:
        return bool(_orphans()) and bool(living(root))


async def kill_strays(root: Root, *, linger_s: float, grace_s: float) -> tuple[int, ...]:
    """After the main process has ended: what still runs may finish for a moment, as a last `tee` does."""
    pauses = _pauses()
    with anyio.move_on_after(linger_s):
        while living(root):  # noqa: ASYNC110 - the kernel has no event for the end of a tree
            await anyio.sleep(next(pauses))
    return await kill(root, grace_s=grace_s)


def living(root: Root, *, everywhere: bool = False) -> tuple[Process, ...]:
    """What is alive of this launch.

    `everywhere` also asks every process of the machine for the marker. That finds nothing that the rules above miss
    as long as the kernel adopts for us; it is the second net for the moments when something must die.
    """
    found: tuple[Process, ...] = ()
    with starting:
        for _ in range(MOST_LOOKS):
            orphans = _orphans()
            own = [process.pid for process in orphans if not process.is_dead and _belongs(process, root)]
            marked = [pid for pid in read_pids() if read_marker(pid) == root.marker] if everywhere else []
            found = tuple(process for process in descend((root.pid, *own, *marked)) if not process.is_dead)
            _owners.update({(process.pid, process.started): root for process in found})
            # One that died while we looked has handed its children to us behind our back; then look again.
            if found or not (own or any(process.is_dead for process in orphans)):
                break
    return found


def _orphans() -> tuple[Process, ...]:
    """Our children that no launch began. The dead are collected: they have no environment to tell whose they were."""
    children = (read_process(pid) for pid in read_children(os.getpid()) if pid not in _under_way)
    orphans = tuple(process for process in children if process and process.session != os.getsid(0))
    for process in orphans:
        if process.is_dead:
            with suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)
    return orphans


def _belongs(process: Process, root: Root) -> bool:
    if process.session in _under_way:
        return process.session == root.pid
    if owner := _owners.get((process.pid, process.started)):
        return owner is root
    marker = read_marker(process.pid)
    if any(marker == other.marker for other in _under_way.values()):
        return marker == root.marker
    # Their start is read only here: it takes longer than most of what is done for a launch.
    begun = ((other, read_process(other.pid)) for other in _under_way.values())
    older = [other for other, main in begun if main is not None and main.started <= process.started]
    return older == [root]


async def _signal_until_gone(root: Root, number: signal.Signals, *, within_s: float) -> tuple[int, ...]:
    deadline = time.monotonic() + within_s
    told: set[Process] = set()
    pauses = _pauses()
    # The long look only when the short one finds nothing more.
    while left := living(root) or living(root, everywhere=True):
        _signal(root, left, number=number, told=told)
        if time.monotonic() >= deadline:
            return tuple(process.pid for process in left)
        await anyio.sleep(min(next(pauses), max(0.0, deadline - time.monotonic())))
    return ()


def _signal(root: Root, left: tuple[Process, ...], *, number: signal.Signals, told: set[Process]) -> None:
    if number == signal.SIGKILL:
        # One call for the whole group, within which no fork can slip through; safe while the main process is not
        # collected, for its number is then still its own.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(root.pid, signal.SIGKILL)
        for process in left:
            send(process, signal.SIGKILL)
        return
    for process in left:
        # Once each: to several CLIs a second TERM means "at once, and without cleaning up".
        if process not in told and (not root.walled or is_inside(process.pid)):
            told.add(process)
            send(process, number)
            # One that was stopped hears TERM only after this.
            send(process, signal.SIGCONT)


def _pauses() -> Iterator[float]:
    pause = FIRST_PAUSE_S
    while True:
        yield pause
        pause = min(pause * 1.5, LONGEST_PAUSE_S)
