"""The activity of a worker: performs one task, hands over what it made, and returns its report.

Failures of the work are reports. What is raised is about this worker: it lacks something, it stops, or the exchange does
not answer; nothing of the work has happened then, or, for a worker that stops, the core books it.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import anyio
from anyio import to_thread
from temporalio import activity
from temporalio.exceptions import ApplicationError

from podium.attempt.host import Host
from podium.attempt.perform import perform
from podium.core.codec import encode
from podium.core.events import (
    AttemptEnded,
    AttemptGuided,
    AttemptLost,
    AttemptTaken,
    FactsFound,
    JoinEnded,
    ToolAsked,
    WaitEnded,
)
from podium.core.messages import Fired, Recover
from podium.core.payloads import Amounts
from podium.errors import ConfigurationError, PodiumError, disk_fault
from podium.fast_dataclass import replace
from podium.git.exchange import ExchangeFault, bring_branches, hand_over, hand_over_branches
from podium.git.trees.objects import write
from podium.tasks.task import AttemptTask, LandWork, Task
from podium.tasks.task_json import decode_task
from podium.temporal.protocol import EXCHANGE, HANDED_BACK, PERFORM, UNABLE, fits
from podium.temporal.run_files import AttemptFiles
from podium.temporal.run_hosts import RunHost, RunHosts, named

EventReport = (
    AttemptTaken | AttemptGuided | ToolAsked | AttemptEnded | AttemptLost | WaitEnded | FactsFound | JoinEnded
)

Lacks = Callable[[AttemptTask, Host], tuple[str, ...]]
"""What this machine lacks for a task, one line each."""
LANDING_TRIES: Final = 5
HAND_OVER_S: Final = 3600.0
"""How long the result of work that is done is offered to an exchange that does not answer."""
LONGEST_PAUSE_S: Final = 15.0


class Performer:
    def __init__(self, runs: RunHosts, lacks: Lacks, worker: str) -> None:
        self._runs = runs
        self._lacks = lacks
        self._worker = worker

    @activity.defn(name=PERFORM)
    async def perform(self, delivery: dict[str, Any]) -> dict[str, Any]:
        beating = asyncio.create_task(_beat())
        scope = anyio.CancelScope()
        work = asyncio.create_task(self._within(scope, delivery))
        try:
            done: dict[str, Any] = await asyncio.shield(work)
            return done
        except asyncio.CancelledError:
            scope.cancel()
            # Only when its processes are gone is it confirmed that the attempt is cancelled.
            result: dict[str, Any] | None = await work
            if result is not None:
                return result
            if activity.is_worker_shutdown():
                raise ApplicationError(
                    f"worker {self._worker} stops", type=HANDED_BACK, non_retryable=True
                ) from None
            raise
        finally:
            beating.cancel()

    async def _within(self, scope: anyio.CancelScope, delivery: dict[str, Any]) -> Any:
        """The result; None if it was cancelled."""
        with scope:
            return await self._perform(delivery)
        return None

    async def _perform(self, delivery: dict[str, Any]) -> dict[str, Any]:
        task = decode_task(delivery["task"])
        try:
            opened = await self._runs.open(delivery)
        except ExchangeFault as error:
            raise ApplicationError(f"{self._worker}: {error.message}", type=EXCHANGE) from error
        except (ConfigurationError, OSError) as error:
            raise self._unable(str(error)) from error
        try:
            lacks = self._lacks(task, opened.host) if isinstance(task, AttemptTask) else ()
            if lacks:
                raise self._unable("; ".join(lacks))
            return await self._deliver(task, opened, delivery)
        finally:
            self._runs.close(opened)

    def _unable(self, message: str) -> ApplicationError:
        return ApplicationError(f"{self._worker}: {message}", type=UNABLE)

    async def _deliver(self, task: Task, opened: RunHost, delivery: dict[str, Any]) -> dict[str, Any]:
        files = await to_thread.run_sync(
            opened.files.lay_out, delivery["files"], delivery["published"], opened.host, delivery["number"]
        )
        try:
            host = replace(opened.host, state_dir=files.folder)
            if isinstance(task, AttemptTask) and isinstance(task.work, LandWork):
                report = await self._land(task, opened, host)
            else:
                report = await self._report(task, host)
            return await _handed_over(report, opened, files)
        finally:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(files.discard)

    async def _report(self, task: Task, host: Host) -> EventReport | None:
        try:
            report = await perform(task, host)
        except Exception as error:
            if disk_fault(error) is not None:
                raise self._unable(str(error)) from error
            if not isinstance(task, AttemptTask):
                raise
            activity.logger.error(host.mask.text(traceback.format_exc()))
            return _broken(task, host, error)
        assert not isinstance(report, Fired | Recover)
        return report

    async def _land(self, task: AttemptTask, opened: RunHost, host: Host) -> EventReport | None:
        """Move branches in the clone, then in the exchange; if they have moved there meanwhile, once more from the start."""
        async with self._runs.landing_lock(opened.url):
            for _ in range(LANDING_TRIES):
                before = await _patiently(lambda: bring_branches(opened.git, opened.url, opened.run))
                report = await self._report(task, host)
                with anyio.CancelScope(shield=True):
                    if await _patiently(
                        lambda start=before: hand_over_branches(opened.git, opened.url, opened.run, start)  # type: ignore[misc]  # a default binds it
                    ):
                        return report
        text = f"others moved the branch in the exchange {LANDING_TRIES} times while this landed"
        return _broken(task, host, PodiumError(text))


async def _handed_over(report: EventReport | None, opened: RunHost, files: AttemptFiles) -> dict[str, Any]:
    """The result, once everything that it names is in the exchange. Not interrupted: the work is done and paid for."""
    encoded, blob = None if report is None else encode(report), ""
    with anyio.CancelScope(shield=True):
        archive = await to_thread.run_sync(files.written)
        if archive:
            repository = opened.host.repository
            assert repository is not None
            blob = await to_thread.run_sync(write, repository.objects, "blob", archive)
        names = [*named(encoded), *([blob] if blob else [])]
        if names:
            await _patiently(lambda: hand_over(opened.git, opened.url, opened.run, names))
    if isinstance(report, AttemptEnded) and not fits(encoded):
        encoded = encode(_too_large(report))
    return {"report": encoded, "files": blob}


async def _patiently(act: Callable[[], Any]) -> Any:
    """The result of talking to the exchange, which may be away for a while."""
    pause, deadline = 0.5, anyio.current_time() + HAND_OVER_S
    while True:
        try:
            return await to_thread.run_sync(act)
        except ExchangeFault as error:
            if anyio.current_time() > deadline:
                raise ApplicationError(error.message, type=HANDED_BACK) from error
        await anyio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE_S)


async def _beat() -> None:
    """Tell the server that this worker lives."""
    timeout = activity.info().heartbeat_timeout
    pause = 1.0 if timeout is None else timeout.total_seconds() / 4
    with suppress(asyncio.CancelledError):
        while True:
            activity.heartbeat()
            await asyncio.sleep(min(pause, 5.0))


def _too_large(report: AttemptEnded) -> AttemptEnded:
    message = "its result is too large to be sent; write long texts into files"
    return replace(report, kind="error", reason="too_large", result={"text": "", "message": message})


def _broken(task: AttemptTask, host: Host, error: Exception) -> AttemptEnded:
    """The end of an attempt that failed by no fault of the workflow; an agent may have been called."""
    message = error.message if isinstance(error, PodiumError) else f"{type(error).__name__}: {error}"
    started = task.started
    calls = 0 if isinstance(error, ConfigurationError) else started.reserve.calls
    result = {"text": "", "message": host.mask.text(message)}
    end = AttemptEnded(host.now(), started.path, started.attempt, "error", "internal", result)
    return replace(end, used=Amounts(calls=calls), cost_known=not calls)
