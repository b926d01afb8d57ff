"""The tables of the history in the dialects of SQLite and PostgreSQL, from one description."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

from podium.views.history.rows import ADDED, TABLES, ColumnType, RunRow, column_types

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


LABELS: Final = StoredTable(
    "label",
    {
        "project": _NUMBER,
        "tree": _TEXT,
        "source": _TEXT,
        "good": _NUMBER,
        "seen": _NUMBER,
        "detail": (str, True),
    },
    ("project", "tree", "source"),
    parent=("project", "project"),
)
"""What was learned about a tree after its run: that it was reverted, or that a fault was planted in it."""
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
    LABELS,
)
INDEXES: Final = (
    "create index run_started on run (started)",
    "create index run_subject on run (workflow, subject, started)",
    "create index run_open on run (project) where ended is null",
    "create index visit_craft on visit (craft, role, entered)",
    "create index verdict_author on verdict (of_agent)",
)


VERSION: Final = 2
"""Of the tables. A released version is never changed; a new one is reached by a numbered step."""


def upgrades(dialect: Dialect, version: int) -> Iterator[str]:
    """The statements that bring tables of this version to the newest one; 0 is an empty database."""
    if version < 1:
        yield from _created(dialect, STORED)
        yield from INDEXES
    elif version < 2:
        for table in STORED:
            if table.name in ("choice", "trial", "label"):
                yield from _created(dialect, (table,))
                continue
            for name in ADDED.get(table.name, ()):
                kind, _ = table.columns[name]
                yield f"alter table {table.name} add column {name} {_TYPES[dialect][kind]}"


def _created(dialect: Dialect, tables: Iterable[StoredTable]) -> Iterator[str]:
    for table in tables:
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
