"""The history of a project in one SQLite file beside its log.

It is not written in a turn, and a lost write is made again from the log; so it is not synced at every commit, and a
writer that finds another one gives up soon.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import apsw

from podium.adapters.history.queries import QUERIES
from podium.adapters.history.tables import STORED, VERSION, upgrades
from podium.adapters.stores.sqlite_errors import check_name
from podium.core.hash_chain import RunId
from podium.ports.history import HistoryBusy, HistoryError, HistoryProject, Label, Mark, StoredRun, replaces
from podium.views.history.rows import ROWS_VERSION, TABLES, RunRow, RunRows

BUSY_MS: Final = 200
_RUN: Final = len(RunRow._fields)
_MARK: Final = "seq, head, only_copy, version, digest, status"
_DAMAGED: Final = (
    "move {path} away, and run: podium history rebuild   (rows of deleted runs are only in this file)"
)


class SqliteHistory:
    """Made by `open_history`."""

    def __init__(self, path: Path, *, name: str = "", read_only: bool = False) -> None:
        check_name(path)
        self._path = path
        self._name = name
        self._project_nos: dict[str, int] = {}
        try:
            if not read_only:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                path.touch(mode=0o600, exist_ok=True)
            flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE
            self._db = apsw.Connection(str(path), flags=flags)
        except OSError as error:
            raise HistoryError(f"{path} cannot be used: {error.strerror}") from error
        except apsw.Error as error:
            raise HistoryError(f"{path} cannot be used: {error}") from error
        try:
            self._prepare(read_only=read_only)
        except BaseException:
            self._db.close(True)
            raise

    def _prepare(self, *, read_only: bool) -> None:
        with self._errors():
            self._db.set_busy_timeout(BUSY_MS)
            if not read_only:
                for pragma in ("journal_mode = wal", "synchronous = normal"):
                    self._db.execute(f"pragma {pragma}").fetchall()
            self._db.execute("pragma foreign_keys = on")
            version: int = self._db.execute("pragma user_version").get
        if version > VERSION or (read_only and version < VERSION):
            newer = version > VERSION
            raise HistoryError(
                f"{self._path} has version {version}; this version of Podium reads {VERSION}",
                hint="use the version of Podium that wrote it"
                if newer
                else "bring it up to date there: podium history check",
            )
        if version < VERSION:
            with self._transaction():
                version = self._rows("pragma user_version")[0][0]
                if version < VERSION:
                    self._upgrade(version)
        with self._errors():
            ((own,),) = self._rows("select value from meta where key = 'project'")
            self.own = self._project(str(own))

    def _upgrade(self, version: int) -> None:
        for statement in upgrades("sqlite", version):
            self._db.execute(statement)
        if not version:
            name = secrets.token_hex(8)
            self._db.execute("insert into project values (1, ?, ?)", (name, self._name))
            self._db.execute("insert into meta values ('project', ?)", (name,))
        self._db.execute(f"pragma user_version = {VERSION}")

    def _project(self, name: str) -> HistoryProject:
        ((no, ident, title),) = self._rows("select no, id, name from project where id = ?", (name,))
        self._project_nos[ident] = no
        return HistoryProject(ident, title)

    def _rows(self, statement: str, values: Any = ()) -> list[Any]:
        return self._db.execute(statement, values).fetchall()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except apsw.BusyError as error:
            raise HistoryBusy(
                f"{self._path} is being written by another process", hint="try again"
            ) from error
        except (apsw.Error, TypeError, UnicodeDecodeError) as error:
            raise HistoryError(
                f"{self._path} cannot be used: {error}", hint=_DAMAGED.format(path=self._path.name)
            ) from error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._errors():
            self._db.execute("begin immediate")
            try:
                yield
                self._db.execute("commit")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("rollback")
                raise

    def put(
        self, project: HistoryProject, rows: RunRows, *, only_copy: bool = False, force: bool = False
    ) -> bool:
        with self._transaction():
            project_no = self._number_of(project)
            no, before = self._find(project_no, RunId(rows.run.run))
            if before is not None and not replaces(before, rows, only_copy=only_copy, force=force):
                return False
            if no is None:
                no = int(self._db.execute("select coalesce(max(no), 0) + 1 from run").get)
            self._db.execute("delete from run where no = ?", (no,))
            is_kept = only_copy or (before is not None and before.only_copy)
            self._insert("run", [(no, project_no, *rows.run, int(is_kept), ROWS_VERSION, rows.sum)])
            for name, table_rows in rows.tables.items():
                self._insert(name, [(no, *row) for row in table_rows])
        return True

    def _insert(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        if rows:
            places = ", ".join("?" * len(rows[0]))
            self._db.executemany(f"insert into {table} values ({places})", rows)  # noqa: S608 (names of tables)

    def _number_of(self, project: HistoryProject) -> int:
        if project.id not in self._project_nos:
            rows = self._rows("select no from project where id = ?", (project.id,)) or self._rows(
                "insert into project select coalesce(max(no), 0) + 1, ?, ? from project returning no",
                tuple(project),
            )
            self._project_nos[project.id] = rows[0][0]
        return self._project_nos[project.id]

    def _find(self, project_no: int, run: RunId) -> tuple[int | None, Mark | None]:
        statement = f"select no, {_MARK} from run where project = ? and run = ?"  # noqa: S608 (names of columns)
        for no, *mark in self._rows(statement, (project_no, run)):
            return no, _mark(mark)
        return None, None

    def get(self, project: HistoryProject, run: RunId) -> StoredRun | None:
        statement = (
            "select run.* from run join project on project.no = run.project where project.id = ? and run = ?"
        )
        with self._errors():
            for no, _, *values in self._rows(statement, (project.id, run)):
                own = RunRow(*values[:_RUN])
                only_copy, version, digest = values[_RUN:]
                tables = {name: self._of_run(name, no) for name in TABLES}
                mark = Mark(own.seq, own.head, bool(only_copy), version, digest, own.status == "open")
                return StoredRun(RunRows(own, tables), mark)
        return None

    def _of_run(self, name: str, no: int) -> tuple[tuple[Any, ...], ...]:
        table = TABLES[name]
        statement = f"select * from {name} where run = ? order by {', '.join(table.key)}"  # noqa: S608 (names)
        return tuple(table.row(*row[1:]) for row in self._rows(statement, (no,)))

    def marks(self, project: HistoryProject) -> Mapping[RunId, Mark]:
        statement = (
            f"select run, {_MARK} from run where project = (select no from project where id = ?) order by no"  # noqa: S608 (names)
        )
        with self._errors():
            return {RunId(run): _mark(mark) for run, *mark in self._rows(statement, (project.id,))}

    def mark(self, run: RunId) -> Mark | None:
        with self._errors():
            return self._find(self._project_nos[self.own.id], run)[1]

    def open_runs(self) -> tuple[RunId, ...]:
        statement = "select run from run where project = ? and ended is null"
        with self._errors():
            return tuple(RunId(run) for (run,) in self._rows(statement, (self._project_nos[self.own.id],)))

    def projects(self) -> tuple[HistoryProject, ...]:
        with self._errors():
            return tuple(
                HistoryProject(*row) for row in self._rows("select id, name from project order by no")
            )

    def read_state(self) -> Mapping[str, Any]:
        with self._errors():
            rows = self._rows("select value from meta where key = 'state'")
        state: Mapping[str, Any] = json.loads(rows[0][0]) if rows else {}
        return state

    def write_state(self, state: Mapping[str, Any]) -> None:
        text = json.dumps(state)
        with self._transaction():
            self._db.execute("insert or replace into meta values ('state', ?)", (text,))

    def put_labels(self, source: str, labels: Sequence[Label]) -> None:
        with self._transaction():
            number = self._number_of(self.own)
            self._db.execute("delete from label where project = ? and source = ?", (number, source))
            rows = [(number, each.tree, source, int(each.good), each.seen, each.detail) for each in labels]
            self._insert("label", rows)

    def query(self, name: str, values: Mapping[str, Any]) -> Sequence[tuple[Any, ...]]:
        with self._errors():
            return self._rows(QUERIES[name], values)

    def tables(self) -> Iterable[tuple[str, tuple[str, ...], Iterable[tuple[Any, ...]]]]:
        for table in STORED:
            if table.name != "meta":
                order = ", ".join(table.key)
                rows = self._db.execute(f"select * from {table.name} order by {order}")  # noqa: S608 (names of tables)
                yield table.name, tuple(table.columns), rows

    def close(self) -> None:
        with suppress(apsw.Error):
            self._db.close()


def _mark(row: Sequence[Any]) -> Mark:
    seq, head, only_copy, version, digest, status = row
    return Mark(seq, head, bool(only_copy), version, digest, status == "open")
