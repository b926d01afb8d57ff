"""Every built-in store satisfies the contract; the durable one also survives damage to its files."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from podium.adapters.stores.memory import MemoryStore
from podium.adapters.stores.sqlite import ROOM, SqliteStore
from podium.core.hash_chain import first_fault
from podium.errors import ConfigurationError
from podium.ports.store import Store, StoreError
from podium.testing.store_contract import RUN, StoreContract, run_head


class TestMemoryStore(StoreContract):
    def make(self) -> Store:
        return MemoryStore()


class TestSqliteStore(StoreContract):
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> Iterator[None]:
        self.path = tmp_path / ".podium" / "podium.db"
        self.opened: list[SqliteStore] = []
        yield
        for store in self.opened:
            store.close()

    def make(self) -> Store:
        store = SqliteStore(self.path)
        self.opened.append(store)
        return store

    def test_another_process_reads_committed_events(self, owned: tuple[Store, int]) -> None:
        """R145"""
        store, epoch = owned
        store.append(RUN, [("A", "1")], after=0, epoch=epoch, cause="m")

        other = self.make()
        other.post(RUN, "hello", {"by": "other"})

        assert other.read(RUN) == store.read(RUN)
        assert [command.name for command in store.commands(RUN)] == ["hello"]

    def test_a_reader_does_not_wait_for_a_writer(self, owned: tuple[Store, int]) -> None:
        """A stopped writer keeps its transaction open."""
        store, epoch = owned
        store.append(RUN, [("A", "1")], after=0, epoch=epoch, cause="m")
        writer = apsw.Connection(str(self.path))
        writer.execute("begin immediate")

        other = self.make()
        seen = [head.run for head in other.heads()], other.read(RUN), other.commands(RUN)

        writer.execute("rollback")
        writer.close()
        assert seen == ([RUN], store.read(RUN), ())

    def test_only_the_user_may_read_the_files(self, store: Store) -> None:
        assert self.path.stat().st_mode & 0o777 == 0o600
        assert self.path.parent.stat().st_mode & 0o777 == 0o700

    def test_a_file_that_is_not_a_database_is_refused_and_not_changed(self, tmp_path: Path) -> None:
        path = tmp_path / "x.db"
        path.write_bytes(b"this is not a database, but somebody's notes" * 30)
        before = path.read_bytes()

        with pytest.raises(StoreError, match="cannot be used"):
            SqliteStore(path)

        assert path.read_bytes() == before

    def test_a_newer_database_is_refused(self, store: Store, tmp_path: Path) -> None:
        apsw.Connection(str(self.path)).execute("pragma user_version = 99")

        with pytest.raises(StoreError, match="version 99"):
            SqliteStore(self.path)

    def test_claiming_a_run_extends_the_write_ahead_log(self, owned: tuple[Store, int]) -> None:
        """So that no commit waits for the file to grow; the next owner loses nothing."""
        store, epoch = owned
        wal = self.path.with_name("podium.db-wal")
        lengths = [wal.stat().st_size]
        for turn in range(400):
            store.append(RUN, [("A", f'"{turn}"' * 100)], after=turn, epoch=epoch, cause="m")
            lengths.append(wal.stat().st_size)
        other = self.make()

        assert other.claim(RUN) == epoch + 1

        assert set(lengths) == {ROOM}
        assert [record.seq for record in self.make().read(RUN)] == list(range(1, 401))
        assert apsw.Connection(str(self.path)).pragma("integrity_check") == "ok"

    def test_a_write_ahead_log_that_cannot_be_extended_still_works(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.create(run_head())
        monkeypatch.setattr(store, "_wal", self.path.parent / "no such folder" / "wal")

        epoch = store.claim(RUN)

        assert store.append(RUN, [("A", "1")], after=0, epoch=epoch, cause="m")[0].seq == 1

    @pytest.mark.parametrize(
        ("change", "fault"),
        [
            ("update event set body = '9' where id & 0xffffffff = 2", "event 2 has been altered"),
            ("delete from event where id & 0xffffffff = 2", "event 2 is missing"),
            (
                "update event set prev = hash where id & 0xffffffff = 2",
                "event 2 does not follow event 1",
            ),
        ],
    )
    def test_a_change_in_the_database_shows_in_the_chain(
        self, owned: tuple[Store, int], change: str, fault: str
    ) -> None:
        store, epoch = owned
        store.append(RUN, [("A", "1"), ("B", "2"), ("C", "3")], after=0, epoch=epoch, cause="m")

        apsw.Connection(str(self.path)).execute(change)

        assert first_fault(store.read(RUN)) == fault

    def test_parallel_writers_lose_nothing(self, owned: tuple[Store, int]) -> None:
        """Processes queue commands while the owner appends: no "database is locked", nothing twice."""
        store, epoch = owned
        script = (
            "import sys; from pathlib import Path; from podium.adapters.stores.sqlite import ROOM, SqliteStore\n"
            "store = SqliteStore(Path(sys.argv[1]))\n"
            "for n in range(25): store.post(sys.argv[2], f'{sys.argv[3]}-{n}', {'n': n})\n"
        )
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        writers = [
            subprocess.Popen([sys.executable, "-c", script, str(self.path), RUN, f"w{n}"], env=env)
            for n in range(3)
        ]
        for number in range(50):
            store.append(RUN, [("A", str(number))], after=number, epoch=epoch, cause="m")

        assert [writer.wait(60) for writer in writers] == [0, 0, 0]
        assert len(store.commands(RUN)) == 75
        assert first_fault(store.read(RUN)) is None

    def test_a_path_that_is_not_utf8_is_refused_and_not_changed(self, tmp_path: Path) -> None:
        folder = tmp_path / os.fsdecode(b"caf\xe9")

        with pytest.raises(
            ConfigurationError, match=r"caf\ufffd/podium.db has bytes in its path that are not UTF-8"
        ):
            SqliteStore(folder / "podium.db")

        assert not folder.exists()

    def test_every_acknowledged_event_survives_a_kill(self, store: Store) -> None:
        """R149: the writer is killed with SIGKILL while it appends."""
        store.create(run_head())
        script = (
            "import sys; from pathlib import Path; from podium.adapters.stores.sqlite import ROOM, SqliteStore\n"
            "store = SqliteStore(Path(sys.argv[1])); epoch = store.claim(sys.argv[2])\n"
            "for n in range(10_000):\n"
            "    store.append(sys.argv[2], [('A', str(n))], after=n, epoch=epoch, cause='m')\n"
            "    print(n, flush=True)\n"
        )
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-c", script, str(self.path), RUN]
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            told = [writer.stdout.readline() for _ in range(40)]
            writer.kill()
            told += writer.stdout.readlines()
        acknowledged = int(told[-1])

        records = self.make().read(RUN)

        assert len(records) >= acknowledged + 1
        assert first_fault(records) is None
