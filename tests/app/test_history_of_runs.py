"""The history equals what the logs give, however it was made: in pieces, killed, rebuilt, or after logs were deleted.

PODIUM_SPLITS says how many random logs are cut at random places; `make history` tries 1,000.
"""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import apsw
import pytest

from podium.adapters.history.sqlite import SqliteHistory
from podium.adapters.stores.sqlite import SqliteStore
from podium.app.archive.gc import ExpiredRun, delete
from podium.app.history.catch_up import CaughtUp, catch_up
from podium.app.history.check import check
from podium.app.project import Project
from podium.core.events import Event
from podium.core.hash_chain import FIRST_HASH, Record, RunId
from podium.core.types import Millis
from podium.engine.local import LocalRuntime
from podium.engine.log import to_text
from podium.ports.history import LocalHistory
from podium.ports.runtime import Runtime
from podium.ports.store import RunHead
from podium.views.history.projection import project_run
from podium.views.history.rows import RunRows
from tests.core.driver import drive
from tests.core.strategies import case
from tests.views.kit import facade_of
from tests.views.test_money import BIAS, Expensive, ledger_sums

SPLITS = int(os.environ.get("PODIUM_SPLITS", "40"))
SEED = int(os.environ.get("PODIUM_SEED", "1"))


def random_log(seed: int) -> tuple[Sequence[Event], object]:
    one = case(random.Random(f"history/{seed}").randrange(2**48), BIAS)
    run = drive(one.workflow, Expensive(one.seed, one.odds))
    return run.log, run.state


class Here:
    """A project whose runs get events in pieces."""

    def __init__(self, folder: Path) -> None:
        self.store = SqliteStore(folder / ".podium" / "podium.db")
        self.project: Project = facade_of(self.store, folder)
        self.epochs: dict[RunId, int] = {}

    def append(self, run: RunId, log: Sequence[Event], after: int = 0, to: int | None = None) -> None:
        if run not in self.epochs:
            self.store.create(RunHead(run, "flow", "f" * 64, 1, 0, 0, FIRST_HASH, source="{}"))
            self.epochs[run] = self.store.claim(run)
        events = [(type(event).__name__, to_text(event)) for event in log[after:to]]
        status = "passed" if to is None or to >= len(log) else "running"
        self.store.append(run, events, after=after, epoch=self.epochs[run], cause="m", status=status)

    def catch_up(self, *, force: bool = False) -> CaughtUp:
        with open_one(self.project) as history:
            return catch_up(self.project.runtime, history, force=force)

    def rows(self) -> dict[RunId, RunRows]:
        with open_one(self.project) as history:
            runs = history.marks(history.own)
            return {run: history.get(history.own, run).rows for run in runs}  # type: ignore[union-attr]

    def expected(self, run: RunId, log: Sequence[Event]) -> RunRows:
        head = self.store.head(run)
        assert head is not None
        rows = project_run(run, "flow", log, head=head.last_hash)
        assert rows is not None
        return rows


class open_one:  # noqa: N801 (used like a function)
    def __init__(self, project: Project) -> None:
        self.history = project.open_history()

    def __enter__(self) -> LocalHistory:
        return self.history

    def __exit__(self, *_: object) -> None:
        self.history.close()


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Here]:
    made = Here(tmp_path)
    yield made
    made.project.close()


def killed_while_it_catches_up(here: Here, at: int) -> bool:
    """Fork, catch up, and end the process without any cleaning up at its n-th insertion; whether it came so far."""
    child = os.fork()
    if not child:
        count = 0
        insert = SqliteHistory._insert

        def dies(self: SqliteHistory, table: str, rows: Sequence[tuple[object, ...]]) -> None:
            nonlocal count
            count += 1
            if count == at:
                os._exit(9)
            insert(self, table, rows)

        SqliteHistory._insert = dies  # type: ignore[method-assign]  # only in this child
        try:
            # A connection must not be used by a child of the process that opened it.
            store = SqliteStore(here.project.paths.database)
            project = facade_of(store, here.project.root)
            with open_one(project) as history:
                catch_up(project.runtime, history)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


