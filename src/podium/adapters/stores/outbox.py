"""The outbox of a project in an SQLite file of its own."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import apsw

from podium.adapters.stores.sqlite_errors import store_error
from podium.core.hash_chain import RunId
from podium.core.types import Millis
from podium.ports.channel import ChannelMessage
from podium.ports.outbox import OutgoingMessage, StoredMessage

SCHEMA: Final = Path(__file__).with_name("outbox.sql")
SCHEMA_VERSION: Final = 1
BUSY_MS: Final = 10_000
KEEP_MS: Final = 90 * 86_400_000
"""How long messages are kept that were sent, failed or withdrawn."""
_DUE: Final = "select * from message where state = 'queued' and due <= ? order by number"
_NEWEST: Final = "select * from message order by number desc limit ?"


class SqliteOutbox:
    """An `Outbox`. Every method is one transaction, and several processes may use the file at once."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600, exist_ok=True)
        try:
            self._db = apsw.Connection(str(path))
            try:
                self._db.set_busy_timeout(BUSY_MS)
                for pragma in ("journal_mode = wal", "synchronous = normal"):
                    self._db.execute(f"pragma {pragma}").fetchall()
                self._create()
            except BaseException:
                self._db.close(True)
                raise
        except apsw.Error as error:
            raise store_error(path, error) from error

    def close(self) -> None:
        self._db.close(True)

    def seen(self, run: RunId) -> int | None:
        for (seq,) in self._db.execute("select seq from seen where run = ?", (run,)):
            return int(seq)
        return None

    def add(
        self, run: RunId, seen: int, messages: Sequence[OutgoingMessage], *, answered: Collection[str] = ()
    ) -> int:
        new = 0
        with self._transaction():
            self._db.execute(
                "insert into seen values(?1, ?2) on conflict(run) do update set seq = max(seq, ?2)",
                (run, seen),
            )
            for message in messages:
                new += self._insert(message)
            self._db.executemany(
                "update message set state = 'withdrawn', reason = 'answered before it was sent' "
                "where question = ? and run = ? and state = 'queued'",
                [(question, run) for question in answered],
            )
            if messages:
                oldest = messages[0].message.at - KEEP_MS
                self._db.execute(
                    "delete from message where changed < ? and state not in ('queued', 'sending')", (oldest,)
                )
        return new

    def _insert(self, outgoing: OutgoingMessage) -> int:
        message = outgoing.message
        data = json.dumps(dict(message.data), ensure_ascii=False)
        facts = (message.id, outgoing.run, outgoing.question, outgoing.channel, message.kind, message.at)
        texts = (outgoing.due, message.title, message.body, data, message.at)
        self._db.execute(
            "insert or ignore into message(id, run, question, channel, kind, at, due, title, body, data, changed) "
            "values(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*facts, *texts),
        )
        return int(self._db.changes())

    def due(self, now: Millis) -> tuple[StoredMessage, ...]:
        return tuple(_stored(row) for row in self._db.execute(_DUE, (now,)))

    def next_due(self) -> Millis | None:
        due = self._db.execute("select min(due) from message where state = 'queued'").get
        return None if due is None else Millis(due)

    def begin(self, ids: Collection[str], *, batch: str, now: Millis) -> None:
        with self._transaction():
            self._db.executemany(
                "update message set state = 'sending', tries = tries + 1, batch = ?, changed = ? where id = ?",
                [(batch, now, each) for each in ids],
            )

    def finish(self, ids: Collection[str], *, now: Millis) -> None:
        with self._transaction():
            self._db.executemany(
                "update message set state = 'sent', reason = '', changed = ? where id = ?",
                [(now, each) for each in ids],
            )

    def fail(self, ids: Collection[str], reason: str, *, retry_at: Millis | None, now: Millis) -> None:
        with self._transaction():
            self._db.executemany(
                "update message set state = ?, due = coalesce(?, due), reason = ?, changed = ? where id = ?",
                [("failed" if retry_at is None else "queued", retry_at, reason, now, each) for each in ids],
            )

    def recover(self) -> None:
        with self._transaction():
            self._db.execute("update message set state = 'queued' where state = 'sending'")

    def messages(self, *, limit: int) -> tuple[StoredMessage, ...]:
        return tuple(_stored(row) for row in self._db.execute(_NEWEST, (limit,)))

    def look(self, viewer: str, until: Millis) -> None:
        with self._transaction():
            self._db.execute("insert or replace into viewer values(?, ?)", (viewer, until))

    def is_watched(self, now: Millis) -> bool:
        rows: Iterable[Any] = self._db.execute("select 1 from viewer where until > ? limit 1", (now,))
        return any(True for _ in rows)

    def _transaction(self) -> _Transaction:
        return _Transaction(self._db)

    def _create(self) -> None:
        if self._version() == SCHEMA_VERSION:
            return
        with self._transaction():
            # Another process may have been quicker.
            if self._version() != SCHEMA_VERSION:
                self._db.execute(SCHEMA.read_text("utf-8"))
                self._db.execute(f"pragma user_version = {SCHEMA_VERSION}")

    def _version(self) -> int:
        return int(self._db.execute("pragma user_version").get)


class _Transaction:
    """Takes the write lock at its start: a transaction that begins by reading could be refused later."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def __enter__(self) -> None:
        self._db.execute("begin immediate")

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        self._db.execute("commit" if error is None else "rollback")


def _stored(row: Any) -> StoredMessage:
    _, name, run, question, channel, kind, at, due, title, body, data, *rest = row
    state, tries, batch, changed, reason = rest
    message = ChannelMessage(name, kind, title, body, json.loads(data), Millis(at))
    outgoing = OutgoingMessage(message, channel, RunId(run), Millis(due), question)
    return StoredMessage(outgoing, state, tries, batch, Millis(changed), reason)
