"""The contract of stores for the history: subclass it and define `make`; pytest runs the suite."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from podium.core.hash_chain import RunId
from podium.ports.history import HistoryBusy, HistoryProject, HistoryStore
from podium.views.history.rows import TABLES, RunRow, RunRows, column_types

SHOP = HistoryProject("a1", "shop")
BLOG = HistoryProject("b2", "blog")


def some_row(kind: Any, **values: Any) -> Any:
    """A row with a value in each column; numbers do not fit into 32 bits."""
    made = {int: 1_800_000_000_000, float: 0.1 + 0.2, str: "ünï'\"\n"}
    return kind(**{name: values.get(name, made[each]) for name, (each, _) in column_types(kind).items()})


def some_rows(run: str = "r1", *, seq: int = 3, words: int | None = 7) -> RunRows:
    """The rows of a run, with one row in each table, and values that are missing."""
    tables = {
        name: (some_row(table.row, **({"words": words} if "words" in table.columns else {})),)
        for name, table in TABLES.items()
    }
    empty = dict.fromkeys(name for name, (_, optional) in column_types(RunRow).items() if optional)
    return RunRows(some_row(RunRow, run=run, seq=seq, status="passed", **empty), tables)


class HistoryContract:
    def make(self) -> HistoryStore:
        """A store; all that a test makes have the same rows."""
        raise NotImplementedError

    @pytest.fixture
    def store(self) -> HistoryStore:
        return self.make()

    def test_rows_come_back_as_they_were_put(self, store: HistoryStore) -> None:
        rows = some_rows()

        assert store.put(SHOP, rows)
        stored = store.get(SHOP, RunId("r1"))

        assert stored is not None
        assert stored.rows == rows
        assert stored.mark.digest == rows.sum == stored.rows.sum
        assert store.marks(SHOP) == {"r1": stored.mark}

    def test_putting_the_same_rows_again_changes_nothing(self, store: HistoryStore) -> None:
        assert store.put(SHOP, some_rows())
        assert not store.put(SHOP, some_rows())
        assert len(store.marks(SHOP)) == 1

    def test_newer_rows_replace_older_ones_and_never_the_other_way(self, store: HistoryStore) -> None:
        older, newer = some_rows(seq=3, words=None), some_rows(seq=4)
        store.put(SHOP, newer)

        assert not store.put(SHOP, older)
        assert not store.put(SHOP, older, force=True)
        assert store.get(SHOP, RunId("r1")).rows == newer  # type: ignore[union-attr]
        assert store.put(SHOP, some_rows(seq=5))

    def test_rows_that_are_the_only_copy_stay_marked(self, store: HistoryStore) -> None:
        store.put(SHOP, some_rows())
        assert store.put(SHOP, some_rows(), only_copy=True)
        assert not store.put(SHOP, some_rows())
        assert store.put(SHOP, some_rows(), force=True)

        assert store.marks(SHOP)[RunId("r1")].only_copy

    def test_projects_do_not_mix(self, store: HistoryStore) -> None:
        before = len(store.projects())
        store.put(SHOP, some_rows("one"))
        store.put(BLOG, some_rows("one", seq=9))
        store.put(BLOG, some_rows("two"))

        assert store.projects()[before:] == (SHOP, BLOG)
        assert [mark.seq for mark in store.marks(SHOP).values()] == [3]
        assert sorted(store.marks(BLOG)) == ["one", "two"]
        assert store.get(SHOP, RunId("two")) is None
        assert store.marks(HistoryProject("c3", "other")) == {}

    def test_several_writers_at_once_give_the_same_rows_as_one(self, store: HistoryStore) -> None:
        store.put(SHOP, some_rows("run-0"))

        def write(_: int) -> None:
            own = self.make()
            for number in range(20):
                while True:
                    try:
                        own.put(SHOP, some_rows(f"run-{number}"))
                        break
                    except HistoryBusy:
                        continue

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(write, range(4)))

        marks = store.marks(SHOP)
        assert sorted(marks) == sorted(f"run-{number}" for number in range(20))
        for run, mark in marks.items():
            stored = store.get(SHOP, run)
            assert stored is not None
            assert stored.rows.sum == mark.digest == some_rows(run).sum
