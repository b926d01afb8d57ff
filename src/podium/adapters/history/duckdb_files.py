"""The history as files for programs that analyse data: one DuckDB database, or a Parquet file for each table."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from podium.adapters.history.tables import STORED
from podium.errors import ConfigurationError

try:
    import duckdb
except ImportError as error:
    raise ConfigurationError(
        "Parquet and DuckDB need the extra `export`", hint='pip install "podium[export]"'
    ) from error

DATABASE: Final = "history.duckdb"
_TYPES: Final[dict[type, str]] = {int: "BIGINT", float: "DOUBLE", str: "VARCHAR"}


def convert(lines: Path, folder: Path, *, parquet: bool) -> tuple[Path, ...]:
    """Convert the tables, which are JSON lines in one folder, into files of another.

    DuckDB's own reader of SQLite has to be downloaded, so it is not used.
    """
    database = folder / DATABASE
    paths = []
    with duckdb.connect(":memory:" if parquet else str(database)) as db:
        for table in STORED:
            source = lines / f"{table.name}.jsonl"
            if not source.exists():
                continue
            columns = {name: _TYPES[kind] for name, (kind, _) in table.columns.items()}
            db.execute(
                f"create table {table.name} as select * from "  # noqa: S608 (names of tables)
                "read_json($file, format = 'newline_delimited', columns = $columns)",
                {"file": str(source), "columns": columns},
            )
            if parquet:
                path = folder / f"{table.name}.parquet"
                name = str(path).replace("'", "''")
                db.execute(f"copy {table.name} to '{name}' (format parquet, compression zstd)")
                paths.append(path)
    return tuple(paths) if parquet else (database,)
