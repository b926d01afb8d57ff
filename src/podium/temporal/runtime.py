"""The client of runs that workers perform: starts and commands them, and follows them into a copy on this machine."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio import to_thread
from temporalio.client import Client, WorkflowHandle, WorkflowUpdateFailedError
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from podium.core.hash_chain import RunId
from podium.core.messages import Cancel, Command, Refusal, Start
from podium.core.types import Millis
from podium.errors import ConfigurationError, PodiumError
from podium.fast_dataclass import replace
from podium.git.exchange import bring, discard, missing, network, publish_start, read_blob
from podium.ports.runtime import AlreadyOwned, OnTurn, Park, Reply, RunCommand, RunSpec
from podium.ports.store import QueuedCommand
from podium.runtime.commands import decode_command, decode_reply, encode_command
from podium.runtime.prepared_run import PreparedRun
from podium.runtime.routed import Mirrors, RunMirror
from podium.runtime.status import waits_for_person
from podium.tasks.task_json import decode_workflow, encode, encode_workflow
from podium.temporal.connection import Address, add_search_attributes, connect, one_line
from podium.temporal.looking import open_runs, started_with
from podium.temporal.payloads import is_encrypted
from podium.temporal.protocol import (
    EVENTS,
    QUEUE,
    RUN,
    SEND,
    Page,
    RunInput,
    Unreachable,
    fits,
    home_queue,
    unreachable,
)
from podium.temporal.run_files import unpack
from podium.temporal.run_hosts import named
from podium.temporal.threads import LoopThread, run_apart

if TYPE_CHECKING:
    from podium.core.model import Workflow
    from podium.core.state import State

FOLLOW_S: Final = 0.3
UPDATE_S: Final = 10.0
"""How long a process may take that only brings the copy up to date."""
PATIENCE_S: Final = 60.0
"""How long a server that does not answer is asked again by who follows a run."""
ANSWER_S: Final = 30.0
"""How long the reply to a command or a question is waited for."""


class TemporalRuntime:
    """A `RemoteRuntime`. Its connection has a thread of its own, so that calls may come from any loop or none."""

    def __init__(
        self,
        address: Address,
        mirrors: Mirrors,
        prepared: Callable[[RunId], PreparedRun],
        exchange_of: Callable[[str], str],
        *,
        heartbeat_s: float,
        continue_after: int = 0,
    ) -> None:
        self._address = address
        self._mirrors = mirrors
        self._prepared = prepared
        """Prepares a run of the project to be followed here."""
        self._exchange_of = exchange_of
        """The address of the exchange, from what a run was started with."""
        self._heartbeat_s = heartbeat_s
        self._continue_after = continue_after
        self._thread = LoopThread()
        self._client: Client | None = None
        self._taken: dict[RunId, set[str]] = {}

    def start(self, spec: RunSpec) -> RunId:
        prepared = self._prepared(spec.run)
        url = self._publish(spec, prepared)
        parameters = RunInput(
            run=spec.run,
            definition=encode_workflow(spec.workflow),
            context=encode(replace(prepared.host.context, base_commit=spec.start.run.base)),
            start=dict(encode_command(spec.start)),
            exchange=url,
            heartbeat_s=self._heartbeat_s,
            searchable=False,
            continue_after=self._continue_after,
            turns=[],
            replies={},
            files=[],
            deliveries=0,
            source=spec.source,
            home=home_queue(prepared.host.project),
        )
        if not fits(parameters):
            raise ConfigurationError("the workflow and its inputs are too large to be sent to the server")
        self._mirrors.create(spec)
        try:
            self._thread.call(self._start(parameters))
        except BaseException:
            self._mirrors.forget(spec.run)
            raise
        return spec.run

    def _publish(self, spec: RunSpec, prepared: PreparedRun) -> str:
        """Hand over what the run starts from; returns the address of the exchange."""
        repository, start = prepared.host.repository, spec.start
        assert repository is not None
        url = self._exchange_of(spec.source)
        names = [start.run.base, *([start.tree] if start.tree else [])]
        publish_start(repository, url, spec.run, names, start.run.branch, start.run.base)
        return url

    async def _start(self, parameters: RunInput) -> None:
        client = await self._connected()
        # Search attributes are never encrypted, and the names of people are in them.
        parameters["searchable"] = not is_encrypted() and await add_search_attributes(client)
        try:
            await client.start_workflow(
                RUN,
                parameters,
                id=parameters["run"],
                task_queue=QUEUE,
                task_timeout=_seconds(5),
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
            )
        except WorkflowAlreadyStartedError:
            raise PodiumError(f"{self._address} already has a run {parameters['run']}") from None

    def post(self, run: RunId, command: RunCommand, *, key: str) -> Reply:
        return self._thread.call(self._say(run, command, key))

    async def send(self, run: RunId, command: RunCommand, *, key: str) -> Reply:
        return await to_thread.run_sync(
            lambda: self._thread.call(self._say(run, command, key)), abandon_on_cancel=True
        )

    async def _say(self, run: RunId, command: RunCommand, key: str) -> Reply:
        handle = await self._handle(run)
        body = dict(encode_command(command))
        try:
            reply = await asyncio.wait_for(handle.execute_update(SEND, args=[key, body], id=key), ANSWER_S)
        except WorkflowUpdateFailedError as error:
            cause = error.cause
            if isinstance(cause, ApplicationError):
                return Refusal(cause.type or "refused", cause.message)
            return Refusal("refused", str(cause))
        except TimeoutError:
            raise unreachable(
                run, str(self._address), "no worker takes its turns; the command may still count"
            ) from None
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return Refusal("ended", f"run {run} has ended, or {self._address} does not know it")
            raise unreachable(run, str(self._address), one_line(error)) from error
        return decode_reply(reply)

    async def drive(self, run: RunId, *commands: Command, park: Park, on_turn: OnTurn | None = None) -> State:
        """Follow the run; workers drive it, so an interrupt here changes nothing about it."""
        for command in commands:
            reply = await self.send(run, command, key=uuid.uuid4().hex)
            if isinstance(reply, Refusal):
                raise ConfigurationError(reply.message, code="refused")
        prepared = await to_thread.run_sync(self._prepared, run)
        async with self._copy_to_follow(run, prepared) as mirror:
            while True:
                for key, note in mirror.dropped():
                    await self.send(run, note, key=key)
                is_new = await self._take_patiently(mirror, prepared)
                if is_new and on_turn is not None:
                    on_turn(mirror)
                if mirror.state.ended is not None:
                    await self._finish(run, prepared)
                    return mirror.state
                if not is_new and park and mirror.state.started is not None and _may_leave(mirror, park):
                    return mirror.state
                if not is_new:
                    await mirror.write()
                    await anyio.sleep(FOLLOW_S)

    @asynccontextmanager
    async def _copy_to_follow(self, run: RunId, prepared: PreparedRun) -> AsyncIterator[RunMirror]:
        """The copy of the run; a process that only brings it up to date has it for a moment."""
        deadline = anyio.current_time() + UPDATE_S
        async with AsyncExitStack() as stack:
            mirror: RunMirror | None = None
            while mirror is None:
                try:
                    mirror = await stack.enter_async_context(self._mirrors.open(run, prepared))
                except AlreadyOwned:
                    if anyio.current_time() > deadline:
                        raise
                    await anyio.sleep(FOLLOW_S)
            yield mirror

    def update(self, run: RunId) -> None:
        async def take() -> None:
            prepared = await to_thread.run_sync(self._prepared, run)
            try:
                async with self._mirrors.open(run, prepared) as mirror:
                    while await self._take_page(mirror, prepared):
                        pass
                    if mirror.state.ended is not None:
                        await self._finish(run, prepared)
            except AlreadyOwned:
                pass  # Another process follows it, so the copy is as new as it can be.

        run_apart(take)

    async def _take_patiently(self, mirror: RunMirror, prepared: PreparedRun) -> bool:
        """Take a page; a server that is away for a moment does not end the view of a run."""
        deadline = anyio.current_time() + PATIENCE_S
        while True:
            try:
                return await self._take_page(mirror, prepared)
            except Unreachable:
                if anyio.current_time() > deadline:
                    raise
            await anyio.sleep(1)

    async def _take_page(self, mirror: RunMirror, prepared: PreparedRun) -> bool:
        """Copy the next events with the objects and files they name; False if there are none."""
        after = len(mirror.events)
        page = await to_thread.run_sync(lambda: self._thread.call(self._ask(mirror.run, after)))
        if not page["events"]:
            return False
        await to_thread.run_sync(self._bring, prepared, page)
        for cause, events in groupby(page["events"], key=lambda event: event[0]):
            mirror.add(cause, [(kind, body) for _, kind, body in events])
        if len(mirror.events) == page["count"] and mirror.last_hash != page["last_hash"]:
            raise PodiumError(f"the copy of run {mirror.run} differs from the run; delete it: podium gc")
        return True

    def _bring(self, prepared: PreparedRun, page: Page) -> None:
        host = prepared.host
        assert host.repository is not None
        git = network(host.repository)
        names = [name for _, _, body in page["events"] for name in _objects_in(body)]
        if missing(git, [*names, *page["files"]]):
            bring(git, self._exchange(host.run), host.run)
        unpacked = self._taken.setdefault(host.run, set())
        for name in page["files"]:
            if name not in unpacked:
                unpack(read_blob(git, name), host.state_dir, only=_own_folders(host.run))
                unpacked.add(name)

    async def _finish(self, run: RunId, prepared: PreparedRun) -> None:
        """The run has ended and is copied, so the exchange need not keep its objects."""
        repository = prepared.host.repository
        assert repository is not None
        url = self._exchange(run)
        await to_thread.run_sync(discard, network(repository), url, run)

    def _exchange(self, run: RunId) -> str:
        return self._exchange_of(self._mirrors.source_of(run))

    async def _ask(self, run: RunId, after: int) -> Page:
        handle = await self._handle(run)
        try:
            page: Page = await asyncio.wait_for(handle.query(EVENTS, after), ANSWER_S)
        except TimeoutError:
            raise unreachable(run, str(self._address), "no worker takes its turns") from None
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                raise PodiumError(
                    f"{self._address} does not know run {run}", hint=f"podium cancel {run} --force"
                ) from None
            raise unreachable(run, str(self._address), one_line(error)) from error
        return page

    def take_up(self, waiting_for: str | None, has_commit: Callable[[str], bool]) -> tuple[list[RunId], int]:
        """Copy the runs of this project that have not ended; their ids, and how many the server has of others."""
        runs, others = [], 0
        for run in self._thread.call(self._open_runs(waiting_for)):
            if self._mirrors.source_of(run) or self._create_copy(run, has_commit):
                self.update(run)
                runs.append(run)
            else:
                others += 1
        return runs, others

    async def _open_runs(self, waiting_for: str | None) -> tuple[RunId, ...]:
        return await open_runs(await self._connected(), waiting_for)

    def _create_copy(self, run: RunId, has_commit: Callable[[str], bool]) -> bool:
        """Make room for the copy of a run that another client has started; False if it is of another project."""
        origin = self._thread.call(self._started_with(run))
        start = decode_command(QueuedCommand(0, run, "start", origin["start"]))
        if not (isinstance(start, Start) and origin["source"] and has_commit(start.run.base)):
            return False
        workflow = decode_workflow(origin["definition"])
        # As this client reaches the server: its name for it may be another one.
        source = json.dumps({**json.loads(origin["source"]), "on": str(self._address)})
        self._mirrors.create(
            RunSpec(
                run=run, workflow=workflow, created=Millis(origin["started_at"]), source=source, start=start
            )
        )
        return True

    def definition_of(self, run: RunId) -> Workflow:
        """The compiled workflow that a run was started with."""
        return decode_workflow(self._thread.call(self._started_with(run))["definition"])

    async def _started_with(self, run: RunId) -> Mapping[str, Any]:
        return await started_with(await self._connected(), run)

    def abandon(self, run: RunId, command: Cancel) -> None:
        raise ConfigurationError(
            f"run {run} is driven by workers, which have its definition", hint=f"podium cancel {run}"
        )

    def close(self) -> None:
        self._thread.close()

    async def _connected(self) -> Client:
        if self._client is None:
            self._client = await connect(self._address)
        return self._client

    async def _handle(self, run: RunId) -> WorkflowHandle[Any, Any]:
        return (await self._connected()).get_workflow_handle(run)


def _may_leave(mirror: RunMirror, park: Park) -> bool:
    state = mirror.state
    return state.paused or waits_for_person(state, or_time=park == "clock")


def _own_folders(run: RunId) -> tuple[str, ...]:
    return (f"runs/{run}/", "blobs/", "reports/")


def _objects_in(body: str) -> Iterator[str]:
    yield from named(json.loads(body))


def _seconds(count: float) -> Any:
    from datetime import timedelta

    return timedelta(seconds=count)
