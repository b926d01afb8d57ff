"""The tables of the log, and how a database of an earlier version is brought forward.

Rule 1: a step is never changed once a release has it; a new version is a new step at the end.
Rule 2: a database with something in it is copied before it is changed, and the change is one transaction: whoever dies
in between leaves the old version, or the new one, and never less than the copy.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import apsw

from podium.ports.store import StoreError

TABLES: Final = Path(__file__).with_name("sqlite.sql")
NEW_TABLES: Final = Path(__file__).with_name("sqlite_3.sql")


def sum_of(row: tuple[Any, ...]) -> str:
    """By which a row that has no place in a chain shows that it was altered."""
    return hashlib.sha256(json.dumps(row, ensure_ascii=False, default=repr).encode()).hexdigest()


def _create_tables(db: apsw.Connection) -> None:
    db.execute(TABLES.read_text("utf-8"))


def _add_sums(db: apsw.Connection) -> None:
    """Events are chained; since version 2 runs and letters have sums, so that damage to them shows as well."""
    db.execute("alter table run add column sum text not null default ''")
    runs = db.execute("select * from run").fetchall()
    db.executemany("update run set sum = ? where run = ?", [(sum_of(row[:-1]), row[0]) for row in runs])
    db.execute("alter table letter add column sum text not null default ''")
    letters = db.execute("select number, run, name, body, reply from letter").fetchall()
    sums = [(sum_of(tuple(row[1:])), row[0]) for row in letters]
    db.executemany("update letter set sum = ? where number = ?", sums)


def _put_events_in_a_row(db: apsw.Connection) -> None:
    """Since version 3 events lie in the order they come in, and a run's row is left alone by a turn.

    A row that did not agree with its sum must not agree with its new one either.
    """
    db.execute(NEW_TABLES.read_text("utf-8"))
    for row in db.execute("select * from run order by created, run").fetchall():
        *kept, epoch, _, _, status, source, expected = row
        number = db.execute("select count(*) + 1 from new_run").get
        fresh = (number, *kept, epoch, status, source)
        whole = sum_of(row[:-1]) == expected
        db.execute(
            "insert into new_run values (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*fresh, sum_of(fresh) if whole else "")
        )
    db.execute(
        "insert into new_event select (number << 32) + seq, cause, type, body, prev, hash "
        "from event join new_run using (run) order by 1"
    )
    db.execute("insert into new_letter select * from letter")
    for table in ("letter", "event", "run"):
        db.execute(f"drop table {table}")
        db.execute(f"alter table new_{table} rename to {table}")


STEPS: Final[tuple[Callable[[apsw.Connection], None], ...]] = (
    _create_tables,
    _add_sums,
    _put_events_in_a_row,
)
VERSION: Final = len(STEPS)


def bring_forward(db: apsw.Connection, path: Path) -> None:
    """Inside a write transaction: everything up to this version."""
    found: int = db.execute("pragma user_version").get
    if found > VERSION:
        raise StoreError(
            f"the database has version {found}; this Podium knows {VERSION}",
            hint="use the newer Podium that wrote it",
        )
    if found:
        _copy(path, backup_of(path, found))
    for step in STEPS[found:]:
        step(db)
    db.execute(f"pragma user_version = {VERSION}")


def backup_of(path: Path, version: int) -> Path:
    return path.with_name(f"{path.name}.version-{version}")


def _copy(path: Path, target: Path) -> None:
    """As it is now: nobody else writes while our transaction is open. Whole or not there at all."""
    half = target.with_name(f"{target.name}.tmp")
    half.unlink(missing_ok=True)
    half.touch(mode=0o600)
    reader = apsw.Connection(str(path))
    try:
        reader.execute("vacuum into ?", (str(half),))
    finally:
        reader.close()
    handle = os.open(half, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    half.replace(target)
