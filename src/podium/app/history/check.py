"""Checks the history: that stored rows are unaltered, and that they are what the logs give."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from podium.app.history.catch_up import rows_of
from podium.core.hash_chain import RunId
from podium.ports.history import LocalHistory
from podium.ports.store import StoreError
from podium.views.history.rows import ROWS_VERSION

if TYPE_CHECKING:
    from podium.app.project import Project


class HistoryCheck(NamedTuple):
    runs: int
    """How many have rows, those of other projects included."""
    only_copies: int
    """How many of them have no log any more."""
    pulled: int
    """How many belong to other projects."""
    faults: tuple[tuple[str, str], ...]
    """Runs with what is wrong with their rows."""


def check(project: Project) -> HistoryCheck:
    """Compare all rows with their checksums, and with the logs that are still there."""
    history = project.open_history()
    try:
        return _check(project, history)
    finally:
        history.close()


def _check(project: Project, history: LocalHistory) -> HistoryCheck:
    faults: list[tuple[str, str]] = []
    only_copies = pulled = runs = 0
    for each in history.projects():
        is_own = each == history.own
        for run, mark in history.marks(each).items():
            runs += 1
            pulled += not is_own
            stored = history.get(each, run)
            if stored is None or stored.rows.sum != mark.digest:
                faults.append((run, "its rows have been altered"))
                continue
            head = project.runtime.head(run) if is_own else None
            only_copies += is_own and head is None
            if head is not None and mark.version == ROWS_VERSION:
                fault = _against_log(project, run, stored.mark.seq, mark.digest)
                faults += [] if fault is None else [(run, fault)]
    return HistoryCheck(runs, only_copies, pulled, tuple(faults))


def _against_log(project: Project, run: RunId, seq: int, digest: str) -> str | None:
    head = project.runtime.head(run)
    assert head is not None
    try:
        rows = rows_of(project.runtime, head)
    except StoreError as error:
        return error.message
    if rows is None or rows.run.seq < seq:
        return f"its rows have {seq} events, and its log has {head.last_seq}"
    is_behind = rows.run.seq > seq
    return None if is_behind or rows.sum == digest else "its rows are not what its log gives"
