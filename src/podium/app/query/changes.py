"""What has changed in the runs of a project since the last look: one cheap look serves every page, terminal and notice.

A look costs a few microseconds while nothing was committed. The status of a run can change without an event (it was parked,
its process died), so heads are compared, not only numbers of events; a process that dies commits nothing, so the owners of
open runs are checked once in OWNERS_S.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from podium.app.query.runs import ENDED
from podium.app.query.shelf import Shelf
from podium.core.hash_chain import RunId

OWNERS_S: Final = 1.0


class RunChange(NamedTuple):
    root: Path
    run: RunId
    seq: int
    status: str
    """As it is shown; "gone" if the run was deleted."""


class ChangeFeed:
    def __init__(self, shelf: Shelf, clock: Callable[[], float] = time.monotonic) -> None:
        self._shelf = shelf
        self._clock = clock
        self._stamp: int | None = None
        self._known: dict[RunId, tuple[int, str]] = {}
        self._open: tuple[RunId, ...] = ()
        self._owners_at = 0.0
        self.look()

    def look(self) -> tuple[RunChange, ...]:
        """The runs that are new, have new events, another status, or are gone."""
        with self._shelf.lock:
            stamp = self._shelf.project.runtime.stamp()
            is_due = self._clock() - self._owners_at >= OWNERS_S and bool(self._open)
            if stamp == self._stamp and not is_due:
                return ()
            if stamp == self._stamp and not self._have_owners_changed():
                return ()
            self._stamp = stamp
            return self._compare()

    def _have_owners_changed(self) -> bool:
        self._owners_at = self._clock()
        runtime = self._shelf.project.runtime
        for run in self._open:
            head = runtime.head(run)
            if head is None or self._shelf.status(head) != self._known[run][1]:
                return True
        return False

    def _compare(self) -> tuple[RunChange, ...]:
        self._owners_at = self._clock()
        heads = self._shelf.heads()
        now = {head.run: (head.last_seq, self._shelf.status(head)) for head in heads}
        self._open = tuple(head.run for head in heads if head.status not in ENDED)
        root = self._shelf.project.root
        changed = [
            RunChange(root, run, *state) for run, state in now.items() if self._known.get(run) != state
        ]
        gone = [RunChange(root, run, 0, "gone") for run in self._known.keys() - now.keys()]
        self._known = now
        return (*changed, *gone)