@pytest.mark.timeout(1800)
@pytest.mark.req("R156", "R159", "R217")
def test_rows_are_the_same_however_a_log_is_cut_and_whoever_was_killed(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    tried: Counter[str] = Counter()
    for batch in range(0, SPLITS, 5):
        here = Here(tmp_path_factory.mktemp("project"))
        logs = {
            RunId(f"r{seed}"): random_log(SEED + seed)[0] for seed in range(batch, min(batch + 5, SPLITS))
        }
        chance = random.Random(f"splits/{SEED + batch}")
        open_logs = dict.fromkeys(logs, 0)
        while open_logs:
            run = chance.choice(sorted(open_logs))
            log, after = logs[run], open_logs[run]
            to = min(len(log), after + chance.randint(1, max(1, len(log) // 3)))
            here.append(run, log, after, to)
            tried["pieces"] += 1
            if to == len(log):
                del open_logs[run]
            else:
                open_logs[run] = to
            if chance.random() < 0.5:
                here.catch_up()
            if chance.random() < 0.3:
                tried["kills"] += killed_while_it_catches_up(here, chance.randint(1, 12))
        assert here.catch_up() == CaughtUp()

        stored = here.rows()
        assert sorted(stored) == sorted(logs)
        for run, rows in stored.items():
            assert rows == here.expected(run, logs[run]), run
            tried["runs"] += 1
        here.catch_up(force=True)
        assert here.rows() == stored
        here.project.paths.history.unlink()
        here.catch_up()
        assert here.rows() == stored
        assert check(here.project).faults == ()
        here.project.close()
    sys.stdout.write(f"\nhistory: {', '.join(f'{count:,} {name}' for name, count in tried.items())}\n")
    assert tried["kills"] >= SPLITS / 8


@pytest.mark.req("R208", "R217")
def test_the_rows_of_a_run_add_up_to_its_ledger() -> None:
    for seed in range(SEED, SEED + SPLITS):
        log, state = random_log(seed)
        rows = project_run("r", "flow", log, head="h")
        assert rows is not None
        run, attempts = rows.run, rows.tables["attempt"]
        columns = ("usd", "tokens", "calls", "unknown_calls")
        sums = tuple(sum(getattr(row, column) for row in attempts) for column in columns)

        assert (run.usd, run.tokens, run.calls, run.unknown_calls) == tuple(ledger_sums(state, left=False))  # type: ignore[arg-type]
        assert sums == (run.usd, run.tokens, run.calls, run.unknown_calls), seed


def test_a_log_that_fails_verification_adds_nothing_and_is_named(here: Here) -> None:
    log, _ = random_log(3)
    here.append(RunId("bad"), log)
    here.append(RunId("good"), random_log(4)[0])
    db = apsw.Connection(str(here.project.paths.database))
    db.execute(
        "update event set body = replace(body, '\"at\":', '\"at\": ') where id = (select max(id) from event where id < 2 << 32)"
    )
    db.close()

    done = here.catch_up()

    assert [run for run, _ in done.damaged] == ["bad"]
    assert "the log of run bad cannot be trusted" in done.lines[0]
    assert list(here.rows()) == ["good"]
    # It is looked at again, because someone may restore it.
    assert here.catch_up() == done


def test_a_log_whose_last_events_are_gone_adds_nothing(here: Here) -> None:
    log, _ = random_log(3)
    run = RunId("short")
    here.append(run, log[:-1], 0, len(log))
    folder = here.project.paths.run_dir(run)
    folder.mkdir(parents=True)
    (folder / "chain_head").write_text(f"{len(log):>12} {'a' * 64}\n")

    done = here.catch_up()

    assert "chain_head knows of" in done.lines[0]
    assert here.rows() == {}


def test_deleted_logs_keep_their_numbers(here: Here) -> None:
    """R160"""
    logs = {RunId(f"r{seed}"): random_log(seed)[0] for seed in range(6)}
    for run, log in logs.items():
        here.append(run, log)
    here.catch_up()
    before = here.rows()

    refused = delete(here.project, [expired(run) for run in list(logs)[:4]])

    assert refused == {}
    assert [head.run for head in here.store.heads()] == ["r4", "r5"]
    assert here.rows() == before
    here.catch_up(force=True)
    assert here.rows() == before
    assert check(here.project)._replace(pulled=0) == (6, 4, 0, ())


@pytest.mark.parametrize("at", ["insert", "forget"])
def test_a_deletion_that_is_killed_is_completed_by_the_next_one(here: Here, at: str) -> None:
    """R160"""
    run = RunId("r1")
    log = random_log(6)[0]
    here.append(run, log)
    expected_rows = here.expected(run, log)
    child = os.fork()
    if not child:
        kind: Any = SqliteHistory if at == "insert" else LocalRuntime
        setattr(kind, "_insert" if at == "insert" else "forget", lambda *_: os._exit(9))  # only in this child
        try:
            delete(facade_of(SqliteStore(here.project.paths.database), here.project.root), [expired(run)])
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert here.store.head(run) is not None

    assert delete(here.project, [expired(run)]) == {}

    assert here.store.head(run) is None
    assert here.rows() == {run: expected_rows}


def test_a_run_whose_numbers_cannot_be_kept_is_not_deleted_unless_that_is_said(here: Here) -> None:
    run = RunId("bad")
    here.append(run, random_log(3)[0])
    db = apsw.Connection(str(here.project.paths.database))
    db.execute("update event set cause = 'other' where id = (select max(id) from event)")
    db.close()

    refused = delete(here.project, [expired(run)])

    assert "cannot be trusted" in refused[run]
    assert here.store.head(run) is not None
    assert delete(here.project, [expired(run)], without_history=True) == {}
    assert here.store.head(run) is None


def test_the_number_of_a_deleted_run_may_be_given_again(here: Here) -> None:
    for name in ("one", "two"):
        here.append(RunId(name), random_log(2)[0])
    here.catch_up()
    here.store.forget(RunId("two"))
    here.append(RunId("three"), random_log(5)[0])

    here.catch_up()

    assert sorted(here.rows()) == ["one", "three", "two"]


def test_altered_rows_are_found(here: Here) -> None:
    run = RunId("r1")
    here.append(run, random_log(7)[0])
    here.catch_up()
    assert check(here.project).faults == ()
    db = apsw.Connection(str(here.project.paths.history))
    db.execute("update run set usd = usd + 1")
    db.close()

    assert check(here.project).faults == ((run, "its rows have been altered"),)
    here.catch_up(force=True)
    assert check(here.project).faults == ()


class CountingRuntime:
    """A runtime that remembers whose logs were read."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.read: list[RunId] = []

    def checked_events(self, run: RunId) -> tuple[Record, ...]:
        self.read.append(run)
        return self._runtime.checked_events(run)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)


def test_only_what_is_new_is_read(here: Here) -> None:
    for seed in range(5):
        here.append(RunId(f"r{seed}"), random_log(seed)[0])
    here.catch_up()
    here.append(RunId("new"), random_log(8)[0])
    runtime = CountingRuntime(here.project.runtime)

    with open_one(here.project) as history:
        catch_up(cast(Runtime, runtime), history)
        catch_up(cast(Runtime, runtime), history)

    assert runtime.read == ["new"]


def test_what_takes_too_long_is_counted_by_the_next_question(here: Here) -> None:
    for seed in range(5):
        here.append(RunId(f"r{seed}"), random_log(seed)[0])
    with open_one(here.project) as history:
        late = catch_up(here.project.runtime, history, patience_s=-1.0)

        assert late.late == 5
        assert late.lines == ("5 runs are not counted yet; podium history rebuild counts all",)
        assert catch_up(here.project.runtime, history) == CaughtUp()
        assert len(history.marks(history.own)) == 5


def expired(run: RunId) -> ExpiredRun:
    return ExpiredRun(run, "flow", "passed", Millis(1), 0, 0, landed=True)
