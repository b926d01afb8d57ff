"""The protocols of stores for the history: rows of runs, made from their logs. A contract suite checks them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from podium.core.hash_chain import RunId
from podium.errors import PodiumError
from podium.views.history.rows import ROWS_VERSION, RunRows


class HistoryError(PodiumError):
    """The history cannot be used."""

    code = "history"


class HistoryBusy(HistoryError):
    """Another process is writing; nothing was written."""


class HistoryProject(NamedTuple):
    id: str
    """A random word, made once."""
    name: str


class Mark(NamedTuple):
    """How far the rows of a run are."""

    seq: int
    head: str
    """The hash of the last event in the rows."""
    only_copy: bool
    """True if the log has been deleted, so that these rows are the only copy."""
    version: int
    """ROWS_VERSION when the rows were made."""
    digest: str
    """Of all values, when they were stored."""
    open: bool


class StoredRun(NamedTuple):
    rows: RunRows
    mark: Mark


def replaces(before: Mark, rows: RunRows, *, only_copy: bool, force: bool) -> bool:
    """Whether these rows replace the stored ones: the rule of `put`."""
    if rows.run.seq != before.seq:
        return rows.run.seq > before.seq
    is_same = (
        before.head == rows.run.head and before.version == ROWS_VERSION and before.only_copy >= only_copy
    )
    return force or not is_same


class HistoryStore(Protocol):
    """Rows of the runs of any number of projects."""

    def put(
        self, project: HistoryProject, rows: RunRows, *, only_copy: bool = False, force: bool = False
    ) -> bool:
        """Replace the rows of a run, in one transaction.

        Returns False, and changes nothing, if the stored rows are as new; with `force` only if they are newer. Rows that
        are the only copy stay marked as such. Raises HistoryBusy if another process writes.
        """

    def get(self, project: HistoryProject, run: RunId) -> StoredRun | None: ...

    def marks(self, project: HistoryProject) -> Mapping[RunId, Mark]:
        """By run, the oldest first."""

    def projects(self) -> tuple[HistoryProject, ...]:
        """In the order in which they were added."""

    def close(self) -> None: ...


class Label(NamedTuple):
    """What was learned about a tree after its run."""

    tree: str
    good: bool
    seen: int
    detail: str


class LocalHistory(HistoryStore, Protocol):
    """The history of a project, which also remembers how far its logs have been read, and can be asked."""

    @property
    def own(self) -> HistoryProject:
        """The project itself."""

    def mark(self, run: RunId) -> Mark | None:
        """Of one of its own runs."""

    def open_runs(self) -> tuple[RunId, ...]:
        """Its own runs that had not ended when they were read."""

    def read_state(self) -> Mapping[str, Any]:
        """What the last reader of the logs stored about how far it came."""

    def write_state(self, state: Mapping[str, Any]) -> None: ...

    def put_labels(self, source: str, labels: Sequence[Label]) -> None:
        """Replace what this source says of the project's trees. Raises HistoryBusy if another process writes."""

    def query(self, name: str, values: Mapping[str, Any]) -> Sequence[tuple[Any, ...]]:
        """The rows of a named query."""

    def tables(self) -> Iterable[tuple[str, tuple[str, ...], Iterable[tuple[Any, ...]]]]:
        """Each table with its columns and all rows, for exports."""
