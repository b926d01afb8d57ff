"""What a running process may use, measured from outside, because the kernel has no limit for it or does not report one.

A process at a limit usually fails in a way that only it sees: a call returns an error, and it may try again forever. So
a process that has reached one is ended, and the result names the limit.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Final

from anyio import to_thread

from podium.fast_dataclass import dataclass
from podium.process import cgroups
from podium.process.disk import DiskBound, DiskWatch
from podium.process.procfs import PROC, Process, count_tasks, descend, is_inside, tasks_of_user

CHECK_EVERY_S: Final = 0.25
SHARED: Final = 8
"""A process with less than this part of its limit is not counted exactly, nor held responsible for the limit of its user."""
UNITS: Final = (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10))


@dataclass(frozen=True, slots=True)
class ScratchBound:
    """Folders of a sandbox that are in memory, by their path inside."""

    folders: tuple[str, ...]
    bytes: int
    files: int


@dataclass(frozen=True, slots=True)
class Bounds:
    processes: int | None = None
    """The number of processes and threads at the same time."""
    pids: Path | None = None
    """The control group that enforces this number."""
    per_user: int | None = None
    """RLIMIT_NPROC, if that enforces it: it counts all processes of the user."""
    disk: DiskBound | None = None
    scratch: ScratchBound | None = None
    main: Callable[[], Awaitable[int | None]] | None = field(default=None, compare=False)
    """Finds the process to measure, if it is not the one that was started or below it."""


class UsageWatch:
    """Compares what a process and everything below it use with the bounds, from time to time."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds: Final = bounds
        self._disk: Final = None if bounds.disk is None else DiskWatch(bounds.disk)
        self._main: int | None = None
        self.next_check = time.monotonic() + CHECK_EVERY_S

    async def check(self, processes: Callable[[], tuple[Process, ...]]) -> str:
        """What it uses more of than it may; empty if there is nothing."""
        if self._bounds.main is not None:
            self._main = self._main or await self._bounds.main()
            listed = () if self._main is None else tuple(descend((self._main,)))
        else:
            listed = processes()
        exceeded = self._too_many_processes(listed) or self._full_scratch(listed)
        if not exceeded and self._disk is not None and self._disk.is_due():
            exceeded = await self._too_much_disk(listed)
        self.next_check = time.monotonic() + CHECK_EVERY_S
        return exceeded

    async def check_end(self) -> str:
        """The same after its end, as far as that can still be seen."""
        if self._bounds.pids is not None and cgroups.refused_processes(self._bounds.pids):
            return self._process_message()
        if self._disk is not None and self._disk.is_due(at_end=True):
            return await self._too_much_disk(())
        return ""

    def _too_many_processes(self, listed: tuple[Process, ...]) -> str:
        bounds = self._bounds
        if bounds.pids is not None and cgroups.refused_processes(bounds.pids):
            cgroups.forbid_processes(bounds.pids)
            return self._process_message()
        if bounds.processes is None:
            return ""
        tasks = sum(process.threads for process in listed)
        if tasks * SHARED < bounds.processes:
            return ""
        if tasks < bounds.processes:
            # The list lacks processes that ended or changed their parent while it was made.
            tasks = count_tasks(process.pid for process in listed)
        # Others of the same user may have taken a part of what it is refused.
        is_refused = bounds.per_user is not None and tasks_of_user(os.geteuid()) >= bounds.per_user
        return self._process_message() if tasks >= bounds.processes or is_refused else ""

    def _process_message(self) -> str:
        return f"had {self._bounds.processes} processes and threads, the limit (sandbox.processes)"

    def _full_scratch(self, listed: tuple[Process, ...]) -> str:
        scratch = self._bounds.scratch
        inside = None if scratch is None else next((p for p in reversed(listed) if is_inside(p.pid)), None)
        if scratch is None or inside is None:
            return ""
        for folder in scratch.folders:
            with suppress(OSError):
                figures = os.statvfs(f"{PROC}/{inside.pid}/root{folder}")
                if figures.f_bfree == 0:
                    size = size_text(scratch.bytes)
                    return (
                        f"filled {folder}, which holds {size} in memory (sandbox.scratch; $TMPDIR is on disk)"
                    )
                if figures.f_files - figures.f_ffree >= scratch.files:
                    return f"had {scratch.files} files in {folder}, in memory, the limit (sandbox.files)"
        return ""

    async def _too_much_disk(self, listed: tuple[Process, ...]) -> str:
        assert self._disk is not None
        usage = await to_thread.run_sync(self._disk.measure, tuple(process.pid for process in listed))
        if usage.bytes >= self._disk.allowed:
            allowed, limit = self._disk.allowed, self._disk.bound.bytes
            share = "" if allowed == limit else ", nine tenths of what was free"
            return f"wrote {size_text(allowed)} to disk, the limit{share} (sandbox.disk)"
        if usage.files >= self._disk.bound.files:
            return f"wrote {self._disk.bound.files} files, the limit (sandbox.files)"
        return ""


def size_text(size: int) -> str:
    """A size in the largest unit that leaves a number of at least one: 1.5 GB."""
    for name, unit in UNITS:
        if size >= unit:
            return f"{size / unit:.1f}".removesuffix(".0") + f" {name}"
    return f"{size} bytes"
