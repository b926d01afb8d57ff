"""The history in a real PostgreSQL server satisfies the same contract as the one in SQLite."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from podium.adapters.history.postgres import PostgresHistory
from podium.adapters.history.sqlite import SqliteHistory
from podium.adapters.history.tables import VERSION
from podium.app.history.transfer import Copied, copy_runs
from podium.errors import ConfigurationError
from podium.ports.history import HistoryError
from podium.testing.history_contract import HistoryContract, some_rows
from podium.views.history.rows import RunRows
from tests.postgres import server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
NUMBERS = itertools.count()
PUSH = """
import sys
from pathlib import Path
from podium.adapters.history.postgres import PostgresHistory
from podium.adapters.history.sqlite import SqliteHistory
from podium.app.history.transfer import copy_runs
source, target = SqliteHistory(Path(sys.argv[1]), read_only=True), PostgresHistory(sys.argv[2], schema=sys.argv[3])
copy_runs(source, target, source.own)
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with server() as started:
        yield started


class TestPostgresHistory(HistoryContract):
    @pytest.fixture(autouse=True)
    def place(self, address: str) -> Iterator[None]:
        self.address, self.schema = address, f"s{next(NUMBERS)}"
        self.opened: list[PostgresHistory] = []
        yield
        for store in self.opened:
            store.close()

    def make(self) -> PostgresHistory:
        store = PostgresHistory(self.address, schema=self.schema)
        self.opened.append(store)
        return store

    def local(self, folder: Path, runs: int) -> SqliteHistory:
        history = SqliteHistory(folder / "history.db", name="here")
        for number in range(runs):
            history.put(history.own, some_rows(f"run-{number}"))
        return history

    def test_several_processes_that_push_at_once_give_the_same_rows(self, tmp_path: Path) -> None:
        source = self.local(tmp_path, 60)
        words = (sys.executable, "-c", PUSH, str(tmp_path / "history.db"), self.address, self.schema)

        pushers = [subprocess.Popen(words, stderr=subprocess.PIPE) for _ in range(4)]
        errors = [pusher.communicate()[1] for pusher in pushers]

        assert [pusher.returncode for pusher in pushers] == [0] * 4, errors
        target = self.make()
        marks = target.marks(source.own)
        assert marks == source.marks(source.own)
        for run in marks:
            assert target.get(source.own, run) == source.get(source.own, run)
        source.close()

    def test_pushing_again_copies_only_what_is_new(self, tmp_path: Path) -> None:
        source, target = self.local(tmp_path, 3), self.make()

        assert copy_runs(source, target, source.own) == Copied(source.own, 3, 0)
        assert copy_runs(source, target, source.own) == Copied(source.own, 0, 3)
        source.put(source.own, some_rows("run-1", seq=9))
        assert copy_runs(source, target, source.own) == Copied(source.own, 1, 2)
        source.close()

    def test_a_server_that_goes_away_leaves_whole_runs(self, tmp_path: Path) -> None:
        """Its connection is ended in the middle, as a restart of the server does."""
        source, target = self.local(tmp_path, 20), self.make()
        count = 0

        def end_connection(rows: RunRows) -> RunRows:
            nonlocal count
            count += 1
            if count == 8:
                with psycopg.connect(self.address, autocommit=True) as other:
                    other.execute(
                        "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()"
                    )
            return rows

        with pytest.raises(HistoryError, match="cannot be used"):
            copy_runs(source, target, source.own, hide=end_connection)

        again = self.make()
        assert len(again.marks(source.own)) == 7
        copy_runs(source, again, source.own)
        assert again.marks(source.own) == source.marks(source.own)
        source.close()

    def test_a_newer_version_of_the_tables_is_refused(self) -> None:
        self.make()
        with psycopg.connect(self.address, autocommit=True) as db:
            db.execute(f"update {self.schema}.meta set value = '9' where key = 'version'")

        with pytest.raises(
            HistoryError, match=f"has version 9 of the history; this version of Podium knows {VERSION}"
        ):
            self.make()

    def test_the_store_is_used_by_a_user_without_rights(self) -> None:
        with psycopg.connect(self.address) as db:
            rows = db.execute("select pg_backend_pid()").fetchall()
        owner = Path(f"/proc/{rows[0][0]}").stat().st_uid if rows else 0

        assert owner != 0 or os.geteuid() != 0


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:hunter2@db/podium",
        "host=db password=hunter2",
        "postgresql://db/podium?password=hunter2",
    ],
)
def test_an_address_with_a_password_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        PostgresHistory(address)

    assert "hunter2" not in raised.value.message
    assert "PGPASSWORD" in str(raised.value.hint)


@pytest.mark.parametrize("address", ["hunter2 nonsense", "postgresql://[hunter2"])
def test_an_address_that_cannot_be_read_is_not_repeated(address: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read") as raised:
        PostgresHistory(address)

    assert "hunter2" not in raised.value.message


def test_a_server_that_is_not_there_is_named() -> None:
    with pytest.raises(HistoryError, match="the database shop at /nowhere cannot be used"):
        PostgresHistory("postgresql:///shop?host=/nowhere")
