"""Measures what a process writes to the folders it was given.

A walk through the folders is exact but slow, so the free space of their file systems decides when one is worth its
time. Only what was written since a moment counts: the user's own files in a project do not. A file that was deleted but
is still open or mapped takes space as well, and is found through the processes that use it.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from podium.fast_dataclass import dataclass
from podium.process.procfs import PROC

SHARE_OF_FREE: Final = 0.9
"""The share of the free space that one attempt may take, whatever its limit is."""
WALK_EVERY_S: Final = 30.0
WALK_SHARE: Final = 20
"""A walk without a reason happens at most so many times its own duration apart."""
LEAST_BYTES: Final = 64 << 10
LEAST_FILES: Final = 16
"""A walk is due when half of what was left at the last one has gone from the file system, and at least this."""
BLOCK: Final = 512


@dataclass(frozen=True, slots=True)
class DiskBound:
    folders: tuple[Path, ...]
    bytes: int
    files: int
    since_ns: int
    """What was last changed before this moment was not written by the process."""
    skipped: tuple[Path, ...] = ()
    """Folders among them in which Podium itself writes."""


@dataclass(frozen=True, slots=True)
class Usage:
    bytes: int = 0
    files: int = 0
    unreadable: bool = False
    """Whether there is a folder that cannot be listed."""


@dataclass(frozen=True, slots=True)
class _Free:
    bytes: int
    files: int
    counts_files: bool


class DiskWatch:
    def __init__(self, bound: DiskBound) -> None:
        self.bound: Final = bound
        self._folders: Final = _one_per_file_system(bound.folders)
        self._at_start: Final = {folder: _free(folder) for folder in self._folders}
        self._at_walk = dict(self._at_start)
        self._last = Usage()
        self._next_walk = time.monotonic() + WALK_EVERY_S
        free = min((free.bytes for free in self._at_start.values()), default=bound.bytes)
        self.allowed: Final = min(bound.bytes, int(free * SHARE_OF_FREE))
        """The bytes that may be written: the limit, or most of what was free."""

    def is_due(self, *, at_end: bool = False) -> bool:
        """Whether so much has gone from a file system that a walk could find too much, or it is time for one."""
        if not at_end and time.monotonic() >= self._next_walk:
            return True
        most_bytes = max((self.allowed - self._last.bytes) // 2, LEAST_BYTES)
        most_files = max((self.bound.files - self._last.files) // 2, LEAST_FILES)
        for folder, before in self._at_walk.items():
            now = _free(folder)
            if before.bytes - now.bytes >= most_bytes:
                return True
            if now.counts_files and before.files - now.files >= most_files:
                return True
        return False

    def measure(self, pids: Iterable[int]) -> Usage:
        """Walk through the folders, until more is found than is allowed."""
        began = time.monotonic()
        usage = self._walk(pids)
        if usage.unreadable:
            gone = (before.bytes - _free(folder).bytes for folder, before in self._at_start.items())
            usage = Usage(max(usage.bytes, *gone), usage.files, unreadable=True)
        self._at_walk = {folder: _free(folder) for folder in self._folders}
        self._last = usage
        ended = time.monotonic()
        self._next_walk = ended + max(WALK_EVERY_S, WALK_SHARE * (ended - began))
        return usage

    def _walk(self, pids: Iterable[int]) -> Usage:
        devices = {folder.stat().st_dev for folder in self._folders}
        deleted = deleted_files(pids, devices)
        size, files, unreadable = sum(deleted.values()), 0, False
        counted = set(deleted)
        for status in _entries(self.bound):
            if status is None:
                unreadable = True
                continue
            if status.st_nlink > 1 and not stat.S_ISDIR(status.st_mode):
                if (status.st_dev, status.st_ino) in counted:
                    continue
                counted.add((status.st_dev, status.st_ino))
            size += status.st_blocks * BLOCK
            files += 1
            if size >= self.allowed or files >= self.bound.files:
                break
        return Usage(size, files, unreadable)


def _entries(bound: DiskBound) -> Iterator[os.stat_result | None]:
    """What was written below the folders; links are not followed. None for a folder that cannot be listed."""
    skipped = set(map(str, bound.skipped))
    waiting = [str(folder) for folder in bound.folders]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    with suppress(OSError):
                        if entry.is_dir(follow_symlinks=False) and entry.path not in skipped:
                            waiting.append(entry.path)
                        status = entry.stat(follow_symlinks=False)
                        if status.st_ctime_ns >= bound.since_ns:
                            yield status
        except OSError as error:
            if _may_hide_something(folder, error, bound.since_ns):
                yield None


def _may_hide_something(folder: str, error: OSError, since_ns: int) -> bool:
    """Whether the process may have made a folder unreadable, or its path too long."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return False  # it was removed a moment ago
    try:
        return os.lstat(folder).st_ctime_ns >= since_ns
    except OSError:
        return True


def deleted_files(pids: Iterable[int], devices: set[int]) -> dict[tuple[int, int], int]:
    """The sizes of files on these devices that have no name any more, and that one of the processes uses."""
    sizes: dict[tuple[int, int], int] = {}
    for pid in pids:
        for device, inode, length in _deleted_maps(pid):
            if device in devices:
                sizes[device, inode] = max(sizes.get((device, inode), 0), length)
        for status in _open_files(pid):
            if status.st_nlink == 0 and status.st_dev in devices and stat.S_ISREG(status.st_mode):
                sizes[status.st_dev, status.st_ino] = status.st_blocks * BLOCK
    return sizes


def _open_files(pid: int) -> Iterator[os.stat_result]:
    with suppress(OSError):
        for link in Path(f"{PROC}/{pid}/fd").iterdir():
            with suppress(OSError):
                yield link.stat()


def _deleted_maps(pid: int) -> Iterator[tuple[int, int, int]]:
    """The device, the inode and the length of mapped files without a name; how much of one is on disk is not known."""
    with suppress(OSError), Path(f"{PROC}/{pid}/maps").open("rb") as maps:
        for line in maps:
            if line.rstrip().endswith(b"(deleted)"):
                addresses, _, _, device, inode = line.split()[:5]
                start, end = (int(address, 16) for address in addresses.split(b"-"))
                major, minor = (int(part, 16) for part in device.split(b":"))
                yield os.makedev(major, minor), int(inode), end - start


def _one_per_file_system(folders: Iterable[Path]) -> tuple[Path, ...]:
    by_device: dict[int, Path] = {}
    for folder in folders:
        with suppress(OSError):
            by_device.setdefault(os.stat(folder).st_dev, folder)  # noqa: PTH116 (called for every command)
    return tuple(by_device.values())


def _free(folder: Path) -> _Free:
    try:
        figures = os.statvfs(folder)
    except OSError:
        return _Free(0, 0, counts_files=False)
    return _Free(figures.f_bavail * figures.f_frsize, figures.f_ffree, counts_files=figures.f_files > 0)
