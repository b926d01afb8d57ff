"""Runs that were folded once and are kept: a later look reads only the events that are new.

A shelf owns its project and may be asked from several threads: whatever touches the store happens under its lock. A page, a
terminal and a notification that look at the same run therefore cost one read between them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from podium.app.query.runs import definition_of, is_left, status_of, summary, with_texts
from podium.core.events import ApprovalGiven, Event
from podium.core.hash_chain import RunId
from podium.runtime.records import events_of
from podium.views.files.snapshot import RUN
from podium.views.run.builder import RunViewBuilder
from podium.views.run.view import RunView

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.core.model import Workflow
    from podium.ports.store import RunHead

MOST_RUNS: Final = 64
MOST_EVENTS: Final = 200_000
"""Over all kept runs; the newest run stays even if it alone has more."""
MOST_SUMMARIES: Final = 5_000
MOST_WORKFLOWS: Final = 32


class FoldedRun(NamedTuple):
    head: RunHead
    view: RunView
    events: Sequence[Event]
    """Events are only ever added at the end."""
    causes: dict[int, str]
    """For each answer of a person, by the number of its event, what brought it: a letter with its channel, or a file."""


class _Folding:
    def __init__(self) -> None:
        self.builder = RunViewBuilder()
        self.events: list[Event] = []
        self.causes: dict[int, str] = {}
        self.shown: tuple[tuple[int, str, int], RunView] | None = None
        """The view at an event, a status and a version of the stored texts."""


class Shelf:
    def __init__(self, project: Project) -> None:
        self.project = project
        self.lock = threading.RLock()
        """Held by a thread while it uses the store of the project."""
        self._runs: OrderedDict[RunId, _Folding] = OrderedDict()
        self._summaries: OrderedDict[RunId, tuple[tuple[int, str], RunView]] = OrderedDict()
        self._workflows: OrderedDict[str, Workflow] = OrderedDict()

    def heads(self) -> tuple[RunHead, ...]:
        """All runs, newest first."""
        with self.lock:
            return self.project.runtime.heads()

    def status(self, head: RunHead) -> str:
        """As it is shown: a run that no process drives is interrupted or parked."""
        return status_of(self.project.runtime, head)

    def run(self, name: str) -> FoldedRun:
        """Raises if there is no such run."""
        with self.lock:
            return self._folded(self.project.run(name))

    def of(self, head: RunHead) -> FoldedRun:
        with self.lock:
            return self._folded(head)

    def summary(self, head: RunHead) -> RunView:
        """A run without its steps, for lists."""
        with self.lock:
            key = (head.last_seq, self.status(head))
            stored = self._summaries.get(head.run)
            if stored is None or stored[0] != key:
                stored = self._summaries[head.run] = (key, summary(self.project, head))
                while len(self._summaries) > MOST_SUMMARIES:
                    self._summaries.popitem(last=False)
            return stored[1]

    def workflow(self, head: RunHead) -> Workflow | None:
        """None if it is no longer the one the run was started with."""
        with self.lock:
            return self._define(self.project, head)

    def _folded(self, head: RunHead) -> FoldedRun:
        folding = self._runs.get(head.run)
        if folding is None or len(folding.events) > head.last_seq:
            folding = self._runs[head.run] = _Folding()
        self._runs.move_to_end(head.run)
        records = self.project.runtime.events(head.run, after=len(folding.events))
        for record, event in zip(records, events_of(records), strict=True):
            folding.events.append(event)
            if isinstance(event, ApprovalGiven):
                folding.causes[record.seq] = record.cause
        folding.builder.feed(folding.events[folding.builder.seq :])
        self._drop_old()
        return FoldedRun(head, self._view(head, folding), folding.events, folding.causes)

    def _view(self, head: RunHead, folding: _Folding) -> RunView:
        key = (len(folding.events), self.status(head), _stored_at(self.project, head))
        if folding.shown is not None and folding.shown[0] == key:
            return folding.shown[1]
        builder = folding.builder
        if is_left(self.project.runtime, head):
            builder = builder.copy()
            builder.leave()
        view = with_texts(self.project, head, folding.events, builder.view(), self._define)
        folding.shown = (key, view)
        return view

    def _define(self, project: Project, head: RunHead) -> Workflow | None:
        workflow = self._workflows.get(head.fingerprint)
        if workflow is None:
            workflow = definition_of(project, head)
            if workflow is not None:
                self._workflows[head.fingerprint] = workflow
                while len(self._workflows) > MOST_WORKFLOWS:
                    self._workflows.popitem(last=False)
        return workflow

    def _drop_old(self) -> None:
        events = sum(len(folding.events) for folding in self._runs.values())
        while len(self._runs) > MOST_RUNS or (events > MOST_EVENTS and len(self._runs) > 1):
            _, dropped = self._runs.popitem(last=False)
            events -= len(dropped.events)

    def close(self) -> None:
        with self.lock:
            self.project.close()


def _stored_at(project: Project, head: RunHead) -> int:
    """When the run's owner last wrote the texts of its questions."""
    try:
        return (project.paths.run_dir(head.run) / RUN).stat().st_mtime_ns
    except OSError:
        return 0
