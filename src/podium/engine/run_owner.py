"""Owns one run in this process: takes it over, cleans up after a crash, and keeps its folder up to date meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

import anyio

from podium.attempt.host import Host
from podium.attempt.persons_work import close_worktrees
from podium.attempt.workspace import workspace
from podium.attempt.workspace.folder_pool import discard_workspace
from podium.core.events import AttemptEnded, RunStarted
from podium.core.messages import Message, Recover, Start
from podium.engine.lease import lease
from podium.engine.log import Log, SourceOfNext, open_log
from podium.engine.published_files import publish_results
from podium.engine.run_folder import RunFolder
from podium.files.project_paths import ProjectPaths
from podium.git.repository import REFS, Person, Signature, clear_locks, component, keep, write_commit
from podium.ports.exporter import RunExporter
from podium.ports.store import Store, StoreError
from podium.process.sweep import sweep
from podium.runtime.commands import decode_command
from podium.runtime.passed_steps import has_passed
from podium.runtime.prepared_run import PreparedRun
from podium.runtime.question_text import question_renderer
from podium.runtime.records import read_records
from podium.runtime.series import START_REF

WRITE_S: Final = 0.5
"""How far the files of the run folder may be behind the log."""


class OwnedRun(NamedTuple):
    log: Log
    run: PreparedRun
    first: tuple[Message, ...]
    """What the loop handles first."""


@asynccontextmanager
async def own_run(
    store: Store, run: PreparedRun, exporters: Sequence[RunExporter], source_of_next: SourceOfNext
) -> AsyncIterator[OwnedRun]:
    """Own a run while inside: no other process drives it, and its folder follows its log."""
    host = run.host
    with lease(host.run_dir):
        head = store.head(host.run)
        if head is not None and head.last_seq:
            # First: a run that cannot be driven, because its file was changed, must not leave anything either.
            await clean_up(host)
        log = open_log(store, host.run, run.workflow, host.run_dir, source_of_next)
        log.presence = host.presence
        render = question_renderer(host.project)
        folder = RunFolder(
            host.run_dir,
            host.mask,
            render=render,
            exporters=exporters,
            earlier=log.earlier_view(),
            project=host.project,
        )
        try:
            if log.state.ended is not None:
                await _finish(store, log, host, folder)
                yield OwnedRun(log, run, ())
                return
            start = _start(store, log)
            if not log.events and start.run.series is not None:
                await anyio.to_thread.run_sync(_keep_start, host, start)
            host = replace(
                host,
                context=replace(host.context, base_commit=start.run.base or None),
                passed_steps=partial(has_passed, store.heads, partial(read_records, store), host.run),
                write_files=partial(_write, folder, log) if exporters else host.write_files,
            )
            async with _written(folder, log, host):
                yield OwnedRun(log, replace(run, host=host), (Recover(log.epoch),) if log.events else ())
        finally:
            log.close()


async def clean_up(host: Host) -> None:
    """Remove what an owner that died has left: processes, workspaces, locks of its git."""
    await anyio.to_thread.run_sync(sweep, host.marker)
    await workspace.clear(host)
    await anyio.to_thread.run_sync(discard_workspace, ProjectPaths(host.project).base_work_dir(host.run))
    if host.repository is not None:
        await anyio.to_thread.run_sync(clear_locks, host.repository, host.run)


def _start(store: Store, log: Log) -> RunStarted | Start:
    """What the run was started with; before its first event that is only in the queued start command."""
    if log.state.started is not None:
        return log.state.started
    for queued in store.commands(log.run):
        command = decode_command(queued)
        if isinstance(command, Start):
            return command
    raise StoreError(f"run {log.run} was never started", hint="start a new one with: podium run")


def _keep_start(host: Host, start: RunStarted | Start) -> None:
    """Keep the tree that a run of a series starts from, which is on no branch: the refs of the run before may be deleted."""
    if host.repository is None or start.tree is None:
        return
    podium = Person("Podium", "podium@localhost")
    commit = write_commit(
        host.repository,
        start.tree,
        parents=(start.run.base,) if start.run.base else (),
        message=f"Start of run {host.run}",
        signature=Signature(podium, podium, 0),
    )
    keep(host.repository, f"{REFS}/{component(host.run)}/{START_REF}/1", commit)


async def _finish(store: Store, log: Log, host: Host, folder: RunFolder) -> None:
    """Complete the files of a run that has ended: its owner may have died after the last event."""
    assert log.state.ended is not None
    publish_results(log, host, republish=True)
    await _write(folder, log)
    for queued in store.commands(host.run):
        log.reply(queued, f"run {host.run} has ended: {log.state.ended.status}")


@asynccontextmanager
async def _written(folder: RunFolder, log: Log, host: Host) -> AsyncIterator[None]:
    """Keep the run folder up to date; at the end write it once more and remove the workspaces."""
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_keep_written, folder, log)
            yield
            group.cancel_scope.cancel()
    finally:
        # Also after an interrupt: the files tell how far the run has come.
        with anyio.CancelScope(shield=True):
            await _write(folder, log)
            log.refused.extend(folder.faults)
            await workspace.clear(host)
            if log.state.ended is not None and log.state.ended.status == "passed":
                attempts = tuple(event for event in log.events if isinstance(event, AttemptEnded))
                await anyio.to_thread.run_sync(close_worktrees, host, attempts)


async def _keep_written(folder: RunFolder, log: Log) -> None:
    """Write from the first half second on: the folder of a shorter run is written once, at its end."""
    written = 0
    while True:
        await anyio.sleep(WRITE_S)
        count = len(log.events)
        if count != written:
            with anyio.CancelScope(shield=True):
                if await _write(folder, log, patient=True):
                    written = count


async def _write(folder: RunFolder, log: Log, *, patient: bool = False) -> bool:
    events, state, hashes = tuple(log.events), log.state, tuple(log.hashes)
    return await anyio.to_thread.run_sync(lambda: folder.write(events, state, patient=patient, hashes=hashes))
