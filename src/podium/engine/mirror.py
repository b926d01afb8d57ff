"""Keeps the copy of a run that other machines drive, with the same store, chain and files as a run that is driven here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager

import anyio
from anyio import to_thread

from podium.core.events import Event
from podium.core.hash_chain import FIRST_HASH, RunId
from podium.core.messages import Tell
from podium.core.state import State
from podium.engine.lease import lease
from podium.engine.log import Log, SourceOfNext, open_log
from podium.engine.published_files import publish_results
from podium.engine.run_folder import RunFolder
from podium.engine.team_files import TeamFiles
from podium.files.project_paths import ProjectPaths
from podium.ports.exporter import RunExporter
from podium.ports.runtime import Reply, RunSpec
from podium.ports.store import RunHead, Store
from podium.redaction.mask import Mask
from podium.runtime.prepared_run import PreparedRun
from podium.runtime.question_text import question_renderer
from podium.views.run.builder import RunViewBuilder

ExportersOf = Callable[[RunHead, Mask], tuple[RunExporter, ...]]


class LogMirror:
    """A `RunMirror`; belongs to the process that holds the lease of the run."""

    def __init__(self, log: Log, prepared: PreparedRun, folder: RunFolder) -> None:
        self._log = log
        self._host = prepared.host
        self._folder = folder
        self._team = TeamFiles(self._host.run_dir, self._host.run, prepared.workflow, self._host.project)

    def dropped(self) -> Iterator[tuple[str, Tell]]:
        return ((note.key, note.note) for note in self._team.collect())

    @property
    def run(self) -> RunId:
        return self._log.run

    @property
    def state(self) -> State:
        return self._log.state

    @property
    def events(self) -> Sequence[Event]:
        return self._log.events

    @property
    def earlier_events(self) -> int:
        return self._log.earlier_events

    def earlier_view(self) -> RunViewBuilder:
        return self._log.earlier_view()

    @property
    def replies(self) -> Mapping[str, Reply]:
        return self._log.replies

    @property
    def refused(self) -> Sequence[str]:
        return self._log.refused

    @property
    def last_hash(self) -> str:
        return self._log.hashes[-1] if self._log.hashes else FIRST_HASH

    def add(self, cause: str, encoded: Sequence[tuple[str, str]]) -> None:
        before = len(self._log.events)
        self._log.copy_turn(cause, encoded)
        publish_results(self._log, self._host, since=before, republish=False)

    async def write(self) -> None:
        log = self._log
        events, state, hashes = tuple(log.events), log.state, tuple(log.hashes)
        await to_thread.run_sync(lambda: self._folder.write(events, state, hashes=hashes))
        self._team.sync(events)
        log.refused.extend(fault for fault in self._folder.faults if fault not in log.refused)


class LocalMirrors:
    """The `Mirrors` in the store of a project."""

    def __init__(
        self, store: Store, paths: ProjectPaths, exporters_of: ExportersOf, source_of_next: SourceOfNext
    ) -> None:
        self._store = store
        self._paths = paths
        self._exporters_of = exporters_of
        self._source_of_next = source_of_next

    def create(self, spec: RunSpec) -> None:
        workflow = spec.workflow
        head = RunHead(
            spec.run, workflow.name, workflow.fingerprint, spec.created, 0, 0, FIRST_HASH, source=spec.source
        )
        self._store.create(head, {}, spec.event)

    def source_of(self, run: RunId) -> str:
        head = self._store.head(run)
        return "" if head is None else head.source

    def forget(self, run: RunId) -> None:
        self._store.forget(run)

    @asynccontextmanager
    async def open(self, run: RunId, prepared: PreparedRun) -> AsyncIterator[LogMirror]:
        host, head = prepared.host, self._store.head(run)
        assert head is not None
        with lease(self._paths.run_dir(run)):
            log = open_log(self._store, run, prepared.workflow, host.run_dir, self._source_of_next)
            folder = RunFolder(
                host.run_dir,
                host.mask,
                render=question_renderer(host.project),
                exporters=self._exporters_of(head, host.mask),
                earlier=log.earlier_view(),
                project=host.project,
            )
            mirror = LogMirror(log, prepared, folder)
            try:
                yield mirror
            finally:
                try:
                    if log.events:
                        with anyio.CancelScope(shield=True):
                            await mirror.write()
                finally:
                    log.close()
