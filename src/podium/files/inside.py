"""Paths that stay inside a folder, whatever was written and whatever links wait there.

Rule 1: what is refused is refused before anything is opened; looking at a link is all that happens.
Rule 2: a link may point to another place inside by a relative way that never leaves; an absolute one is refused, also
        where it would come back, for it means another place in a clone or a sandbox.
Rule 3: between the look and the opening somebody may plant a link; so folders are opened one by one from the root, and
        none of them through a link.
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
STEP: Final = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
# Non-blocking, for the opening of a named pipe waits for somebody at its other end.
COMMON: Final = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
# Without O_TRUNC: what was opened is looked at before it is emptied.
FLAGS: Final = {
    "rb": os.O_RDONLY | COMMON,
    "wb": os.O_WRONLY | os.O_CREAT | COMMON,
    "xb": os.O_WRONLY | os.O_CREAT | os.O_EXCL | COMMON,
}

Mode = Literal["rb", "wb", "xb"]


def inside(root: Path, relative: str) -> Path:
    """Where this path really is, all links followed; raises PathViolation when that is not inside `root`."""
    if fault := path_fault(relative):
        raise _violation(relative, fault)
    top = Path(os.path.realpath(root))
    return top.joinpath(*_follow(top, relative))


def open_inside(root: Path, relative: str, mode: Mode) -> BinaryIO:
    """Opens a regular file inside `root`; to write, its folders are made."""
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


def _follow(root: Path, relative: str) -> list[str]:
    """The names that lead there without any link. What does not exist yet has none."""
    waiting = relative.split("/")[::-1]
    names: list[str] = []
    links = 0
    while waiting:
        name = waiting.pop()
        if name in ("", "."):
            continue
        if name == "..":
            # Only a link can say this; the text of the path cannot.
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
        # Not a link, not there, or not for us to see; opening it will tell.
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
        raise _violation(relative, "runs through a link that was just planted")
    raise NotADirectoryError(f'"{relative}" runs through "{name}", which is no folder')


def _open_file(folder: int, name: str, relative: str, mode: Mode) -> BinaryIO:
    try:
        handle = os.open(name, FLAGS[mode], 0o666, dir_fd=folder)
    except OSError as error:
        raise _explained(error, folder, name, relative) from error
    try:
        _check_file(os.fstat(handle), relative, mode)
        if mode == "wb":
            os.ftruncate(handle, 0)
    except BaseException:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb" if mode == "rb" else "wb")


def _check_file(found: os.stat_result, relative: str, mode: Mode) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise _violation(relative, "is not a regular file")
    if mode != "rb" and found.st_nlink > 1:
        raise _violation(relative, "has a second name, so writing would change another file too")


def _explained(error: OSError, folder: int, name: str, relative: str) -> Exception:
    """A link, a pipe without a reader or a socket fails to open; that is a trick, a missing file is not."""
    try:
        kind = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except OSError:
        return error
    if isinstance(error, FileExistsError) or stat.S_ISREG(kind):
        return error
    return _violation(relative, "is not a regular file")


def _violation(relative: str, fault: str) -> PathViolation:
    return PathViolation(
        f"path {relative!r} {fault}", hint="name a file inside the project, relative to its folder"
    )
