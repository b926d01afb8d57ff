"""The log in one SQLite file: durable, for one owner per run and any number of readers and letter writers.

apsw brings a SQLite that is new enough: releases before 3.51.3 can corrupt a WAL database that two processes write.
Every write is `begin immediate`: a transaction that reads first and writes later fails under contention.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import apsw

from podium.core.chain import FIRST_HASH, Record, RunId, link
from podium.ports import Fenced, Letter, Misplaced, RunHead, StoreError

SCHEMA: Final = Path(__file__).with_name("sqlite.sql")
SCHEMA_VERSION: Final = 1
BUSY_MS: Final = 10_000
NEEDED: Final = (3, 51, 3)
ROOM: Final = 1000 * (4096 + 24) + (128 << 10)
"""What the write-ahead log grows to before SQLite begins it again from the front, with a turn to spare."""


class SqliteStore:
    def __init__(self, path: Path) -> None:
        version = tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
        if version < NEEDED:
            raise StoreError(
                f"SQLite {apsw.sqlite_lib_version()} is too old for several writers; 3.51.3 is needed"
            )
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600, exist_ok=True)
        self._wal = path.with_name(f"{path.name}-wal")
        try:
            self._db = apsw.Connection(str(path))
            self._db.set_busy_timeout(BUSY_MS)
            self._posted = 0
            self._prepare()
        except apsw.Error as error:
            raise StoreError(f"{path} cannot be used: {error}") from error

    def _prepare(self) -> None:
        for pragma in ("journal_mode = wal", "synchronous = full", "foreign_keys = on", "mmap_size = 0"):
            self._db.execute(f"pragma {pragma}").fetchall()
        with self._write():
            found = self._db.execute("pragma user_version").get
            if found == 0:
                self._db.execute(SCHEMA.read_text("utf-8"))
                self._db.execute(f"pragma user_version = {SCHEMA_VERSION}")
            elif found != SCHEMA_VERSION:
                raise StoreError(f"the database has version {found}; this Podium knows {SCHEMA_VERSION}")

    @contextmanager
    def _write(self) -> Iterator[None]:
        self._db.execute("begin immediate")
        try:
            yield
        except BaseException:
            self._db.execute("rollback")
            raise
        self._db.execute("commit")

    def create(self, head: RunHead, letters: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        values = (
            head.run, head.workflow, head.fingerprint, head.created, 0, 0, FIRST_HASH, head.status, head.source,
        )  # fmt: skip
        try:
            with self._write():
                self._db.execute("insert into run values (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
                for name, body in (letters or {}).items():
                    self._post(head.run, name, body)
        except apsw.ConstraintError:
            raise StoreError(f"there is a run {head.run} already") from None

    def claim(self, run: RunId) -> int:
        with self._write():
            epoch = self._known(run).epoch + 1
            self._db.execute("update run set epoch = ? where run = ?", (epoch, run))
            self._make_room()
        return epoch

    def _make_room(self) -> None:
        """Lets the write-ahead log have its full length now, in zeros.

        A commit that lengthens a file waits for the file system's own journal as well as for its data: twice as long.
        Nobody else writes there while this transaction is open, what stands in the file is left alone, and SQLite
        reads no frame that it has not signed.
        """
        # Without room on the disk it grows as ever, and whoever runs out of it hears so from SQLite.
        with suppress(OSError), self._wal.open("r+b") as file:
            end = file.seek(0, os.SEEK_END)
            file.write(bytes(max(0, ROOM - end)))

    def append(
        self,
        run: RunId,
        events: Sequence[tuple[str, str]],
        *,
        after: int,
        epoch: int,
        cause: str,
        status: str | None = None,
        answers: tuple[Letter, str] | None = None,
    ) -> tuple[Record, ...]:
        with self._write():
            head = self._known(run)
            if epoch != head.epoch:
                raise Fenced(f"run {run} belongs to epoch {head.epoch} by now, not to {epoch}")
            if after != head.last_seq:
                raise Misplaced(f"run {run} has {head.last_seq} events, not {after}")
            records = _linked(head, events, cause)
            # The fields of a record stand in the order of the columns.
            self._db.executemany("insert into event values (?, ?, ?, ?, ?, ?, ?)", records)
            seq, last_hash = (records[-1].seq, records[-1].hash) if records else (after, head.last_hash)
            now = (seq, last_hash, head.status if status is None else status, run)
            self._db.execute("update run set last_seq = ?, last_hash = ?, status = ? where run = ?", now)
            if answers is not None:
                self._answer(*answers)
        return records

    def read(self, run: RunId, *, after: int = 0) -> tuple[Record, ...]:
        rows = self._db.execute(
            "select run, seq, cause, type, body, prev, hash from event where run = ? and seq > ? order by seq",
            (run, after),
        )
        return tuple(Record(*row) for row in rows)

    def head(self, run: RunId) -> RunHead | None:
        row = self._db.execute("select * from run where run = ?", (run,)).fetchone()
        return None if row is None else RunHead(*row)

    def heads(self) -> tuple[RunHead, ...]:
        return tuple(
            RunHead(*row) for row in self._db.execute("select * from run order by created desc, run")
        )

    def set_status(self, run: RunId, status: str) -> None:
        with self._write():
            self._known(run)
            self._db.execute("update run set status = ? where run = ?", (status, run))

    def post(self, run: RunId, name: str, body: Mapping[str, Any]) -> None:
        with self._write():
            self._known(run)
            self._post(run, name, body)

    def _post(self, run: RunId, name: str, body: Mapping[str, Any]) -> None:
        self._db.execute(
            "insert or ignore into letter (run, name, body) values (?, ?, ?)", (run, name, json.dumps(body))
        )
        self._posted += 1

    def letters(self, run: RunId) -> tuple[Letter, ...]:
        rows = self._db.execute(
            "select number, run, name, body from letter where run = ? and reply is null order by number",
            (run,),
        )
        return tuple(Letter(number, run, name, json.loads(body)) for number, run, name, body in rows)

    def answer(self, letter: Letter, reply: str) -> None:
        with self._write():
            self._answer(letter, reply)

    def _answer(self, letter: Letter, reply: str) -> None:
        self._db.execute("update letter set reply = ? where number = ?", (reply, letter.number))

    def reply(self, run: RunId, name: str) -> str | None:
        row = self._db.execute("select reply from letter where run = ? and name = ?", (run, name)).fetchone()
        return None if row is None else row[0]

    def stamp(self) -> int:
        # The version changes with every commit of another connection, and is read from shared memory.
        version: int = self._db.execute("pragma data_version").get
        return version + (self._posted << 32)

    def forget(self, run: RunId) -> None:
        with self._write():
            self._db.execute("delete from letter where run = ?", (run,))
            self._db.execute("delete from event where run = ?", (run,))
            self._db.execute("delete from run where run = ?", (run,))

    def close(self) -> None:
        self._db.close()

    def _known(self, run: RunId) -> RunHead:
        head = self.head(run)
        if head is None:
            raise StoreError(f"there is no run {run}")
        return head


def _linked(head: RunHead, events: Sequence[tuple[str, str]], cause: str) -> tuple[Record, ...]:
    records: list[Record] = []
    # Of the last record only its position and hash are needed to chain the next one to it.
    last = Record(head.run, head.last_seq, "", "", "", "", head.last_hash) if head.last_seq else None
    for kind, body in events:
        last = link(head.run, last, cause=cause, type=kind, body=body)
        records.append(last)
    return tuple(records)
