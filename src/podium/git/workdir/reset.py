"""Removes from a used checkout everything that is not known to match a tree.

Rule: the folder is untrusted, so it is accessed through descriptors and never through a link. A file stays only if its
stat, which includes the change time, is the one recorded when Podium wrote it. A folder stays only if it has the mode,
owner, attributes and flags of a new one.
"""

from __future__ import annotations

import os
import secrets
import stat
import struct
from collections.abc import Iterable, Mapping
from fcntl import ioctl
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from podium.git.trees.listing import Entry, Folder, Listing
from podium.git.trees.snapshot import HERE, Snapshot, Stat, stat_of
from podium.git.workdir.folder import FOLDER_MODE, Owner, names_in, remove
from podium.git.workdir.walk import OPEN_FOLDER, is_untouched, open_folder

_GET_FLAGS: Final = 0x80086601
"""FS_IOC_GETFLAGS: what `lsattr` shows."""
_OWN_FLAGS: Final = 0x10081000
"""Flags that a file system sets itself as a folder grows: indexed, extents, inline data."""


class CannotReset(OSError):
    """A used checkout cannot be reset and must be replaced by a new one."""


class FolderMarks(NamedTuple):
    """What an earlier process may have changed on a folder besides its names."""

    mode: int
    owner: Owner
    attributes: tuple[tuple[str, bytes], ...]
    """Extended attributes, which include access control lists."""
    flags: int


def remove_leftovers(
    root: Path, used: Snapshot, target: Listing, owner: Owner | None
) -> dict[str, dict[str, Stat]]:
    """Remove everything that does not match the listing; returns the stats of the remaining files."""
    plain = _marks_of_new_folder(root.parent, owner)
    with open_folder(root, "") as fd:
        if _marks(fd) != plain:
            raise CannotReset(f"{root} itself was changed")
    stats_by_folder: dict[str, dict[str, Stat]] = {}
    todo = [""]
    while todo:
        path = todo.pop()
        stats, before, after = used.stats.get(path, {}), used.listing.get(path, {}), target[path]
        matching: dict[str, Stat] = {}
        with open_folder(root, path) as fd:
            names: Iterable[str]
            if before is after and is_untouched(fd, stats):
                matching, names = dict(stats), after.keys() - stats.keys()
            else:
                names = names_in(fd)
            for name in names:
                below = f"{path}/{name}" if path else name
                try:
                    status = os.stat(name, dir_fd=fd, follow_symlinks=False)
                except FileNotFoundError:
                    continue  # A folder without files, which is not written.
                if _matches(name, status, stats, before, after):
                    matching[name] = stats[name]
                elif below in target and _is_plain_folder(fd, name, status, used.stats.get(below, {}), plain):
                    todo.append(below)
                else:
                    remove(root, fd, name)
        if matching:
            stats_by_folder[path] = matching
    return stats_by_folder


def _matches(
    name: str, status: os.stat_result, stats: Mapping[str, Stat], before: Folder, after: Folder
) -> bool:
    recorded = stats.get(name)
    if recorded is None or recorded != stat_of(status):
        return False
    entry: Entry | None = after.get(name)
    return entry is not None and before.get(name) == entry


def _is_plain_folder(
    parent: int, name: str, status: os.stat_result, stats: Mapping[str, Stat], plain: FolderMarks
) -> bool:
    if not stat.S_ISDIR(status.st_mode):
        return False
    if stats.get(HERE) == stat_of(status):
        return True
    try:
        fd = os.open(name, OPEN_FOLDER, dir_fd=parent)
    except OSError:
        return False
    try:
        return _marks(fd) == plain
    finally:
        os.close(fd)


# The same for every folder that is made there.
@lru_cache(maxsize=64)
def _marks_of_new_folder(parent: Path, owner: Owner | None) -> FolderMarks:
    """Taken from a folder beside the checkout, because a system may give every new folder attributes of its own."""
    folder = parent / f"n{secrets.token_hex(4)}"
    folder.mkdir(FOLDER_MODE)
    try:
        with open_folder(folder, "") as fd:
            if owner is not None:
                os.fchown(fd, *owner)
            return _marks(fd)
    finally:
        folder.rmdir()


def _marks(fd: int) -> FolderMarks:
    status = os.fstat(fd)
    return FolderMarks(status.st_mode, (status.st_uid, status.st_gid), _attributes(fd), _flags(fd))


def _attributes(fd: int) -> tuple[tuple[str, bytes], ...]:
    try:
        return tuple((name, os.getxattr(fd, name)) for name in sorted(os.listxattr(fd)))
    except OSError:  # pragma: no cover (a file system without extended attributes)
        return ()


def _flags(fd: int) -> int:
    try:
        answer = ioctl(fd, _GET_FLAGS, bytes(8))
    except OSError:  # a file system without flags, such as an older tmpfs
        return 0
    return int(struct.unpack_from("=I", answer)[0]) & ~_OWN_FLAGS
