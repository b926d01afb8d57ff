"""Writes loose objects directly into a repository's object folder: blobs from open files, trees, commits.

Git gets no path of an agent's folder and applies no attribute or filter, so nothing in such a folder can be executed or
converted, and a capture of a few changed files starts no process. The format is git's own and fixed:
zlib("<kind> <size>\\0<content>"), named by the hash of the same bytes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Literal, TypeAlias

from podium.fast_dataclass import dataclass

HashName: TypeAlias = Literal["sha1", "sha256"]
Kind: TypeAlias = Literal["blob", "tree", "commit"]

CHUNK: Final = 1 << 20


class FileChanged(Exception):
    """The size of a file changed after it was checked."""


@dataclass(frozen=True, slots=True)
class Objects:
    """An object folder and its hash algorithm."""

    folder: Path
    hash: HashName = "sha1"
    behind: Path | None = None
    """For a quarantine: the repository's object folder, to which its objects will be moved."""


@contextmanager
def quarantine(objects: Objects) -> Iterator[Objects]:
    """A separate folder for the objects of one capture; `release` moves them into the repository, else they are deleted.

    It is where git has its own temporary folders, so that `git prune` removes what a killed process left behind.
    """
    folder = Path(tempfile.mkdtemp(prefix="tmp_objdir-capture-", dir=objects.folder))
    try:
        yield Objects(folder, objects.hash, objects.folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def release(quarantine: Objects) -> None:
    """Move the objects into the repository, trees after their contents, so that no visible tree is incomplete."""
    assert quarantine.behind is not None
    paths = sorted(quarantine.folder.glob("??/*"), key=lambda path: path.stat().st_mtime_ns)
    for path in paths:
        place = quarantine.behind / path.parent.name / path.name
        place.parent.mkdir(exist_ok=True)
        path.replace(place)


def name_of(objects: Objects, kind: Kind, content: bytes) -> str:
    new = hashlib.sha1 if objects.hash == "sha1" else hashlib.sha256
    return new(_header(kind, len(content)) + content, usedforsecurity=False).hexdigest()


def write(objects: Objects, kind: Kind, content: bytes) -> str:
    name = name_of(objects, kind, content)
    if not _exists(objects, name):
        _store(objects, zlib.compress(_header(kind, len(content)) + content, 1), name)
    return name


def write_file(objects: Objects, fd: int, size: int, known_id: str | None = None) -> str:
    """Write the open file as a blob unless it is the known one; the stored bytes are exactly the hashed ones."""
    if size < CHUNK:
        content = os.pread(fd, size + 1, 0)
        if len(content) != size:
            raise FileChanged
        name = name_of(objects, "blob", content)
        return name if name == known_id else write(objects, "blob", content)
    digest = hashlib.new(objects.hash, _header("blob", size), usedforsecurity=False)
    deflate = zlib.compressobj(1)
    handle, temporary = tempfile.mkstemp(prefix="tmp_obj_", dir=objects.folder)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(deflate.compress(_header("blob", size)))
            for chunk in _chunks(fd, size):
                digest.update(chunk)
                out.write(deflate.compress(chunk))
            out.write(deflate.flush())
        name = digest.hexdigest()
        if name != known_id and not _exists(objects, name):
            _publish(objects, temporary, name)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)  # noqa: PTH108  # a name from mkstemp, as text
    return name


def _header(kind: Kind, size: int) -> bytes:
    return b"%s %d\0" % (kind.encode(), size)


def _chunks(fd: int, size: int) -> Iterator[bytes]:
    """The bytes of an open file; raises FileChanged if it has more or fewer than `size`."""
    position = 0
    while chunk := os.pread(fd, CHUNK, position):
        position += len(chunk)
        if position > size:
            raise FileChanged
        yield chunk
    if position != size:
        raise FileChanged


def _place(folder: Path, name: str) -> Path:
    return folder / name[:2] / name[2:]


def _exists(objects: Objects, name: str) -> bool:
    """Whether the loose object exists; if so, update its time, because `git gc` could otherwise remove it."""
    for folder in filter(None, (objects.folder, objects.behind)):
        with suppress(FileNotFoundError):
            os.utime(_place(folder, name))
            return True
    return False


def _store(objects: Objects, content: bytes, name: str) -> None:
    if objects.behind is not None:
        # No other process reads a quarantine, so no rename is needed.
        place = _place(objects.folder, name)
        place.parent.mkdir(exist_ok=True)
        handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
        with os.fdopen(handle, "wb") as out:
            out.write(content)
        return
    handle, temporary = tempfile.mkstemp(prefix="tmp_obj_", dir=objects.folder)
    with os.fdopen(handle, "wb") as out:
        out.write(content)
    _publish(objects, temporary, name)


def _publish(objects: Objects, temporary: str, name: str) -> None:
    place = _place(objects.folder, name)
    place.parent.mkdir(exist_ok=True)
    Path(temporary).chmod(0o444)
    Path(temporary).replace(place)
