"""The history is copied to and from other projects, and into files for other programs."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from podium.adapters.history.sqlite import SqliteHistory
from podium.app.history.transfer import Copied, copy_runs, export, with_people
from podium.errors import ConfigurationError
from podium.testing.history_contract import some_rows
from podium.views.history.rows import TABLES


@pytest.fixture
def history(tmp_path: Path) -> Iterator[SqliteHistory]:
    made = SqliteHistory(tmp_path / "history.db", name="here")
    made.put(made.own, some_rows("r1"))
    made.put(made.own, some_rows("=cmd()"))
    yield made
    made.close()


def test_each_table_is_a_csv_file_that_a_spreadsheet_does_not_compute(
    history: SqliteHistory, tmp_path: Path
) -> None:
    paths = export(history, tmp_path / "out", "csv")

    assert [path.stem for path in paths] == ["project", "run", *TABLES, "label"]
    with (tmp_path / "out" / "run.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["run"] for row in rows] == ["r1", "'=cmd()"]
    assert rows[0]["started"] == "1800000000000"
    assert rows[0]["score"] == ""


def test_json_lines_have_the_values_as_they_are(history: SqliteHistory, tmp_path: Path) -> None:
    export(history, tmp_path / "out", "jsonl")

    rows = [json.loads(line) for line in (tmp_path / "out/visit.jsonl").read_text("utf-8").splitlines()]
    assert rows[0]["path"] == "ünï'\"\n"
    assert rows[0]["score"] == 0.1 + 0.2


@pytest.mark.parametrize("form", ["parquet", "duckdb"])
def test_other_programs_read_the_same_values(history: SqliteHistory, tmp_path: Path, form: str) -> None:
    out = tmp_path / "it's out"
    paths = export(history, out, form)  # type: ignore[arg-type]

    with duckdb.connect(":memory:" if form == "parquet" else str(paths[0])) as db:
        for name, columns, rows in history.tables():
            source = f"'{out / name}.parquet'".replace("it's", "it''s") if form == "parquet" else name
            read = db.execute(f"select {', '.join(columns)} from {source}").fetchall()
            assert sorted(read, key=repr) == sorted(rows, key=repr), name


def test_a_folder_with_files_is_not_written_into(history: SqliteHistory, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="is not empty"):
        export(history, tmp_path, "csv")


def test_runs_of_another_project_are_copied_once(history: SqliteHistory, tmp_path: Path) -> None:
    other = SqliteHistory(tmp_path / "other.db", name="there")

    assert copy_runs(history, other, history.own) == Copied(history.own, 2, 0)
    assert copy_runs(history, other, history.own) == Copied(history.own, 0, 2)
    assert other.marks(history.own) == history.marks(history.own)
    assert other.marks(other.own) == {}
    other.close()


def test_the_names_of_people_can_be_left_out() -> None:
    rows = some_rows()
    (name,) = [row.who for row in rows.tables["answer"]]

    assert with_people(rows, "names") == rows
    (hashed,) = [row.who for row in with_people(rows, "hashed").tables["answer"]]
    assert len(hashed) == 12
    assert name not in hashed
    assert [row.who for row in with_people(rows, "none").tables["answer"]] == [None]
