"""The tables of the database, and the migration from earlier versions.

Rule 1: a released step is never changed; a new version is a new step at the end.
Rule 2: a database that is not empty is copied before it is migrated, and the migration is one transaction: after a
crash there is the old version or the new one, and the copy.
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
TRIGGER_TABLES: Final = Path(__file__).with_name("sqlite_4.sql")


def sum_of(row: tuple[Any, ...]) -> str:
    """A checksum that shows whether a row that is not in the hash chain was changed."""
    return hashlib.sha256(json.dumps(row, ensure_ascii=False, default=repr).encode()).hexdigest()


def _create_tables(db: apsw.Connection) -> None:
    db.execute(TABLES.read_text("utf-8"))


def _add_sums(db: apsw.Connection) -> None:
    """Version 2: runs and queued commands have checksums, so that damage to them shows; events have their chain."""
    db.execute("alter table run add column sum text not null default ''")
    runs = db.execute("select * from run").fetchall()
    db.executemany("update run set sum = ? where run = ?", [(sum_of(row[:-1]), row[0]) for row in runs])
    db.execute("alter table letter add column sum text not null default ''")
    commands = db.execute("select number, run, name, body, reply from letter").fetchall()
    sums = [(sum_of(tuple(row[1:])), row[0]) for row in commands]
    db.executemany("update letter set sum = ? where number = ?", sums)


def _store_events_in_order(db: apsw.Connection) -> None:
    """Version 3: events are stored in the order of arrival, and an append does not change the run's row.

    A row with a wrong checksum must get a wrong one again.
    """
    db.execute(NEW_TABLES.read_text("utf-8"))
    for row in db.execute("select * from run order by created, run").fetchall():
        *unchanged, epoch, _, _, status, source, expected = row
        number = db.execute("select count(*) + 1 from new_run").get
        new_row = (number, *unchanged, epoch, status, source)
        is_intact = sum_of(row[:-1]) == expected
        db.execute(
            "insert into new_run values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*new_row, sum_of(new_row) if is_intact else ""),
        )
    db.execute(
        "insert into new_event select (number << 32) + seq, cause, type, body, prev, hash "
        "from event join new_run using (run) order by 1"
    )
    db.execute("insert into new_letter select * from letter")
    for table in ("letter", "event", "run"):
        db.execute(f"drop table {table}")
        db.execute(f"alter table new_{table} rename to {table}")


def _add_trigger_tables(db: apsw.Connection) -> None:
    """Version 4: the events for which triggers start runs, and how far triggers have looked."""
    db.execute(TRIGGER_TABLES.read_text("utf-8"))


STEPS: Final[tuple[Callable[[apsw.Connection], None], ...]] = (
    _create_tables,
    _add_sums,
    _store_events_in_order,
    _add_trigger_tables,
)
VERSION: Final = len(STEPS)


def schema_of(db: apsw.Connection) -> list[tuple[Any, ...]]:
    """The definitions of all tables, views and indexes."""
    rows: list[tuple[Any, ...]] = db.execute(
        "select type, name, tbl_name, sql from sqlite_master order by type, name"
    ).fetchall()
    return rows


def expected_schema() -> list[tuple[Any, ...]]:
    """The definitions in a new database, which are the same in one that was migrated."""
    db = apsw.Connection(":memory:")
    for step in STEPS:
        step(db)
    return schema_of(db)


def migrate(db: apsw.Connection, path: Path) -> None:
    """Migrate to this version; call it in a write transaction."""
    version: int = db.execute("pragma user_version").get
    if version > VERSION:
        raise StoreError(
            f"the database has version {version}; this version of Podium supports up to {VERSION}",
            hint="use the newer version of Podium that wrote it",
        )
    if version:
        _copy(path, backup_of(path, version))
    for step in STEPS[version:]:
        step(db)
    db.execute(f"pragma user_version = {VERSION}")


def backup_of(path: Path, version: int) -> Path:
    return path.with_name(f"{path.name}.version-{version}")


def _copy(path: Path, target: Path) -> None:
    """Copy the database, completely or not at all; no other process writes while our transaction is open."""
    temporary = target.with_name(f"{target.name}.tmp")
    temporary.unlink(missing_ok=True)
    temporary.touch(mode=0o600)
    reader = apsw.Connection(str(path))
    try:
        reader.execute("vacuum into ?", (str(temporary),))
    finally:
        reader.close()
    handle = os.open(temporary, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    temporary.replace(target)
