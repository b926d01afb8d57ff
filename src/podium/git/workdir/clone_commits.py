"""The commits that an agent has made in its clone, read as data.

No git command may use a folder in which an agent has worked, so the files of the clone are parsed here. New commits are
loose objects; older ones are packed, and there the walk ends.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from podium.errors import PathViolation
from podium.files.inside import open_inside

MAX_BYTES: Final = 1 << 20
MAX_COMMITS: Final = 1000
_NAME: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class CloneCommit(NamedTuple):
    name: str
    message: str


def head_of(folder: Path) -> str | None:
    """The commit that is checked out in a clone; None if that cannot be read."""
    head = _read(folder, "HEAD").decode("utf-8", "replace").strip()
    reference = head.removeprefix("ref: ")
    if reference != head:
        head = _read(folder, reference).decode("utf-8", "replace").strip()
    return head if _NAME.fullmatch(head) else None


def new_commits(folder: Path, start: str | None) -> Iterator[CloneCommit]:
    """The commits of a clone up to the one that it started from, newest first along first parents."""
    name = head_of(folder)
    for _ in range(MAX_COMMITS):
        if name is None or name == start:
            return
        header, _, message = _commit(folder, name).partition("\n\n")
        if not header:
            return
        yield CloneCommit(name, message)
        parents = [line.removeprefix("parent ") for line in header.split("\n") if line.startswith("parent ")]
        name = parents[0] if parents and _NAME.fullmatch(parents[0]) else None


def _commit(folder: Path, name: str) -> str:
    """The text of a commit; empty if it is not a loose commit."""
    try:
        content = zlib.decompressobj().decompress(_read(folder, f"objects/{name[:2]}/{name[2:]}"), MAX_BYTES)
    except zlib.error:
        return ""
    kind, _, body = content.partition(b"\0")
    return body.decode("utf-8", "replace") if kind.startswith(b"commit ") else ""


def _read(folder: Path, path: str) -> bytes:
    git_dir = folder / ".git"
    if git_dir.is_symlink():
        return b""
    try:
        with open_inside(git_dir, path, "rb") as file:
            return file.read(MAX_BYTES)
    except (OSError, PathViolation):
        return b""
