"""Brings the history up to date with the logs: before it is asked, after a run, and before a log is deleted.

Rule 1: it is never written while a run makes a turn. Rule 2: a log that fails verification adds nothing.
Whatever is interrupted or refused here is made up for by the next call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from podium.core.hash_chain import RunId
from podium.errors import PodiumError
from podium.ports.history import HistoryBusy, HistoryError, LocalHistory
from podium.ports.runtime import Runtime
from podium.ports.store import RunHead, StoreError
from podium.runtime.records import events_of, is_replay
from podium.views.history.projection import project_run
from podium.views.history.rows import ROWS_VERSION, RunRows

if TYPE_CHECKING:
    from podium.app.project import Project

PATIENCE_S: Final = 2.0
"""How long a question waits for logs that have not been read yet."""


class CaughtUp(NamedTuple):
    """What the history does not have yet, of all runs in the log."""

    late: int = 0
    """Runs that have not been read, because the time was over or another process was writing."""
    damaged: tuple[tuple[RunId, str], ...] = ()
    """Runs whose log fails verification, with what is wrong."""

    @property
    def lines(self) -> tuple[str, ...]:
        """What a person is told about it."""
        lines = [f"not counted, its log is damaged: {fault}" for _, fault in self.damaged]
        if self.late:
            runs = "run is" if self.late == 1 else "runs are"
            lines.append(f"{self.late} {runs} not counted yet; podium history rebuild counts all")
        return tuple(lines)


@contextmanager
def opened_history(
    project: Project, *, patience_s: float | None = PATIENCE_S
) -> Iterator[tuple[LocalHistory, CaughtUp]]:
    """The history of a project, up to date as far as that takes no longer than `patience_s`."""
    history = project.open_history()
    try:
        yield history, catch_up(project.runtime, history, patience_s=patience_s)
    finally:
        history.close()


def catch_up(
    runtime: Runtime,
    history: LocalHistory,
    *,
    patience_s: float | None = None,
    force: bool = False,
    on_run: Callable[[int, int], None] = lambda _done, _all: None,
) -> CaughtUp:
    """Project all runs that have new events; with `force` all that are in the log."""
    state = {} if force else history.read_state()
    if state.get("version") != ROWS_VERSION:
        state = {}
    heads, newest = _heads(runtime, history, state)
    marks = {} if force or "through" in state else history.marks(history.own)
    deadline = None if patience_s is None else time.monotonic() + patience_s
    damaged: list[tuple[RunId, str]] = []
    late, waiting = 0, []
    for done, head in enumerate(heads):
        on_run(done, len(heads))
        mark = marks.get(head.run) if marks else None if force else history.mark(head.run)
        if mark is not None and (mark.seq, mark.head, mark.version) == (
            head.last_seq,
            head.last_hash,
            ROWS_VERSION,
        ):
            continue
        if late or (deadline is not None and time.monotonic() > deadline):
            late += 1
            continue
        try:
            rows = rows_of(runtime, head)
            if rows is None:
                waiting.append(head.run)
            else:
                history.put(history.own, rows, force=force)
        except StoreError as error:
            damaged.append((head.run, error.message))
            waiting.append(head.run)
        except HistoryBusy:
            late += 1
    _remember(history, state, newest, waiting, complete=not late)
    return CaughtUp(late, tuple(damaged))


def _heads(
    runtime: Runtime, history: LocalHistory, state: Mapping[str, Any]
) -> tuple[list[RunHead], tuple[int, RunId] | None]:
    """The runs that may have new events, the newest first, and the number of the newest run."""
    number, run = state.get("through", (0, ""))
    numbered = runtime.heads_from(number)
    if number and (not numbered or (numbered[0][0], numbered[0][1].run) != (number, run)):
        # That run was deleted, and its number may have been given again.
        numbered, state = runtime.heads_from(0), {}
    heads = {head.run: head for _, head in reversed(numbered)}
    for name in (*state.get("waiting", ()), *(history.open_runs() if state else ())):
        head = heads.get(RunId(name)) or runtime.head(RunId(name))
        if head is not None:
            heads[head.run] = head
    newest = (numbered[-1][0], numbered[-1][1].run) if numbered else None
    return list(heads.values()), newest


def _remember(
    history: LocalHistory,
    before: Mapping[str, Any],
    newest: tuple[int, RunId] | None,
    waiting: list[RunId],
    *,
    complete: bool,
) -> None:
    if not complete:
        return
    after = {"version": ROWS_VERSION, "through": newest and list(newest), "waiting": waiting}
    if newest is None:
        del after["through"]
    if after != dict(before):
        with suppress(HistoryBusy):
            history.write_state(after)


def rows_of(runtime: Runtime, head: RunHead) -> RunRows | None:
    """The rows of a run from its log; None before its first event. Raises StoreError if the log fails verification."""
    records = runtime.checked_events(head.run)
    if not records:
        return None
    return project_run(
        head.run,
        head.workflow,
        events_of(records),
        head=records[-1].hash,
        is_replay=is_replay(head),
    )


def add_run(project: Project, run: RunId) -> None:
    """Add a run that has just ended. If that fails, the next question makes up for it."""
    head = project.runtime.head(run)
    with suppress(PodiumError, OSError):
        rows = None if head is None else rows_of(project.runtime, head)
        if rows is not None:
            history = project.open_history()
            try:
                history.put(history.own, rows)
            finally:
                history.close()


def keep(project: Project, head: RunHead) -> str | None:
    """Store the rows of a run whose log will be deleted; returns why that cannot be done."""
    try:
        rows = rows_of(project.runtime, head)
        if rows is None:
            return None
        history = project.open_history()
        try:
            history.put(history.own, rows, only_copy=True)
        finally:
            history.close()
    except (StoreError, HistoryError) as error:
        return error.message
    return None
