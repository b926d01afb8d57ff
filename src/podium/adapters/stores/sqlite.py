"""The logs in one SQLite file: durable, with one owner per run and any number of readers and senders of commands.

apsw includes a SQLite that is new enough: releases before 3.51.3 can corrupt a WAL database that two processes write.
Every write uses `begin immediate`, because a transaction that reads first and writes later fails under contention.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import apsw

from podium.adapters.stores.sqlite_errors import check_name, damage_of_log, first_damage, store_error
from podium.adapters.stores.sqlite_schema import VERSION, migrate, sum_of
from podium.adapters.stores.sqlite_triggers import MARK, SINCE, WAITING, event_of, insert_events, settle_event
from podium.core.hash_chain import FIRST_HASH, Record, RunId, links
from podium.ports.store import (
    AppendConflict,
    NewRun,
    QueuedCommand,
    RunHead,
    StaleOwner,
    StoreError,
    TriggerEvent,
)

BUSY_MS: Final = 10_000
NEEDED: Final = (3, 51, 3)
ROOM: Final = 1000 * (4096 + 24) + (128 << 10)
"""The size of the write-ahead log before SQLite starts it again from the front, with room for one more turn."""

_TAIL: Final = (
    "select number, epoch, status, coalesce((select id & 0xffffffff from event where id between number << 32 "
    "and (number << 32) + 0xffffffff order by id desc limit 1), 0), "
    "(select hash from event where id = (number << 32) + ?) from run where run = ?"
)


class _Transaction:
    """Write transactions, one after another, whose errors become StoreErrors."""

    def __init__(self, db: apsw.Connection, path: Path) -> None:
        self._db = db
        self._path = path

    def __enter__(self) -> None:
        try:
            self._db.execute("begin immediate")
        except apsw.Error as error:
            raise store_error(self._path, error) from error

    def __exit__(self, _: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self._undo(error)
            return
        try:
            self._db.execute("commit")
        except BaseException as failed:
            self._undo(failed)
            raise

    def _undo(self, error: BaseException) -> None:
        # After some errors SQLite has already rolled back.
        if self._db.in_transaction:
            self._db.execute("rollback")
        if isinstance(error, (apsw.Error, UnicodeDecodeError)):
            raise store_error(self._path, error) from error


class SqliteStore:
    def __init__(self, path: Path) -> None:
        version = tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
        if version < NEEDED:
            raise StoreError(
                f"SQLite {apsw.sqlite_lib_version()} is too old for several writers; 3.51.3 or newer is needed"
            )
        check_name(path)
        self._path = path
        self._wal = path.with_name(f"{path.name}-wal")
        self._posted = 0
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.touch(mode=0o600, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{path} cannot be used: {error.strerror}") from error
        try:
            self._db = apsw.Connection(str(path))
        except apsw.Error as error:
            raise store_error(path, error) from error
        self._transaction = _Transaction(self._db, path)
        try:
            self._prepare()
        except BaseException:
            self._db.close(True)
            raise

    def _prepare(self) -> None:
        self._db.set_busy_timeout(BUSY_MS)
        for pragma in ("journal_mode = wal", "synchronous = full", "foreign_keys = on", "mmap_size = 0"):
            self._rows(f"pragma {pragma}")
        # A reader must not wait for a writer, which may have been stopped in the middle.
        if self._is_current():
            return
        with self._transaction:
            if not self._is_current():
                # A write-ahead log that lost its first pages looks like that of an empty database.
                damage = damage_of_log(self._wal)
                if damage is not None:
                    raise StoreError(f"{self._path} cannot be used: {damage}")
                migrate(self._db, self._path)

    def _is_current(self) -> bool:
        return bool(self._rows("pragma user_version")[0][0] == VERSION)

    def _rows(self, statement: str, values: tuple[Any, ...] = ()) -> list[Any]:
        try:
            return self._db.execute(statement, values).fetchall()
        except (apsw.Error, UnicodeDecodeError) as error:
            raise store_error(self._path, error) from error

    def create(
        self,
        head: RunHead,
        commands: Mapping[str, Mapping[str, Any]] | None = None,
        event: TriggerEvent | None = None,
    ) -> None:
        with self._transaction:
            self._create(head, commands or {})
            if event is not None:
                settle_event(self._db, event, run=head.run)

    def _create(self, head: RunHead, commands: Mapping[str, Mapping[str, Any]]) -> None:
        if self.head(head.run) is not None:
            raise StoreError(f"run {head.run} already exists")
        number: int = self._db.execute("select coalesce(max(number), 0) + 1 from run").get
        own = (number, head.run, head.workflow, head.fingerprint, head.created)
        row = (*own, 0, head.status, head.source)
        self._db.execute("insert into run values (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, sum_of(row)))
        for name, body in commands.items():
            self._post(head.run, name, body)

    def _change(self, run: RunId, *, epoch: int | None = None, status: str | None = None) -> None:
        (row,) = self._db.execute("select * from run where run = ?", (run,))
        *unchanged, old_epoch, old_status, source, _ = row
        values = (
            *unchanged,
            old_epoch if epoch is None else epoch,
            old_status if status is None else status,
            source,
        )
        self._db.execute(
            "update run set epoch = ?, status = ?, sum = ? where run = ?",
            (values[5], values[6], sum_of(values), run),
        )

    def claim(self, run: RunId) -> int:
        with self._transaction:
            epoch = self._existing(run).epoch + 1
            self._change(run, epoch=epoch)
            self._make_room()
        return epoch

    def _make_room(self) -> None:
        """Extend the write-ahead log to its full length with zeros.

        A commit that extends a file also waits for the file system's journal, which takes twice as long. This is safe:
        no other process writes while this transaction is open, existing content is not changed, and SQLite ignores
        frames without a valid checksum.
        """
        # If the disk is full, skip it; a later write then fails with SQLite's own error.
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
        answers: tuple[QueuedCommand, str] | None = None,
        creates: NewRun | None = None,
    ) -> tuple[Record, ...]:
        with self._transaction:
            number, current_epoch, current_status, last_seq, last_hash = self._tail(run, after)
            if epoch != current_epoch:
                raise StaleOwner(f"run {run} now belongs to epoch {current_epoch}, not to {epoch}")
            if after != last_seq:
                raise AppendConflict(f"run {run} has {last_seq} events, not {after}")
            records = links(run, after, last_hash or FIRST_HASH, events, cause=cause)
            first = number << 32
            self._db.executemany(
                "insert into event values (?, ?, ?, ?, ?, ?)",
                [(first + record.seq, *record[2:]) for record in records],
            )
            if status is not None and status != current_status:
                self._change(run, status=status)
            if answers is not None:
                self._answer(*answers)
            if creates is not None:
                self._create(creates.head, creates.commands)
        return records

    def _tail(self, run: RunId, after: int) -> tuple[int, int, str, int, str | None]:
        """What an append needs of its run: number, epoch, status, last event, and the hash of event `after`.

        `head` has the same data but takes six times as long.
        """
        for row in self._db.execute(_TAIL, (after, run)):
            tail: tuple[int, int, str, int, str | None] = row
            return tail
        raise StoreError(f"run {run} does not exist")

    def read(self, run: RunId, *, after: int = 0) -> tuple[Record, ...]:
        rows = self._rows(
            "select run, id & 0xffffffff, cause, type, body, prev, hash from run join event "
            "on id between (number << 32) + 1 + ? and (number << 32) + 0xffffffff where run = ? order by id",
            (after, run),
        )
        return tuple(map(Record._make, rows))

    def head(self, run: RunId) -> RunHead | None:
        rows = self._rows("select * from head where run = ?", (run,))
        return RunHead(*rows[0][1:]) if rows else None

    def heads(self) -> tuple[RunHead, ...]:
        rows = self._rows("select * from head order by created desc, run")
        return tuple(RunHead(*row[1:]) for row in rows)

    def heads_from(self, number: int) -> tuple[tuple[int, RunHead], ...]:
        rows = self._rows("select * from head where number >= ? order by number", (number,))
        return tuple((row[0], RunHead(*row[1:])) for row in rows)

    def set_status(self, run: RunId, status: str) -> None:
        with self._transaction:
            self._existing(run)
            self._change(run, status=status)

    def post(self, run: RunId, name: str, body: Mapping[str, Any]) -> None:
        with self._transaction:
            self._existing(run)
            self._post(run, name, body)

    def _post(self, run: RunId, name: str, body: Mapping[str, Any]) -> None:
        text = json.dumps(body)
        self._db.execute(
            "insert or ignore into letter (run, name, body, sum) values (?, ?, ?, ?)",
            (run, name, text, sum_of((run, name, text, None))),
        )
        self._posted += 1

    def commands(self, run: RunId) -> tuple[QueuedCommand, ...]:
        rows = self._rows(
            "select number, run, name, body from letter where run = ? and reply is null order by number",
            (run,),
        )
        try:
            return tuple(
                QueuedCommand(number, run, name, json.loads(body)) for number, run, name, body in rows
            )
        except ValueError as error:
            raise StoreError(
                f"a queued command of run {run} is damaged: {error}", hint=f"check it: podium verify {run}"
            ) from error

    def answer(self, command: QueuedCommand, reply: str) -> None:
        with self._transaction:
            self._answer(command, reply)

    def _answer(self, command: QueuedCommand, reply: str) -> None:
        rows = self._db.execute(
            "select run, name, body from letter where number = ?", (command.number,)
        ).fetchall()
        for row in rows:
            values = (reply, sum_of((*row, reply)), command.number)
            self._db.execute("update letter set reply = ?, sum = ? where number = ?", values)

    def reply(self, run: RunId, name: str) -> str | None:
        rows = self._rows("select reply from letter where run = ? and name = ?", (run, name))
        return rows[0][0] if rows else None

    def stamp(self) -> int:
        # data_version changes with every commit of another connection and is read from shared memory.
        version: int = self._rows("pragma data_version")[0][0]
        return version + (self._posted << 32)

    def forget(self, run: RunId) -> None:
        with self._transaction:
            self._db.execute("delete from letter where run = ?", (run,))
            number: int | None = self._db.execute("select number from run where run = ?", (run,)).get
            if number is not None:
                own = (number << 32, (number + 1) << 32)
                self._db.execute("delete from event where id > ? and id < ?", own)
            self._db.execute("delete from run where run = ?", (run,))

    def record_events(self, events: Sequence[TriggerEvent], marks: Mapping[tuple[str, str], str]) -> int:
        with self._transaction:
            return insert_events(self._db, events, marks)

    def trigger_events(self, *, since: int | None = None) -> tuple[TriggerEvent, ...]:
        rows = self._rows(WAITING) if since is None else self._rows(SINCE, (since,))
        return tuple(event_of(row) for row in rows)

    def trigger_mark(self, file: str, trigger: str) -> str | None:
        rows = self._rows(MARK, (file, trigger))
        return rows[0][0] if rows else None

    def drop_event(self, event: TriggerEvent, reason: str) -> None:
        with self._transaction:
            settle_event(self._db, event, run=None, reason=reason)

    def damage(self) -> str | None:
        with self._transaction:
            return first_damage(self._db, self._wal)

    def close(self) -> None:
        # Committed data is in the write-ahead log; if it cannot be checkpointed now, nothing is lost.
        with suppress(apsw.Error):
            self._db.close()

    def _existing(self, run: RunId) -> RunHead:
        head = self.head(run)
        if head is None:
            raise StoreError(f"run {run} does not exist")
        return head
