"""Explains errors of SQLite, and finds damage that no query has hit yet."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final

import apsw

from podium.adapters.stores.sqlite_schema import expected_schema, schema_of, sum_of
from podium.errors import ConfigurationError
from podium.ports.store import StoreError

WAL_HEADER: Final = 32
FRAME_HEADER: Final = 24
NO_ROOM: Final = 64 << 10
_ROOM: Final = "free some disk space, then run: podium resume"
_EXPLANATIONS: Final[tuple[tuple[type[apsw.Error], str, str], ...]] = (
    (apsw.FullError, "the disk is full", _ROOM),
    (apsw.IOError, "the disk failed", "check the disk; when it works again, run: podium resume"),
    (apsw.ReadOnlyError, "it is read-only", "make it writable, then run: podium resume"),
    (apsw.CantOpenError, "it cannot be opened", "check its permissions"),
    (apsw.BusyError, "another process has been writing to it for too long", "try again"),
    (apsw.CorruptError, "it is damaged", "check it: podium verify"),
    (apsw.NotADBError, "it is not a database, or it is damaged", "check it: podium verify"),
)


def check_name(path: Path) -> None:
    """Refuse paths that are not UTF-8, which SQLite cannot open."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise ConfigurationError(
            f"{os.fsencode(path).decode('utf-8', 'replace')} has bytes in its path that are not UTF-8, so SQLite cannot "
            "open it",
            hint="move the project to a path in UTF-8",
        ) from error


def store_error(path: Path, error: apsw.Error | UnicodeDecodeError) -> StoreError:
    """An error with the fact, SQLite's own message, and a hint."""
    if isinstance(error, UnicodeDecodeError):
        return StoreError(f"{path} cannot be used: it is damaged ({error})", hint="check it: podium verify")
    for kind, fact, hint in _EXPLANATIONS:
        # For its shared memory SQLite reports a full disk as an I/O error.
        if isinstance(error, kind) or (kind is apsw.FullError and _is_full(path, error)):
            return StoreError(f"{path} cannot be used: {fact} ({error})", hint=hint)
    return StoreError(f"{path} cannot be used: {error}")


def _is_full(path: Path, error: apsw.Error) -> bool:
    if not isinstance(error, apsw.IOError):
        return False
    try:
        status = os.statvfs(path.parent)
    except OSError:
        return False
    return status.f_bavail * status.f_frsize < NO_ROOM


def first_damage(db: apsw.Connection, wal: Path) -> str | None:
    """The first damage of the database; call it in a write transaction, so that no other write is in progress."""
    verdict: str = db.execute("pragma integrity_check(1)").get
    if verdict != "ok":
        return f"the database is damaged: {verdict}"
    # A changed definition can give another value for an intact row.
    if schema_of(db) != expected_schema():
        return "the definition of a table has been changed"
    rows = chain(
        db.execute("select 'run ' || run, * from run"),
        db.execute(
            "select 'queued command ' || name || ' of run ' || run, run, name, body, reply, sum from letter"
        ),
        db.execute("select 'event ' || id || ' of trigger ' || trigger, * from trigger_event"),
        db.execute("select 'trigger ' || trigger, * from trigger_mark"),
    )
    for name, *fields, expected in rows:
        if sum_of(tuple(fields)) != expected:
            return f"the stored row of {name} has been changed"
    return damage_of_log(wal)


def damage_of_log(wal: Path) -> str | None:
    """Damage of the write-ahead log.

    SQLite treats the first frame with a wrong checksum as the end of the log, as after a crash, and silently drops all
    commits after it. After a crash there is no commit behind such a frame; after damage there is.
    """
    data = wal.read_bytes() if wal.exists() else b""
    if not any(data[:WAL_HEADER]):
        return None
    magic, _, size, _, *salts, first, second = struct.unpack(">8I", data[:WAL_HEADER])
    order = ">" if magic & 1 else "<"
    if _checksum(order, data[: WAL_HEADER - 8], (0, 0)) != (first, second):
        return "the head of the write-ahead log is damaged"
    checksum, broken = (first, second), None
    for number, head, page in _frames(data, size):
        _, pages, *marks, first_sum, second_sum = struct.unpack(">6I", head)
        if broken is None:
            checksum = _checksum(order, page, _checksum(order, head[:8], checksum))
            if marks == salts and checksum == (first_sum, second_sum):
                continue
            broken = number
        # Both salts differ in frames of an older log; zeros are unused room or an incomplete write.
        if pages and any(mark == salt for mark, salt in zip(marks, salts, strict=True)) and any(page):
            return f"frame {broken} of the write-ahead log is damaged; later commits are lost"
    return None


def _frames(data: bytes, size: int) -> Iterator[tuple[int, bytes, bytes]]:
    step = FRAME_HEADER + size
    for number, at in enumerate(range(WAL_HEADER, len(data) - step + 1, step), start=1):
        yield number, data[at : at + FRAME_HEADER], data[at + FRAME_HEADER : at + step]


def _checksum(order: str, data: bytes, start: tuple[int, int]) -> tuple[int, int]:
    """SQLite's checksum: two sums over pairs of words, each added to the other."""
    first, second = start
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for index in range(0, len(words), 2):
        first = (first + words[index] + second) & 0xFFFFFFFF
        second = (second + words[index + 1] + first) & 0xFFFFFFFF
    return first, second
