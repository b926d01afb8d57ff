"""The tables of the history in the dialects of SQLite and PostgreSQL, from one description."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

from podium.views.history.rows import TABLES, ColumnType, RunRow, column_types

Dialect: TypeAlias = Literal["sqlite", "postgres"]
_TYPES: Final[dict[Dialect, dict[type, str]]] = {
    "sqlite": {int: "integer", float: "real", str: "text"},
    "postgres": {int: "bigint", float: "double precision", str: "text"},
}
_NUMBER: Final[ColumnType] = (int, False)
_TEXT: Final[ColumnType] = (str, False)


class StoredTable(NamedTuple):
    name: str
    columns: dict[str, ColumnType]
    key: tuple[str, ...]
    unique: tuple[str, ...] = ()
    parent: tuple[str, str] | None = None
    """The column that refers to another table, and that table."""


STORED: Final[tuple[StoredTable, ...]] = (
    StoredTable("meta", {"key": _TEXT, "value": _TEXT}, ("key",)),
    StoredTable("project", {"no": _NUMBER, "id": _TEXT, "name": _TEXT}, ("no",), ("id",)),
    StoredTable(
        "run",
        {
            "no": _NUMBER,
            "project": _NUMBER,
            **column_types(RunRow),
            "only_copy": _NUMBER,
            "version": _NUMBER,
            "digest": _TEXT,
        },
        ("no",),
        ("project", "run"),
        ("project", "project"),
    ),
    *(
        StoredTable(
            name,
            {"run": _NUMBER, **column_types(table.row)},
            ("run", *table.key),
            parent=("run", "run"),
        )
        for name, table in TABLES.items()
    ),
)
INDEXES: Final = (
    "create index run_started on run (started)",
    "create index run_subject on run (workflow, subject, started)",
    "create index run_open on run (project) where ended is null",
    "create index visit_craft on visit (craft, role, entered)",
    "create index verdict_author on verdict (of_agent)",
)


def definitions(dialect: Dialect) -> Iterator[str]:
    """The statements that create all tables and indexes."""
    for table in STORED:
        lines = [
            f"{name} {_TYPES[dialect][kind]}{'' if optional else ' not null'}"
            for name, (kind, optional) in table.columns.items()
        ]
        lines.append(f"primary key ({', '.join(table.key)})")
        if table.unique:
            lines.append(f"unique ({', '.join(table.unique)})")
        if table.parent is not None:
            column, other = table.parent
            lines.append(f"foreign key ({column}) references {other} (no) on delete cascade")
        end = (" strict, without rowid" if len(table.key) > 1 else " strict") if dialect == "sqlite" else ""
        yield f"create table {table.name} ({', '.join(lines)}){end}"
    yield from INDEXES
