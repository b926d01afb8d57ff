"""A worker: takes turns of runs, and performs attempts, from the queues of a Temporal server until it is told to stop."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from temporalio.client import Client
from temporalio.worker import PollerBehaviorSimpleMaximum, Worker

from podium.fast_dataclass import dataclass
from podium.temporal.connection import Address, add_search_attributes, connect
from podium.temporal.next_run import CarryOn
from podium.temporal.performing import Lacks, Performer
from podium.temporal.protocol import QUEUE, home_queue, label_queue
from podium.temporal.run_hosts import HostFor, RunHosts
from podium.temporal.workflow import RunWorkflow, take_turn

POLLERS: Final = PollerBehaviorSimpleMaximum(2)
"""A frozen process swallows what its open polls receive, so it has few."""
STICKY: Final = timedelta(seconds=5)
"""How long the process that has a run in memory is waited for before another one takes it over."""
BEAT: Final = timedelta(seconds=2)
"""How often a heartbeat may be sent; its reply is how an attempt learns that it is cancelled."""
CACHED_RUNS: Final = 200
IDLE_LOOK_S: Final = 30.0


class Tell(Protocol):
    """Reports what the worker does, in a word for programs and in words for people."""

    def __call__(self, did: Literal["cleared", "ready", "stopping"], text: str, /) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    address: Address
    folder: Path
    """For clones, checkouts and files of runs; belongs to this worker alone."""
    name: str
    labels: tuple[str, ...] = ()
    slots: int = 4
    home: Path | None = None
    """The project for which it also does what belongs into its folder."""
    home_host_for: HostFor | None = None
    only: bool = False
    """Whether it takes nothing but what belongs to its labels or its home."""


async def work(settings: WorkerSettings, host_for: HostFor, lacks: Lacks, tell: Tell) -> None:
    """Returns when SIGTERM or SIGINT came and everything that was active here has been handed back."""
    runs = RunHosts(settings.folder, host_for)
    at_home = RunHosts(settings.folder / "home", settings.home_host_for or host_for, home=settings.home)
    left = await asyncio.to_thread(lambda: runs.clear_leftovers() + at_home.clear_leftovers())
    if left:
        tell("cleared", f"removed the leftovers of an earlier worker: {left} run{'s' if left > 1 else ''}")
    client = await connect(settings.address)
    await add_search_attributes(client)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stopped.set)
    async with AsyncExitStack() as stack:
        for worker in _workers(client, settings, runs, at_home, lacks):
            await stack.enter_async_context(worker)
        tell("ready", f"worker {settings.name} takes work from {settings.address}: {_about(settings)}")
        cleaning = asyncio.create_task(_discard_idle(runs, at_home))
        await stopped.wait()
        tell("stopping", "stopping: active attempts are handed back")
        cleaning.cancel()
    await runs.discard_idle(idle_s=0)
    await at_home.discard_idle(idle_s=0)


def _workers(
    client: Client, settings: WorkerSettings, runs: RunHosts, at_home: RunHosts, lacks: Lacks
) -> Iterator[Worker]:
    performer = Performer(runs, lacks, settings.name)

    def worker(queue: str, **more: Any) -> Worker:
        return Worker(
            client,
            task_queue=queue,
            identity=settings.name,
            max_concurrent_activities=settings.slots,
            activity_task_poller_behavior=POLLERS,
            max_heartbeat_throttle_interval=BEAT,
            default_heartbeat_throttle_interval=BEAT,
            **more,
        )

    if not settings.only:
        yield worker(
            QUEUE,
            workflows=[RunWorkflow],
            activities=[performer.perform, CarryOn(runs).carry_on, take_turn],
            workflow_task_poller_behavior=POLLERS,
            sticky_queue_schedule_to_start_timeout=STICKY,
            max_cached_workflows=CACHED_RUNS,
        )
    for label in settings.labels:
        yield worker(label_queue(label), activities=[performer.perform])
    if settings.home is not None:
        yield worker(home_queue(settings.home), activities=[Performer(at_home, lacks, settings.name).perform])


def _about(settings: WorkerSettings) -> str:
    labels = f"labels {', '.join(settings.labels)}" if settings.labels else "no labels"
    home = "" if settings.home is None else f", home of {settings.home}"
    only = ", nothing else" if settings.only else ""
    return f"{labels}{home}{only}, {settings.slots} attempts at once"


async def _discard_idle(*all_runs: RunHosts) -> None:
    while True:
        await asyncio.sleep(IDLE_LOOK_S)
        for runs in all_runs:
            await runs.discard_idle()
