"""Facts about files in an SQLite file of their own in the user's cache folder; it may be deleted at any time.

A file that cannot be read or written is a slower pack, never a failed one: its facts are then chosen in memory.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import apsw

from podium.context.cache import SAMPLES, FactCache, MemoryFacts
from podium.context.facts import FileFacts, decode_facts, encode_facts

SCHEMA_VERSION: Final = 2
BUSY_MS: Final = 2_000
KEEP_DAYS: Final = 90
HISTORIES: Final = 20
_SCHEMA: Final = """
create table fact(id integer primary key, key text not null unique, seen int not null, body blob not null);
create table word(word text not null, fact int not null, n int not null, primary key(word, fact)) without rowid;
create table usage(id integer primary key, model text not null, estimated int not null, reported int not null);
create table history(name text primary key, at int not null, body blob not null) without rowid;
"""


@contextmanager
def open_code_facts(path: Path) -> Iterator[FactCache]:
    """The cache in this file; one in memory if the file cannot be used."""
    try:
        cache = CodeFacts(path)
    except (apsw.Error, OSError):
        yield MemoryFacts()
        return
    try:
        yield _Forgiving(cache)
    finally:
        cache.close()


class CodeFacts:
    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600, exist_ok=True)
        self._db = apsw.Connection(str(path))
        try:
            self._db.set_busy_timeout(BUSY_MS)
            for pragma in ("journal_mode = wal", "synchronous = normal"):
                self._db.execute(f"pragma {pragma}").fetchall()
            self._migrate()
        except BaseException:
            self._db.close(True)
            raise

    def close(self) -> None:
        self._db.close(True)

    def load(self, keys: Collection[str]) -> dict[str, FileFacts]:
        # One reading of the whole table is quicker than thousands of look-ups; a small request looks up.
        if len(keys) <= 200:
            rows = self._some("select key, body from fact where key in", list(keys))
        else:
            rows = self._db.execute("select key, body from fact")
        needed = frozenset(keys)
        return {str(key): decode_facts(body) for key, body in rows if key in needed}

    def add(self, facts: Mapping[str, FileFacts]) -> None:
        now = _today()
        with self._db:
            for key, fact in facts.items():
                self._db.execute(
                    "insert or ignore into fact(key, seen, body) values(?, ?, ?)",
                    (key, now, encode_facts(fact)),
                )
                if self._db.changes():
                    number = self._db.last_insert_rowid()
                    self._db.executemany(
                        "insert or ignore into word values(?, ?, ?)",
                        [(word, number, n) for word, n in fact.words.items()],
                    )
            self._forget(now)

    def postings(self, words: Iterable[str], keys: Collection[str]) -> dict[str, dict[str, int]]:
        needed = frozenset(keys)
        result: dict[str, dict[str, int]] = {}
        for word in sorted(set(words)):
            rows = self._db.execute(
                "select fact.key, word.n from word join fact on fact.id = word.fact where word.word = ?",
                (word,),
            )
            result[word] = {str(key): int(n) for key, n in rows if key in needed}
        return result

    def history(self, name: str) -> bytes | None:
        for (body,) in self._db.execute("select body from history where name = ?", (name,)):
            return bytes(body)
        return None

    def keep_history(self, name: str, data: bytes) -> None:
        with self._db:
            self._db.execute("insert or replace into history values(?, ?, ?)", (name, time.time_ns(), data))
            self._db.execute(
                "delete from history where name not in (select name from history order by at desc limit ?)",
                (HISTORIES,),
            )

    def add_usage(self, model: str, estimated: int, reported: int) -> None:
        with self._db:
            self._db.execute(
                "insert into usage(model, estimated, reported) values(?, ?, ?)", (model, estimated, reported)
            )
            self._db.execute(
                "delete from usage where model = ?1 and id not in "
                "(select id from usage where model = ?1 order by id desc limit ?2)",
                (model, SAMPLES),
            )

    def usage(self, model: str) -> tuple[tuple[int, int], ...]:
        rows = self._db.execute("select estimated, reported from usage where model = ? order by id", (model,))
        return tuple((int(estimated), int(reported)) for estimated, reported in rows)

    def _forget(self, now: int) -> None:
        """Drop what was added long ago; what is still needed is read again."""
        old = [row[0] for row in self._db.execute("select id from fact where seen < ?", (now - KEEP_DAYS,))]
        for number in old:
            self._db.execute("delete from word where fact = ?", (number,))
            self._db.execute("delete from fact where id = ?", (number,))

    def _some(self, statement: str, values: list[str]) -> Iterator[Any]:
        marks = ", ".join("?" * len(values))
        return self._db.execute(f"{statement} ({marks})", values)

    def _migrate(self) -> None:
        if self._version() == SCHEMA_VERSION:
            return
        with self._db:
            if self._version() == SCHEMA_VERSION:
                return
            for name in ("word", "fact", "history", "usage"):
                self._db.execute(f"drop table if exists {name}")
            self._db.execute(_SCHEMA)
            self._db.execute(f"pragma user_version = {SCHEMA_VERSION}")

    def _version(self) -> int:
        rows: list[Any] = self._db.execute("pragma user_version").fetchall()
        return int(rows[0][0])


class _Forgiving:
    """The file as long as it works; after the first fault, memory."""

    def __init__(self, cache: CodeFacts) -> None:
        self._cache: CodeFacts | None = cache
        self._memory = MemoryFacts()

    def load(self, keys: Collection[str]) -> dict[str, FileFacts]:
        matching = self._memory.load(keys)
        with self._guard():
            if self._cache is not None:
                matching |= self._cache.load([key for key in keys if key not in matching])
        return matching

    def add(self, facts: Mapping[str, FileFacts]) -> None:
        done = False
        with self._guard():
            if self._cache is not None:
                self._cache.add(facts)
                done = True
        if not done:
            self._memory.add(facts)

    def postings(self, words: Iterable[str], keys: Collection[str]) -> dict[str, dict[str, int]]:
        every = tuple(words)
        matching = self._memory.postings(every, keys)
        with self._guard():
            if self._cache is not None:
                for word, counts in self._cache.postings(every, keys).items():
                    matching.setdefault(word, {}).update(counts)
        return matching

    def history(self, name: str) -> bytes | None:
        with self._guard():
            if self._cache is not None:
                return self._cache.history(name)
        return self._memory.history(name)

    def keep_history(self, name: str, data: bytes) -> None:
        with self._guard():
            if self._cache is not None:
                self._cache.keep_history(name, data)

    def add_usage(self, model: str, estimated: int, reported: int) -> None:
        with self._guard():
            if self._cache is not None:
                self._cache.add_usage(model, estimated, reported)

    def usage(self, model: str) -> tuple[tuple[int, int], ...]:
        with self._guard():
            if self._cache is not None:
                return self._cache.usage(model)
        return ()

    @contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            yield
        except (apsw.Error, ValueError, OSError):
            self._cache = None


def _today() -> int:
    return int(time.time() // 86_400)
