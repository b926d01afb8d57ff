"""Writes loose objects straight into a repository's object folder: blobs from open files, trees, commits.

Git is told no path of an agent's folder and reads no attribute or filter on the way, so nothing that stands in such a
folder can be executed or converted; and a capture that changed three files starts no process at all. The format is
git's own and fixed: zlib("<kind> <size>\\0<content>"), named by the hash of the same bytes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

HashName: TypeAlias = Literal["sha1", "sha256"]
Kind: TypeAlias = Literal["blob", "tree", "commit"]

CHUNK: Final = 1 << 20


class Changed(Exception):
    """A file did not have the size that it had when it was looked at."""


@dataclass(frozen=True, slots=True)
class Objects:
    """An object folder and the hash that names what is in it."""

    folder: Path
    hash: HashName = "sha1"
    behind: Path | None = None
    """Of a quarantine: the folder that its objects are on the way to, and where others are found."""


@contextmanager
def quarantined(objects: Objects) -> Iterator[Objects]:
    """A place apart for the objects of one capture: they reach the repository by `release`, or are gone.

    It lies where git has its own, so that `git prune` takes away what a killed process left.
    """
    folder = Path(tempfile.mkdtemp(prefix="tmp_objdir-capture-", dir=objects.folder))
    try:
        yield Objects(folder, objects.hash, objects.folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def release(quarantine: Objects) -> None:
    """Lets the objects out, trees after what they name: whoever sees one can follow it."""
    assert quarantine.behind is not None
    found = sorted(quarantine.folder.glob("??/*"), key=lambda path: path.stat().st_mtime_ns)
    for path in found:
        place = quarantine.behind / path.parent.name / path.name
        place.parent.mkdir(exist_ok=True)
        path.replace(place)


def name_of(objects: Objects, kind: Kind, content: bytes) -> str:
    new = hashlib.sha1 if objects.hash == "sha1" else hashlib.sha256
    return new(_header(kind, len(content)) + content, usedforsecurity=False).hexdigest()


def write(objects: Objects, kind: Kind, content: bytes) -> str:
    name = name_of(objects, kind, content)
    if not _is_there(objects, name):
        _store(objects, zlib.compress(_header(kind, len(content)) + content, 1), name)
    return name


def write_file(objects: Objects, fd: int, size: int, known: str | None = None) -> str:
    """The open file as a blob; nothing is written if it is the known one. What is hashed is what is stored."""
    if size < CHUNK:
        content = os.pread(fd, size + 1, 0)
        if len(content) != size:
            raise Changed
        name = name_of(objects, "blob", content)
        return name if name == known else write(objects, "blob", content)
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
        if name != known and not _is_there(objects, name):
            _publish(objects, temporary, name)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)  # noqa: PTH108  # a name from mkstemp, as text
    return name


def _header(kind: Kind, size: int) -> bytes:
    return b"%s %d\0" % (kind.encode(), size)


def _chunks(fd: int, size: int) -> Iterator[bytes]:
    """The bytes of an open file from its start; raises Changed if there are more or fewer than promised."""
    at = 0
    while chunk := os.pread(fd, CHUNK, at):
        at += len(chunk)
        if at > size:
            raise Changed
        yield chunk
    if at != size:
        raise Changed


def _place(folder: Path, name: str) -> Path:
    return folder / name[:2] / name[2:]


def _is_there(objects: Objects, name: str) -> bool:
    """Whether the loose object exists; if so it is made young, or a `git gc` could take it away under our feet."""
    for folder in filter(None, (objects.folder, objects.behind)):
        with suppress(FileNotFoundError):
            os.utime(_place(folder, name))
            return True
    return False


def _store(objects: Objects, content: bytes, name: str) -> None:
    if objects.behind is not None:
        # Nobody looks into a quarantine, so that nobody can find half an object there.
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
