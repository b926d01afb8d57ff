"""What is wrong with a database: an error of SQLite in words, and damage that nobody has stumbled over yet."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final

import apsw

from podium.adapters.stores.sqlite_schema import sum_of
from podium.errors import ConfigurationError
from podium.ports.store import StoreError

WAL_HEADER: Final = 32
FRAME_HEADER: Final = 24
NO_ROOM: Final = 64 << 10
_ROOM: Final = "make room on the disk, then go on: podium resume"
_WORDS: Final[tuple[tuple[type[apsw.Error], str, str], ...]] = (
    (apsw.FullError, "there is no room left on the disk", _ROOM),
    (apsw.IOError, "the disk failed", "look at the disk; when it works again, go on: podium resume"),
    (apsw.ReadOnlyError, "it cannot be written to", "make it writable again, then go on: podium resume"),
    (apsw.CantOpenError, "it cannot be opened", "look at who may read and write it"),
    (apsw.BusyError, "another process has been writing to it for too long", "try again"),
    (apsw.CorruptError, "it is damaged", "see: podium verify"),
    (apsw.NotADBError, "it is no database, or damaged", "see: podium verify"),
)


def check_name(path: Path) -> None:
    """SQLite takes names of files as UTF-8 only."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise ConfigurationError(
            f"{os.fsencode(path).decode('utf-8', 'replace')} has bytes in its path that are no UTF-8, so SQLite cannot "
            "open it",
            hint="move the project into a folder with a name in UTF-8",
        ) from error


def worded(path: Path, error: apsw.Error | UnicodeDecodeError) -> StoreError:
    """The fact in words, those of SQLite behind it, and the next step."""
    if isinstance(error, UnicodeDecodeError):
        return StoreError(f"{path} cannot be used: it is damaged ({error})", hint="see: podium verify")
    for kind, fact, hint in _WORDS:
        # For its shared memory SQLite does not tell a full disk from a broken one.
        if isinstance(error, kind) or (kind is apsw.FullError and _is_full(path, error)):
            return StoreError(f"{path} cannot be used: {fact} ({error})", hint=hint)
    return StoreError(f"{path} cannot be used: {error}")


def _is_full(path: Path, error: apsw.Error) -> bool:
    if not isinstance(error, apsw.IOError):
        return False
    try:
        found = os.statvfs(path.parent)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < NO_ROOM


def first_damage(db: apsw.Connection, wal: Path) -> str | None:
    """Inside a write transaction, so that nobody else is in the middle of something."""
    found: str = db.execute("pragma integrity_check(1)").get
    if found != "ok":
        return f"the database is damaged: {found}"
    rows = chain(
        db.execute("select 'run ' || run, * from run"),
        db.execute("select 'letter ' || name || ' to run ' || run, run, name, body, reply, sum from letter"),
    )
    for name, *fields, expected in rows:
        if sum_of(tuple(fields)) != expected:
            return f"what is stored of {name} has been altered"
    return damage_of_log(wal)


def damage_of_log(wal: Path) -> str | None:
    """SQLite takes the first frame with a wrong checksum for the end of the log, as after a crash; then what was
    committed behind it is gone without a word. A crash leaves no commit behind such a frame, damage does."""
    data = wal.read_bytes() if wal.exists() else b""
    if not any(data[:WAL_HEADER]):
        return None
    magic, _, size, _, *salts, first, second = struct.unpack(">8I", data[:WAL_HEADER])
    order = ">" if magic & 1 else "<"
    if _checksum(order, data[: WAL_HEADER - 8], (0, 0)) != (first, second):
        return "the head of the write-ahead log is damaged"
    known, broken = (first, second), None
    for number, head, page in _frames(data, size):
        _, pages, *marks, one, two = struct.unpack(">6I", head)
        if broken is None:
            known = _checksum(order, page, _checksum(order, head[:8], known))
            if marks == salts and known == (one, two):
                continue
            broken = number
        # Left by a log that began anew: both marks differ. Zeros: room that was never used, or a write that was cut.
        if pages and any(mark == salt for mark, salt in zip(marks, salts, strict=True)) and any(page):
            return f"frame {broken} of the write-ahead log is damaged; what was committed since is lost"
    return None


def _frames(data: bytes, size: int) -> Iterator[tuple[int, bytes, bytes]]:
    step = FRAME_HEADER + size
    for number, at in enumerate(range(WAL_HEADER, len(data) - step + 1, step), start=1):
        yield number, data[at : at + FRAME_HEADER], data[at + FRAME_HEADER : at + step]


def _checksum(order: str, data: bytes, start: tuple[int, int]) -> tuple[int, int]:
    """That of SQLite: two sums over pairs of words, each carried on by the other."""
    first, second = start
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for index in range(0, len(words), 2):
        first = (first + words[index] + second) & 0xFFFFFFFF
        second = (second + words[index + 1] + first) & 0xFFFFFFFF
    return first, second
