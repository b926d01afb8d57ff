"""A second opinion about a folder: a plain walk that decides, by the documented rules, what a capture must answer.

Links are asked of the kernel (openat2 with RESOLVE_BENEATH and RESOLVE_NO_MAGICLINKS), which the product does not do.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import stat
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path

OPENAT2 = 437
NO_MAGIC_LINKS, BENEATH = 0x02, 0x08
LOOKS_LIKE_GIT = {".git", "git~1", ".g\u200cit"}
BARE = {"HEAD", "objects", "refs"}


@dataclass
class Opinion:
    files: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Path to mode and hash."""
    faults: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    """Links that lead nowhere here: the kernel cannot tell whether they would leave."""


def look(root: Path, base: dict[str, str]) -> Opinion:
    """`base`: what the tree had, path to mode."""
    folders = {path.rpartition("/")[0] for path in base if "/" in path}
    folders |= {folder.rpartition("/")[0] for folder in folders if "/" in folder}
    found = Opinion()
    todo = [""]
    while todo:
        folder = todo.pop()
        names = [entry.name for entry in (root / folder).iterdir()]
        if set(names) >= BARE:
            found.faults.append(folder or ".")
        kept = []
        for name in sorted(names):
            path = f"{folder}/{name}" if folder else name
            if path == ".git":
                continue
            status = (root / path).lstat()
            is_folder = stat.S_ISDIR(status.st_mode)
            tracked = path in folders if is_folder else path in base
            if not tracked and _is_git(name):
                found.faults.append(path)
            if not tracked and _is_ignored(name, is_folder=is_folder):
                continue
            kept.append((name, tracked))
            if not tracked and _is_odd(name):
                found.faults.append(path)
            if is_folder:
                todo.append(path)
            else:
                _judge(root, path, status, found)
        _twins(folder, names, kept, found)
    return found


def _judge(root: Path, path: str, status: os.stat_result, found: Opinion) -> None:
    if stat.S_ISLNK(status.st_mode):
        target = os.readlink(root / path)  # noqa: PTH115  # a Path would tidy it up
        found.files[path] = "120000", _blob(os.fsencode(target))
        match _leaves(root, path):
            case errno.EXDEV:
                found.faults.append(path)
            case 0 if not any(_is_git(part) for part in target.split("/")):
                pass
            case _:
                found.doubts.append(path)
    elif not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        found.faults.append(path)
    else:
        mode = "100755" if status.st_mode & 0o100 else "100644"
        found.files[path] = mode, _blob((root / path).read_bytes())


def _blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _is_git(name: str) -> bool:
    return name.lower() in LOOKS_LIKE_GIT


def _is_ignored(name: str, *, is_folder: bool) -> bool:
    return name.endswith(".log") or (is_folder and name == "build")


def _is_odd(name: str) -> bool:
    return any(sign in "\\\n\x1b\u202e" for sign in name)


def _twins(folder: str, names: list[str], kept: list[tuple[str, bool]], found: Opinion) -> None:
    for name, tracked in kept:
        others = [other for other in names if other != name and _fold(other) == _fold(name)]
        if others and not tracked:
            found.doubts.append(f"{folder}/{name}")


def _fold(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def _leaves(root: Path, path: str) -> int:
    """0 if the kernel finds something beneath the root, else its error."""
    libc = ctypes.CDLL(None, use_errno=True)
    how = _How(os.O_PATH | os.O_CLOEXEC, 0, NO_MAGIC_LINKS | BENEATH)
    fd = os.open(root, os.O_PATH | os.O_DIRECTORY)
    try:
        got = libc.syscall(OPENAT2, fd, os.fsencode(path), ctypes.byref(how), ctypes.sizeof(how))
        if got < 0:
            return ctypes.get_errno()
        os.close(got)
        return 0
    finally:
        os.close(fd)
