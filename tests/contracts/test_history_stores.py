"""Every store for the history satisfies the contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from podium.adapters.history.sqlite import SqliteHistory
from podium.adapters.history.tables import VERSION
from podium.core.hash_chain import RunId
from podium.ports.history import HistoryBusy, HistoryError
from podium.testing.history_contract import SHOP, HistoryContract, some_rows
from podium.views.history.rows import ADDED, RunRows


class TestSqliteHistory(HistoryContract):
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> Iterator[None]:
        self.path = tmp_path / ".podium" / "history.db"
        self.opened: list[SqliteHistory] = []
        yield
        for store in self.opened:
            store.close()

    def make(self) -> SqliteHistory:
        store = SqliteHistory(self.path, name="here")
        self.opened.append(store)
        return store

    def test_a_project_has_the_same_random_id_whenever_it_is_opened(self, tmp_path: Path) -> None:
        first, second = self.make().own, self.make().own
        other = SqliteHistory(tmp_path / "other.db")
        self.opened.append(other)

        assert first == second
        assert first.name == "here"
        assert other.own.id != first.id

    def test_a_reader_does_not_wait_for_a_writer(self) -> None:
        store = self.make()
        store.put(SHOP, some_rows())
        writer = apsw.Connection(str(self.path))
        writer.execute("begin immediate")

        assert len(self.make().marks(SHOP)) == 1
        with pytest.raises(HistoryBusy):
            store.put(SHOP, some_rows("two"))
        writer.execute("rollback")
        assert store.put(SHOP, some_rows("two"))

    def test_a_database_of_a_newer_version_is_refused(self) -> None:
        self.make().close()
        db = apsw.Connection(str(self.path))
        db.execute("pragma user_version = 99")
        db.close()

        with pytest.raises(HistoryError, match=f"has version 99; this version of Podium reads {VERSION}"):
            self.make()

    def test_rows_of_version_1_keep_their_hash_in_newer_tables(self) -> None:
        """Rows without a log cannot be made again, so an upgrade must leave them as they are."""
        store = self.make()
        old = _of_version_1(some_rows())
        store.put(SHOP, old, only_copy=True)
        before = store.get(SHOP, RunId("r1"))
        store.close()
        db = apsw.Connection(str(self.path))
        for statement in (
            "alter table attempt drop column prompt",
            "alter table answer drop column how",
            "drop table choice",
            "drop table trial",
            "drop table label",
            "pragma user_version = 1",
        ):
            db.execute(statement)
        db.close()

        with pytest.raises(HistoryError, match="has version 1; this version of Podium reads"):
            SqliteHistory(self.path, read_only=True)
        after = self.make().get(SHOP, RunId("r1"))

        assert after == before
        assert after is not None
        assert after.rows.sum == after.mark.digest

    def test_a_file_that_is_no_database_is_refused_with_the_way_out(self) -> None:
        self.path.parent.mkdir()
        self.path.write_bytes(b"no database at all" * 100)

        with pytest.raises(HistoryError, match="cannot be used") as raised:
            self.make()
        assert raised.value.hint is not None
        assert "move history.db away" in raised.value.hint


def _of_version_1(rows: RunRows) -> RunRows:
    tables = {
        name: tuple(row._replace(**dict.fromkeys(ADDED.get(name, ()))) for row in table)
        for name, table in rows.tables.items()
    }
    return RunRows(rows.run, {**tables, "choice": (), "trial": ()})
