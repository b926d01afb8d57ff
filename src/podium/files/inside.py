"""Opens files inside a folder, whatever the given path and whatever links the folder contains.

Rule 1: a path is refused before anything is opened; until then only links are read.
Rule 2: a link may point elsewhere inside by a relative path that never leaves the folder. An absolute link is refused
        even if it leads back inside, because it means another place in a clone or a sandbox.
Rule 3: a link may be planted between the check and the opening, so folders are opened one by one from the root and
        never through a link.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final, Literal

from podium.errors import PathViolation
from podium.files.path_rules import path_fault

MOST_LINKS: Final = 40
MAX_TEXT_FILE: Final = 4 << 20
"""Bytes of a prompt or a schema; a text of more than a million characters cannot be used anyway."""
STEP: Final = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
# Non-blocking, because opening a named pipe would wait for its other end.
COMMON: Final = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
# Without O_TRUNC, because the file is checked before it is truncated.
FLAGS: Final = {
    "rb": os.O_RDONLY | COMMON,
    "wb": os.O_WRONLY | os.O_CREAT | COMMON,
    "xb": os.O_WRONLY | os.O_CREAT | os.O_EXCL | COMMON,
}

Mode = Literal["rb", "wb", "xb"]


def inside(root: Path, relative: str) -> Path:
    """The real path after all links; raises PathViolation if it is not inside `root`."""
    if fault := path_fault(relative):
        raise _violation(relative, fault)
    top = Path(os.path.realpath(root))
    return top.joinpath(*_follow(top, relative))


def resolved(path: str) -> str:
    """The path after all links, as `os.path.realpath`; the kernel takes a tenth of the time to follow them."""
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return os.path.realpath(path)
    try:
        return os.readlink(f"/proc/self/fd/{handle}")  # noqa: PTH115 (called for every command)
    except OSError:
        return os.path.realpath(path)
    finally:
        os.close(handle)


def open_inside(root: Path, relative: str, mode: Mode) -> BinaryIO:
    """Open a regular file inside `root`; for writing, its folders are created."""
    place = inside(root, relative)
    top = Path(os.path.realpath(root))
    names = place.relative_to(top).parts
    if not names:
        raise _violation(relative, "is the folder itself")
    folder = os.open(top, STEP | os.O_DIRECTORY)
    try:
        for name in names[:-1]:
            below = _step(folder, name, relative, make=mode != "rb")
            os.close(folder)
            folder = below
        return _open_file(folder, names[-1], relative, mode)
    finally:
        os.close(folder)


def read_file(path: Path, most: int) -> bytes:
    """A regular file of at most so many bytes, wherever it is; links are followed. Raises OSError or PathViolation."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise _violation(str(path), "is not a file")
        content = file.read(most + 1) if status.st_size <= most else b""
    if status.st_size > most or len(content) > most:
        raise _violation(str(path), f"has more than {most} bytes")
    return content


def _follow(root: Path, relative: str) -> list[str]:
    """The names on the real path, with all links resolved; names that do not exist yet are not links."""
    waiting = relative.split("/")[::-1]
    names: list[str] = []
    links = 0
    while waiting:
        name = waiting.pop()
        if name in ("", "."):
            continue
        if name == "..":
            # This can only come from a link, because the path itself was checked.
            if not names:
                raise _violation(relative, "follows a link that leaves the folder")
            names.pop()
            continue
        target = _link_target(root.joinpath(*names, name))
        if target is None:
            names.append(name)
            continue
        links += 1
        if links > MOST_LINKS:
            raise _violation(relative, "follows links in a circle")
        if target.startswith("/"):
            raise _violation(relative, "follows a link to an absolute path")
        waiting.extend(target.split("/")[::-1])
    return names


def _link_target(path: Path) -> str | None:
    try:
        return str(path.readlink())
    except OSError:
        # It is not a link, does not exist, or is not accessible; opening it will show that.
        return None


def _step(folder: int, name: str, relative: str, *, make: bool) -> int:
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder)
    below = os.open(name, STEP, dir_fd=folder)
    kind = os.fstat(below).st_mode
    if stat.S_ISDIR(kind):
        return below
    os.close(below)
    if stat.S_ISLNK(kind):
        raise _violation(relative, "goes through a link that was just planted")
    raise NotADirectoryError(f'"{relative}" goes through "{name}", which is not a folder')


def _open_file(folder: int, name: str, relative: str, mode: Mode) -> BinaryIO:
    try:
        handle = os.open(name, FLAGS[mode], 0o666, dir_fd=folder)
    except OSError as error:
        raise _open_error(error, folder, name, relative) from error
    try:
        _check_file(os.fstat(handle), relative, mode)
        if mode == "wb":
            os.ftruncate(handle, 0)
    except BaseException:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb" if mode == "rb" else "wb")


def _check_file(status: os.stat_result, relative: str, mode: Mode) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise _violation(relative, "is not a regular file")
    if mode != "rb" and status.st_nlink > 1:
        raise _violation(relative, "has a second hard link, so writing would change another file too")


def _open_error(error: OSError, folder: int, name: str, relative: str) -> Exception:
    """The violation, if the open failed because of a link, a pipe or a socket; else the error itself."""
    try:
        kind = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except OSError:
        return error
    if isinstance(error, FileExistsError) or stat.S_ISREG(kind):
        return error
    return _violation(relative, "is not a regular file")


def _violation(relative: str, fault: str) -> PathViolation:
    return PathViolation(
        f"path {relative!r} {fault}", hint="use a path inside the project, relative to its folder"
    )
