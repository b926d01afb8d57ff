"""Writes and removes files in a private folder through descriptors, so that no link in it can redirect the access."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias

from podium.git.trees.listing import LINK, MODULE, PROGRAM, Entry
from podium.git.workdir.walk import OPEN_FOLDER, open_folder

Owner: TypeAlias = tuple[int, int]
"""The user and the group of the processes that get a folder; None where this is written: Podium's own."""

FOLDER_MODE: Final = 0o755
_COPY_BYTES: Final = 1 << 30
_CHUNK: Final = 1 << 20
_CANNOT_COPY: Final = (errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS)
"""Older kernels, between file systems, and some file systems."""
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def make_folder(root: Path, folder: str, owner: Owner | None = None) -> Iterator[int]:
    """Open a folder below the root, creating it if necessary; a link in its place is an error."""
    fd = os.open(root, OPEN_FOLDER)
    try:
        for name in filter(None, folder.split("/")):
            try:
                below = os.open(name, OPEN_FOLDER, dir_fd=fd)
            except FileNotFoundError:
                # Several threads write into one checkout, so another one may create it first.
                with suppress(FileExistsError):
                    os.mkdir(name, FOLDER_MODE, dir_fd=fd)
                below = os.open(name, OPEN_FOLDER, dir_fd=fd)
                if owner is not None:
                    os.fchown(below, *owner)
            os.close(fd)
            fd = below
        yield fd
    finally:
        os.close(fd)


def write_entry(
    fd: int, name: str, entry: Entry, content: bytes, owner: Owner | None = None
) -> os.stat_result | None:
    """Create one entry of a tree in an open folder, where the name must not exist; None for a submodule."""
    if entry.mode in (LINK, MODULE):
        if entry.mode == LINK:
            os.symlink(os.fsdecode(content), name, dir_fd=fd)
        else:
            os.mkdir(name, FOLDER_MODE, dir_fd=fd)
        if owner is not None:
            os.chown(name, *owner, dir_fd=fd, follow_symlinks=False)
        return os.stat(name, dir_fd=fd, follow_symlinks=False) if entry.mode == LINK else None
    handle = os.open(name, _NEW_FILE, 0o755 if entry.mode == PROGRAM else 0o644, dir_fd=fd)
    try:
        # A file object costs as much as the system calls, and this runs for every file of a repository.
        written = os.write(handle, content)
        while written < len(content):
            written += os.write(handle, memoryview(content)[written:])
        if owner is not None:
            os.fchown(handle, *owner)
        return os.fstat(handle)
    finally:
        os.close(handle)


def copy_file(source: Path, fd: int, name: str, mode: int, owner: Owner | None = None) -> None:
    """Copy a file into an open folder, where the name must not exist."""
    with source.open("rb", buffering=0) as content:
        target = os.open(name, _NEW_FILE, mode, dir_fd=fd)
        try:
            _copy_bytes(content.fileno(), target)
            if owner is not None:
                os.fchown(target, *owner)
        finally:
            os.close(target)


def _copy_bytes(source: int, target: int) -> None:
    try:
        # The kernel copies; where the file system can let both files share their blocks, it does.
        while os.copy_file_range(source, target, _COPY_BYTES):
            pass
    except OSError as error:
        if error.errno not in _CANNOT_COPY:
            raise
        while chunk := os.read(source, _CHUNK):
            os.write(target, chunk)


def wait_for_tick(root: Path) -> None:
    """Wait until the clock of the file system advances, at most a few milliseconds.

    Otherwise a file that is changed within the tick in which it was written would keep its times and look unchanged.
    """
    began = _now(root)
    while _now(root) <= began:
        time.sleep(0.001)  # pragma: no cover (kernels since 6.13 count in nanoseconds)


def _now(root: Path) -> int:
    with tempfile.NamedTemporaryFile(dir=root.parent) as file:
        return os.fstat(file.fileno()).st_ctime_ns


def names_in(fd: int) -> list[str]:
    with os.scandir(fd) as entries:
        return [entry.name for entry in entries]


def remove(root: Path, fd: int, name: str) -> None:
    """Remove a name in an open folder, whatever it is; folders are emptied in the root."""
    status = os.stat(name, dir_fd=fd, follow_symlinks=False)
    if not stat.S_ISDIR(status.st_mode):
        os.unlink(name, dir_fd=fd)
        return
    top = os.open(root, OPEN_FOLDER)
    try:
        _remove_tree(top, fd, name)
    finally:
        os.close(top)


def discard(root: Path) -> None:
    """Remove a folder of any depth if it exists, with at most two open descriptors."""
    try:
        fd = os.open(root, OPEN_FOLDER)
    except FileNotFoundError:
        return
    try:
        for name in names_in(fd):
            remove(root, fd, name)
    finally:
        os.close(fd)
    root.rmdir()


def _remove_tree(top: int, parent: int, name: str) -> None:
    """Move each folder to the top before emptying it, because shutil.rmtree fails at 3,000 levels."""
    todo = [_move_to_top(top, parent, name)]
    while todo:
        current = todo.pop()
        fd = os.open(current, OPEN_FOLDER, dir_fd=top)
        try:
            for entry in names_in(fd):
                if stat.S_ISDIR(os.stat(entry, dir_fd=fd, follow_symlinks=False).st_mode):
                    todo.append(_move_to_top(top, fd, entry))
                else:
                    os.unlink(entry, dir_fd=fd)
        finally:
            os.close(fd)
        os.rmdir(current, dir_fd=top)


def _move_to_top(top: int, parent: int, name: str) -> str:
    # Moving or emptying a folder needs write permission, which its creator may have removed.
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=parent)
    try:
        os.chmod(f"/proc/self/fd/{handle}", 0o700)  # noqa: PTH101  # acts on the descriptor, not on a path
    finally:
        os.close(handle)
    moved = f".discarded-{secrets.token_hex(8)}"
    os.rename(name, moved, src_dir_fd=parent, dst_dir_fd=top)
    return moved


def give_ownership(folder: Path, owner: Owner | None) -> None:
    """Change the owner of a folder and of everything in it, through descriptors, so that no link is followed."""
    todo = [""] if owner is not None else []
    while todo:
        place = todo.pop()
        with open_folder(folder, place) as fd:
            assert owner is not None
            os.fchown(fd, *owner)
            with os.scandir(fd) as iterator:
                entries = list(iterator)
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    todo.append(f"{place}/{entry.name}" if place else entry.name)
                else:
                    os.chown(entry.name, *owner, dir_fd=fd, follow_symlinks=False)
