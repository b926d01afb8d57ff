"""Writes loose objects straight into a repository's object folder: blobs from open files, trees, commits.

Git is told no path of an agent's folder and reads no attribute or filter on the way, so nothing that stands in such a
folder can be executed or converted; and a capture that changed three files starts no process at all. The format is
git's own and fixed: zlib("<kind> <size>\\0<content>"), named by the hash of the same bytes.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
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


def name_of(objects: Objects, kind: Kind, content: bytes) -> str:
    new = hashlib.sha1 if objects.hash == "sha1" else hashlib.sha256
    return new(_header(kind, len(content)) + content, usedforsecurity=False).hexdigest()


def write(objects: Objects, kind: Kind, content: bytes) -> str:
    name = name_of(objects, kind, content)
    if not _is_there(objects, name):
        _store(objects, (zlib.compress(_header(kind, len(content)) + content, 1),), name)
    return name


def name_of_file(objects: Objects, fd: int, size: int) -> str:
    """The name that the open file has as a blob; nothing is written."""
    if size < CHUNK:
        content = os.pread(fd, size + 1, 0)
        if len(content) != size:
            raise Changed
        return name_of(objects, "blob", content)
    digest = hashlib.new(objects.hash, _header("blob", size), usedforsecurity=False)
    for chunk in _chunks(fd, size):
        digest.update(chunk)
    return digest.hexdigest()


def write_file(objects: Objects, fd: int, size: int) -> str:
    """The open file as a blob. Read again from its start and hashed as it is written: the name fits what is stored."""
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
        if not _is_there(objects, name):
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


def _place(objects: Objects, name: str) -> Path:
    return objects.folder / name[:2] / name[2:]


def _is_there(objects: Objects, name: str) -> bool:
    """Whether the loose object exists; if so it is made young, or a `git gc` could take it away under our feet."""
    try:
        os.utime(_place(objects, name))
    except FileNotFoundError:
        return False
    return True


def _store(objects: Objects, parts: Iterable[bytes], name: str) -> None:
    handle, temporary = tempfile.mkstemp(prefix="tmp_obj_", dir=objects.folder)
    with os.fdopen(handle, "wb") as out:
        out.writelines(parts)
    _publish(objects, temporary, name)


def _publish(objects: Objects, temporary: str, name: str) -> None:
    place = _place(objects, name)
    place.parent.mkdir(exist_ok=True)
    Path(temporary).chmod(0o444)
    Path(temporary).replace(place)
