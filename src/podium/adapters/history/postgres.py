"""The history of several machines in one PostgreSQL database, to which projects push.

All tables are in a schema of their own. Any number of projects may push at once: each run is written in one transaction
that holds a lock for it. A password is never part of an address; libpq finds it in PGPASSWORD or in ~/.pgpass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final
from urllib.parse import urlsplit

from podium.adapters.history.tables import VERSION, upgrades
from podium.core.hash_chain import RunId
from podium.errors import ConfigurationError
from podium.ports.history import HistoryError, HistoryProject, Mark, StoredRun, replaces
from podium.views.history.rows import ROWS_VERSION, TABLES, RunRow, RunRows

try:
    import psycopg
except ImportError as error:
    raise ConfigurationError(
        "PostgreSQL needs the extra `postgres`", hint='pip install "podium[postgres]"'
    ) from error

SCHEMA: Final = "podium"
TIMEOUT_S: Final = 10
_RUN: Final = len(RunRow._fields)
_MARK: Final = "seq, head, only_copy, version, digest, status"
_OF_PROJECT: Final = "(select no from project where id = %s)"


class PostgresHistory:
    def __init__(self, address: str, *, schema: str = SCHEMA) -> None:
        self._place = _checked(address)
        self._schema = schema
        with self._errors():
            self._db = psycopg.connect(address, autocommit=True, connect_timeout=TIMEOUT_S)
        try:
            with self._errors():
                self._prepare()
        except BaseException:
            self.close()
            raise

    def _prepare(self) -> None:
        with self._db.transaction():
            # Creating a schema that is there already can fail if two do it at once.
            self._rows("select pg_advisory_xact_lock(hashtextextended(%s, 0))", (self._schema,))
            self._run(f'create schema if not exists "{self._schema}"')
            self._run(f'set search_path to "{self._schema}"')
            version = self._version()
            if version > VERSION:
                raise HistoryError(
                    f"{self._place} has version {version} of the history; this version of Podium knows {VERSION}",
                    hint="use the newer version of Podium that wrote it",
                )
            if version < VERSION:
                sequences = ("create sequence run_no", "create sequence project_no") if not version else ()
                for statement in (*upgrades("postgres", version), *sequences):
                    self._run(statement)
                self._run("delete from meta where key = 'version'")
                self._run("insert into meta values ('version', %s)", (str(VERSION),))

    def _version(self) -> int:
        is_there = self._rows("select to_regclass('meta') is not null")[0][0]
        rows = self._rows("select value from meta where key = 'version'") if is_there else []
        return int(rows[0][0]) if rows else 0

    def _run(self, statement: str, values: Sequence[Any] = ()) -> None:
        # Statements are made of our own names of tables and columns; values are always passed apart.
        self._db.execute(statement, values or None)

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._db.execute(statement, values or None).fetchall()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            text = " ".join(str(error).split())
            raise HistoryError(
                f"{self._place} cannot be used: {text}", hint="check the address, PGPASSWORD and ~/.pgpass"
            ) from error

    def put(
        self, project: HistoryProject, rows: RunRows, *, only_copy: bool = False, force: bool = False
    ) -> bool:
        with self._errors():
            project_no = self._number_of(project)
            with self._db.transaction():
                key = f"{self._schema}/{project.id}/{rows.run.run}"
                self._rows("select pg_advisory_xact_lock(hashtextextended(%s, 0))", (key,))
                old_no, before = self._find(project_no, rows.run.run)
                if before is not None and not replaces(before, rows, only_copy=only_copy, force=force):
                    return False
                no = old_no or self._rows("select nextval('run_no')")[0][0]
                self._run("delete from run where no = %s", (no,))
                only = only_copy or (before is not None and before.only_copy)
                self._copy("run", [(no, project_no, *rows.run, int(only), ROWS_VERSION, rows.sum)])
                for name, table_rows in rows.tables.items():
                    self._copy(name, [(no, *row) for row in table_rows])
        return True

    def _copy(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            statement = f"copy {table} from stdin"
            with self._db.cursor() as cursor, cursor.copy(statement) as copy:
                for row in rows:
                    copy.write_row(row)

    def _number_of(self, project: HistoryProject) -> int:
        statement = "select no from project where id = %s"
        rows = self._rows(statement, (project.id,))
        if not rows:
            insert = "insert into project values (nextval('project_no'), %s, %s) on conflict (id) do nothing"
            self._run(insert, tuple(project))
            rows = self._rows(statement, (project.id,))
        number: int = rows[0][0]
        return number

    def _find(self, project_no: int, run: str) -> tuple[int | None, Mark | None]:
        statement = f"select no, {_MARK} from run where project = %s and run = %s"  # noqa: S608 (names of columns)
        for no, *mark in self._rows(statement, (project_no, run)):
            return no, _mark(mark)
        return None, None

    def get(self, project: HistoryProject, run: RunId) -> StoredRun | None:
        statement = f"select * from run where project = {_OF_PROJECT} and run = %s"  # noqa: S608 (our own text)
        with self._errors(), self._db.transaction():
            for no, _, *values in self._rows(statement, (project.id, run)):
                own = RunRow(*values[:_RUN])
                only_copy, version, digest = values[_RUN:]
                tables = {name: self._of_run(name, no) for name in TABLES}
                mark = Mark(own.seq, own.head, bool(only_copy), version, digest, own.status == "open")
                return StoredRun(RunRows(own, tables), mark)
        return None

    def _of_run(self, name: str, no: int) -> tuple[Any, ...]:
        table = TABLES[name]
        # In the order of bytes, as SQLite and Python have it; a database may sort texts by a language.
        order = ", ".join(f'{column} collate "C"' if kind else column for column, kind in table.key_is_text)
        statement = f"select * from {name} where run = %s order by {order}"  # noqa: S608 (names)
        return tuple(table.row(*row[1:]) for row in self._rows(statement, (no,)))

    def marks(self, project: HistoryProject) -> Mapping[RunId, Mark]:
        statement = f"select run, {_MARK} from run where project = {_OF_PROJECT} order by no"  # noqa: S608 (names)
        with self._errors():
            return {RunId(run): _mark(mark) for run, *mark in self._rows(statement, (project.id,))}

    def projects(self) -> tuple[HistoryProject, ...]:
        with self._errors():
            rows = self._rows("select id, name from project order by no")
        return tuple(HistoryProject(*row) for row in rows)

    def close(self) -> None:
        with suppress(psycopg.Error):
            self._db.close()


def _checked(address: str) -> str:
    """The place in words; raises for an address with a password, or one that libpq cannot read."""
    try:
        parts = urlsplit(address)
        options = psycopg.conninfo.conninfo_to_dict(address)
    except (ValueError, psycopg.Error) as error:
        # libpq would repeat what it cannot read, which may be a password.
        raise ConfigurationError(
            "the address of the database cannot be read", hint="write postgresql://USER@HOST/DATABASE"
        ) from error
    if parts.password or options.get("password"):
        raise ConfigurationError(
            "an address with a password would be visible to others on this machine",
            hint="put the password into PGPASSWORD or ~/.pgpass",
        )
    return f"the database {options.get('dbname') or ''} at {options.get('host') or 'this machine'}"


def _mark(row: Sequence[Any]) -> Mark:
    seq, head, only_copy, version, digest, status = row
    return Mark(seq, head, bool(only_copy), version, digest, status == "open")
