"""Writes and removes files in a private folder through descriptors, so that no link in it can redirect the access."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from podium.git.trees.listing import LINK, MODULE, PROGRAM, Entry
from podium.git.workdir.walk import OPEN_FOLDER

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def make_folder(root: Path, folder: str) -> Iterator[int]:
    """Open a folder below the root, creating it if necessary; a link in its place is an error."""
    fd = os.open(root, OPEN_FOLDER)
    try:
        for name in filter(None, folder.split("/")):
            try:
                below = os.open(name, OPEN_FOLDER, dir_fd=fd)
            except FileNotFoundError:
                os.mkdir(name, 0o755, dir_fd=fd)
                below = os.open(name, OPEN_FOLDER, dir_fd=fd)
            os.close(fd)
            fd = below
        yield fd
    finally:
        os.close(fd)


def write_entry(fd: int, name: str, entry: Entry, content: bytes) -> os.stat_result | None:
    """Create one entry of a tree in an open folder, where the name must not exist; None for a submodule."""
    if entry.mode == MODULE:
        os.mkdir(name, 0o755, dir_fd=fd)
        return None
    if entry.mode == LINK:
        os.symlink(os.fsdecode(content), name, dir_fd=fd)
        return os.stat(name, dir_fd=fd, follow_symlinks=False)
    handle = os.open(name, _NEW_FILE, 0o755 if entry.mode == PROGRAM else 0o644, dir_fd=fd)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        return os.fstat(handle)


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
