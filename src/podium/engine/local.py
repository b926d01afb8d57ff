"""The runtime of one machine: runs in a local store, each driven by one process that holds its lease."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from podium.core.events import RunEnded
from podium.core.hash_chain import FIRST_HASH, Record, RunId
from podium.core.messages import Cancel, Command, Guide, Pause, Refusal, Tell
from podium.core.types import ABANDONED
from podium.engine.lease import is_owned, lease
from podium.errors import EXIT_CANCELLED, ConfigurationError, PodiumError
from podium.files.project_paths import ProjectPaths
from podium.ports.clock import wall_clock
from podium.ports.exporter import RunExporter
from podium.ports.runtime import (
    Accepted,
    AlreadyOwned,
    LogCheck,
    NoOwner,
    OnTurn,
    Park,
    Reply,
    RunCommand,
    RunSpec,
    Unread,
    no_such_run,
)
from podium.ports.store import RunHead, Store, TriggerEvent
from podium.redaction.mask import Mask
from podium.runtime.commands import decode_reply, encode_command
from podium.runtime.records import events_of, read_records, untrusted

if TYPE_CHECKING:
    from podium.core.state import State
    from podium.ports.agent import OnProgress
    from podium.runtime.prepared_run import PreparedRun
    from podium.runtime.routed import Mirrors

LOOK_S: Final = 0.02
"""How often the reply to a command is looked for."""
WAIT_S: Final = 0.1
PATIENCE_S: Final = 30.0
WITHDRAWN: Final = "withdrawn: its sender could not drive the run"


class RunSetup(Protocol):
    """Finds the definition of a stored run and prepares this machine for it."""

    def prepare(self, head: RunHead) -> PreparedRun: ...

    def exporters_of(self, head: RunHead, mask: Mask) -> tuple[RunExporter, ...]: ...

    def source_of_next(self, head: RunHead, inputs: Collection[str]) -> str: ...


class LocalRuntime:
    """A `Runtime`. What only a driver needs is imported when it drives: most commands only look at runs."""

    def __init__(self, store: Store, paths: ProjectPaths, setup: RunSetup) -> None:
        self.store = store
        self._paths = paths
        self._setup = setup
        self._exporters: dict[RunId, tuple[RunExporter, ...]] = {}

    def mirrors(self) -> Mirrors:
        """The copies, in this store, of runs that other machines drive."""
        from podium.engine.mirror import LocalMirrors

        return LocalMirrors(self.store, self._paths, self._setup.exporters_of, self._setup.source_of_next)

    def start(self, spec: RunSpec) -> RunId:
        workflow = spec.workflow
        head = RunHead(
            spec.run, workflow.name, workflow.fingerprint, spec.created, 0, 0, FIRST_HASH, source=spec.source
        )
        # With its start command, so that any process can start it should this one die now.
        self.store.create(head, {spec.key: encode_command(spec.start)}, spec.event)
        return spec.run

    def post(self, run: RunId, command: RunCommand, *, key: str) -> None:
        self.store.post(run, key, encode_command(command))

    async def send(self, run: RunId, command: RunCommand, *, key: str) -> Reply:
        import anyio

        if isinstance(command, Pause | Guide | Tell) and not self.is_owned(run):
            return await anyio.to_thread.run_sync(self._record, run, command, key)
        self.post(run, command, key=key)
        deadline = time.monotonic() + PATIENCE_S
        while (reply := self.store.reply(run, key)) is None:
            if not self.is_owned(run):
                # An owner may have replied and released the run since.
                reply = self.store.reply(run, key)
                return NoOwner() if reply is None else decode_reply(reply)
            if time.monotonic() > deadline:
                raise PodiumError(
                    f"the owner of run {run} has not answered for {PATIENCE_S:.0f} s",
                    hint="the command stays queued",
                )
            await anyio.sleep(LOOK_S)
        return decode_reply(reply)

    def _record(self, run: RunId, command: Pause | Guide | Tell, key: str) -> Reply:
        from podium.engine.log import open_log

        prepared = self._setup.prepare(self._head(run))
        host = prepared.host
        with lease(host.run_dir):
            log = open_log(self.store, run, prepared.workflow, host.run_dir, self._setup.source_of_next)
            try:
                result = log.handle(command, host.now(), cause=f"letter {key}")
            finally:
                log.close()
        return result if isinstance(result, Refusal) else Accepted()

    def reply(self, run: RunId, key: str) -> Reply | None:
        reply = self.store.reply(run, key)
        return None if reply is None else decode_reply(reply)

    def withdraw(self, run: RunId, key: str) -> bool:
        # Only an owner reads commands, so none is half read while the lease is ours.
        try:
            with self.reserve(run):
                for queued in self.store.commands(run):
                    if queued.name == key:
                        self.store.answer(queued, WITHDRAWN)
        except AlreadyOwned:
            return False
        return self.store.reply(run, key) == WITHDRAWN

    async def drive(
        self,
        run: RunId,
        *commands: Command,
        park: Park,
        on_turn: OnTurn | None = None,
        on_progress: OnProgress | None = None,
    ) -> State:
        import anyio

        from podium.engine.loop import RunLoop
        from podium.engine.run_owner import own_run

        head = self._head(run)
        prepared = await anyio.to_thread.run_sync(self._setup.prepare, head)  # It calls git, which blocks.
        if on_progress is not None:
            from dataclasses import replace

            prepared = replace(prepared, host=replace(prepared.host, on_progress=on_progress))
        exporters = self._setup.exporters_of(head, prepared.host.mask)
        next_source = self._setup.source_of_next
        async with own_run(self.store, prepared, exporters, next_source) as (log, owned, first):
            if log.state.ended is None:
                loop = RunLoop(log, owned, self.store, park=park, on_turn=on_turn, exporters=exporters)
                await loop.drive(*first, *commands)
        return log.state

    def head(self, run: RunId) -> RunHead | None:
        return self.store.head(run)

    def heads(self) -> tuple[RunHead, ...]:
        return self.store.heads()

    def heads_from(self, number: int) -> tuple[tuple[int, RunHead], ...]:
        return self.store.heads_from(number)

    def checked_events(self, run: RunId) -> tuple[Record, ...]:
        from podium.engine.log import against_outside, read_chain_head

        # Read first, because the log may grow meanwhile.
        outside = read_chain_head(self._paths.run_dir(run))
        records = read_records(self.store, run)
        fault = None if outside is None else against_outside(records, *outside)
        if fault is not None:
            raise untrusted(run, fault)
        return records

    def events(self, run: RunId, *, after: int = 0) -> tuple[Record, ...]:
        return read_records(self.store, run, after=after)

    def stamp(self) -> int:
        return self.store.stamp()

    async def wait(self, run: RunId, *, after: int) -> None:
        import anyio

        # Another process may append, so there is nothing in this one to wait for.
        while (head := self.store.head(run)) is not None and head.last_seq <= after:  # noqa: ASYNC110
            await anyio.sleep(WAIT_S)

    def is_owned(self, run: RunId) -> bool:
        return is_owned(self._paths.run_dir(run))

    def unread(self, run: RunId) -> Unread:
        return Unread(len(self.store.commands(run)), frozenset(self._answers(run)))

    def _answers(self, run: RunId) -> Iterator[tuple[str, int, int]]:
        from podium.engine import inbox_files

        questions = inbox_files.files_of(self._paths.state_dir, run)
        yield from (stamp for stamp in _stamps(questions) if inbox_files.is_answered(stamp))
        if run not in self._exporters:
            self._exporters[run] = self._setup.exporters_of(self._head(run), Mask())
        for exporter in self._exporters[run]:
            yield from _stamps(exporter.answer_files())

    def reserve(self, run: RunId) -> AbstractContextManager[None]:
        return lease(self._paths.run_dir(run))

    def abandon(self, run: RunId, command: Cancel) -> None:
        from podium.attempt.workspace.folder_pool import discard_workspace
        from podium.engine import inbox_files
        from podium.engine.log import to_text
        from podium.process.sweep import sweep

        with self.reserve(run):
            epoch = self.store.claim(run)
            events = events_of(self.events(run))
            if events and isinstance(events[-1], RunEnded):
                raise ConfigurationError(f"run {run} has ended: {events[-1].status}")
            message = command.reason or "its definition has changed, so it could not be resumed"
            end = RunEnded(wall_clock(), "cancelled", "cancelled", ABANDONED, EXIT_CANCELLED, {}, message)
            self.store.append(
                run,
                [(RunEnded.__name__, to_text(end))],
                after=len(events),
                epoch=epoch,
                cause=f"abandoned by {command.by}",
                status="cancelled",
            )
            # What its last owner has left.
            sweep(self._paths.marker(run))
            discard_workspace(self._paths.work_dir(run))
            inbox_files.clear(self._paths.state_dir, run)
            self.rebuild(run)

    def rebuild(self, run: RunId) -> None:
        from podium.engine.run_folder import RunFolder
        from podium.engine.team_files import TeamFiles

        # Secrets were masked before anything was stored.
        mask = Mask()
        exporters = self._setup.exporters_of(self._head(run), mask)
        folder = RunFolder(self._paths.run_dir(run), mask, exporters=exporters)
        events = events_of(self.events(run))
        folder.rebuild(events)
        # The mailboxes of a team need the workflow, which may be readable no more.
        with suppress(PodiumError):
            workflow = self._setup.prepare(self._head(run)).workflow
            TeamFiles(self._paths.run_dir(run), run, workflow, self._paths.root).sync(events)

    def verify(self, run: RunId) -> LogCheck:
        from podium.engine.verify import verify

        return verify(self.store, self._paths, self._head(run))

    def record_events(self, events: Sequence[TriggerEvent], marks: Mapping[tuple[str, str], str]) -> int:
        return self.store.record_events(events, marks)

    def trigger_events(self, *, since: int | None = None) -> tuple[TriggerEvent, ...]:
        return self.store.trigger_events(since=since)

    def trigger_mark(self, file: str, trigger: str) -> str | None:
        return self.store.trigger_mark(file, trigger)

    def drop_event(self, event: TriggerEvent, reason: str) -> None:
        self.store.drop_event(event, reason)

    def lost_runs(self) -> tuple[str, ...]:
        from podium.engine.verify import runs_without_log

        return runs_without_log(self.store, self._paths)

    def forget(self, run: RunId) -> None:
        self.store.forget(run)

    def close(self) -> None:
        self.store.close()

    def _head(self, run: RunId) -> RunHead:
        head = self.store.head(run)
        if head is None:
            raise no_such_run(run)
        return head


def _stamps(files: Iterable[Path]) -> Iterator[tuple[str, int, int]]:
    for path in files:
        # An owner may have removed it since it was listed.
        with suppress(FileNotFoundError):
            stat = path.stat()
            yield str(path), stat.st_size, stat.st_mtime_ns
