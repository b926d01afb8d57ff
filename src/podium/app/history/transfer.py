"""Copies the history: rows of other projects into it, and all its tables into files for other programs."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from podium.errors import ConfigurationError
from podium.ports.history import HistoryProject, HistoryStore, LocalHistory
from podium.views.history.rows import RunRows

Format: TypeAlias = Literal["csv", "jsonl", "parquet", "duckdb"]
People: TypeAlias = Literal["names", "hashed", "none"]
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""What makes a spreadsheet compute a cell."""


class Copied(NamedTuple):
    project: HistoryProject
    new: int
    """Runs that were not there, or had fewer events."""
    same: int


def copy_runs(
    source: HistoryStore,
    target: HistoryStore,
    project: HistoryProject,
    *,
    hide: Callable[[RunRows], RunRows] | None = None,
) -> Copied:
    """Copy the rows of a project's runs where the source has more; copying again changes nothing."""
    there = target.marks(project)
    new = same = 0
    for run, mark in source.marks(project).items():
        before = there.get(run)
        if before is not None and (before.seq, before.version, before.only_copy) == (
            mark.seq,
            mark.version,
            mark.only_copy,
        ):
            same += 1
            continue
        stored = source.get(project, run)
        if stored is None:
            continue
        if stored.rows.sum != mark.digest:
            raise ConfigurationError(
                f"the rows of run {run} have been altered", hint="see: podium history check"
            )
        rows = stored.rows if hide is None else hide(stored.rows)
        changed = target.put(project, rows, only_copy=mark.only_copy)
        new, same = new + changed, same + (not changed)
    return Copied(project, new, same)


def with_people(rows: RunRows, people: People) -> RunRows:
    """The rows with the names of those who answered as they are, hashed, or left out."""
    if people == "names":
        return rows
    answers = [
        row._replace(who=_hidden(row.who) if people == "hashed" else None) for row in rows.tables["answer"]
    ]
    return RunRows(rows.run, {**rows.tables, "answer": tuple(answers)})


def _hidden(name: str | None) -> str | None:
    return None if name is None else hashlib.sha256(name.encode()).hexdigest()[:12]


def export(history: LocalHistory, folder: Path, form: Format) -> tuple[Path, ...]:
    """Write each table into a file of a new folder."""
    if folder.exists() and any(folder.iterdir()):
        raise ConfigurationError(f"{folder} is not empty", hint="name a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    if form in ("parquet", "duckdb"):
        # Imported here: it is an extra.
        from podium.adapters.history.duckdb_files import convert

        with TemporaryDirectory() as lines:
            _write_tables(history, Path(lines), "jsonl")
            return convert(Path(lines), folder, parquet=form == "parquet")
    return _write_tables(history, folder, form)


def _write_tables(history: LocalHistory, folder: Path, form: Format) -> tuple[Path, ...]:
    paths = []
    for name, columns, rows in history.tables():
        path = folder / f"{name}.{form}"
        write = _write_csv if form == "csv" else _write_jsonl
        write(path, columns, rows)
        paths.append(path)
    return tuple(paths)


def _write_csv(path: Path, columns: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_cell(value) for value in row] for row in rows)


def _cell(value: Any) -> Any:
    """A text that a spreadsheet would compute becomes one that it shows."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _write_jsonl(path: Path, columns: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) + "\n")
