"""A model of a cluster: runs, a server, an exchange and workers that fail, in simulated time, driven by measured figures.

It has queues and losses, and none of the rules of a run: each run is a chain of attempts. What it answers is where work
waits, what an outage costs, and how much a server and an exchange have to hold.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

Kind = Literal["ready", "queued", "worked", "reported", "failure", "back", "outage"]
DAY_S: Final = 86_400.0


class Figures(NamedTuple):
    """What was measured, in seconds and bytes."""

    server_s: float = 0.032
    """Work of the server for one attempt: its turns, its dispatch, its report."""
    worker_s: float = 0.011
    """Work of a worker for the turns of one attempt."""
    bring_s: float = 0.062
    """Getting the files of an attempt from the exchange, where there are any."""
    hand_over_s: float = 0.140
    history_bytes: int = 2_900
    """Of one attempt in the history of the server."""
    refs: int = 2
    """Refs of one attempt in the exchange, until its run has ended."""


MEASURED: Final = Figures()


class Cluster(NamedTuple):
    workers: int = 500
    slots: int = 4
    servers: int = 4
    """Cores of the server; several namespaces on several servers count together."""
    exchanges: int = 1
    heartbeat_s: float = 60.0
    failures_per_day: float = 0.1
    """Of one worker."""
    restart_s: float = 120.0
    outage_at_s: float | None = None
    """When the server goes away."""
    outage_s: float = 0.0


class Load(NamedTuple):
    runs: int = 10_000
    within_s: float = 3_600.0
    """The runs are started evenly within this time."""
    attempts: int = 10
    """Of one run, one after the other."""
    work_s: float = 120.0
    """The mean length of an attempt."""


class Result(NamedTuple):
    took_s: float
    runs_per_minute: float
    wait_s: float
    """The mean time for which an attempt waited for a slot."""
    wait_95_s: float
    lost: int
    """Attempts that were paid for twice."""
    lost_share: float
    server_busy: float
    exchange_busy: float
    slots_busy: float
    most_open: int
    """Runs open at the same time."""
    history_bytes: int
    most_refs: int


class _Desk:
    """Serves one after the other at each of its places."""

    def __init__(self, places: int) -> None:
        self._free = [0.0] * places
        self.busy = 0.0

    def serve(self, now: float, length: float) -> float:
        """When it is done."""
        begun = max(now, heapq.heappop(self._free))
        heapq.heappush(self._free, begun + length)
        self.busy += length
        return begun + length

    def close(self, until: float) -> None:
        self._free = [max(each, until) for each in self._free]


class _Attempt(NamedTuple):
    run: int
    number: int
    worker: int
    began: float


class _World:
    def __init__(self, cluster: Cluster, load: Load, figures: Figures, seed: int) -> None:
        self.cluster, self.load, self.figures = cluster, load, figures
        self.random = random.Random(seed)  # noqa: S311  # it decides nothing secret
        self.server = _Desk(cluster.servers)
        self.exchange = _Desk(cluster.exchanges)
        self.events: list[tuple[float, int, Kind, int, int]] = []
        self.count = 0
        self.waiting: deque[tuple[int, int, float]] = deque()
        self.free = [worker for worker in range(cluster.workers) for _ in range(cluster.slots)]
        self.down: set[int] = set()
        self.flying: dict[int, _Attempt] = {}
        self.waits: list[float] = []
        self.lost = 0
        self.open = self.most_open = self.ended = 0
        self.refs: dict[int, int] = {}
        self.held = self.most_refs = 0
        self.work = 0.0

    def at(self, when: float, kind: Kind, first: int = 0, second: int = 0) -> None:
        self.count += 1
        heapq.heappush(self.events, (when, self.count, kind, first, second))

    def play(self) -> float:
        load, cluster = self.load, self.cluster
        for run in range(load.runs):
            self.at(load.within_s * run / load.runs, "ready", run, 0)
        for worker in range(cluster.workers):
            self._plan_failure(0.0, worker)
        if cluster.outage_at_s is not None:
            self.at(cluster.outage_at_s, "outage")
        now = 0.0
        while self.ended < load.runs:
            now, _, kind, first, second = heapq.heappop(self.events)
            self._happen(now, kind, first, second)
        return now

    def _happen(self, now: float, kind: Kind, first: int, second: int) -> None:
        match kind:
            case "ready":
                if second == 0 and first not in self.refs:
                    self.refs[first] = 0
                    self.open += 1
                    self.most_open = max(self.most_open, self.open)
                self.at(self.server.serve(now, self.figures.server_s), "queued", first, second)
            case "queued":
                self.waiting.append((first, second, now))
            case "worked":
                if first in self.flying:
                    self.at(self.exchange.serve(now, self.figures.hand_over_s), "reported", first)
            case "reported":
                self._report(now, first)
            case "failure":
                self._fail(now, first)
            case "back":
                self.down.discard(first)
                self.free += [first] * self.cluster.slots
                self._plan_failure(now, first)
            case "outage":
                self._go_away(now)
        self._dispatch(now)

    def _dispatch(self, now: float) -> None:
        while self.waiting and self.free:
            worker = self.free.pop()
            if worker in self.down:
                continue
            run, number, since = self.waiting.popleft()
            self.waits.append(now - since)
            begun = self.exchange.serve(now, self.figures.bring_s)
            length = self.random.expovariate(1 / self.load.work_s) if self.load.work_s else 0.0
            self.count += 1
            self.flying[self.count] = _Attempt(run, number, worker, now)
            self.at(begun + length + self.figures.worker_s, "worked", self.count)

    def _report(self, now: float, key: int) -> None:
        attempt = self.flying.pop(key, None)
        if attempt is None:
            return
        self.work += now - attempt.began
        self.free.append(attempt.worker)
        self.refs[attempt.run] += self.figures.refs
        self.held += self.figures.refs
        self.most_refs = max(self.most_refs, self.held)
        if attempt.number + 1 < self.load.attempts:
            self.at(now, "ready", attempt.run, attempt.number + 1)
            return
        self.held -= self.refs[attempt.run]
        self.open -= 1
        self.ended += 1

    def _plan_failure(self, now: float, worker: int) -> None:
        if self.cluster.failures_per_day:
            pause = self.random.expovariate(self.cluster.failures_per_day / DAY_S)
            self.at(now + pause, "failure", worker)

    def _fail(self, now: float, worker: int) -> None:
        self.down.add(worker)
        self.free = [each for each in self.free if each != worker]
        self._lose(
            now, now + self.cluster.heartbeat_s, [k for k, a in self.flying.items() if a.worker == worker]
        )
        self.at(now + self.cluster.restart_s, "back", worker)

    def _go_away(self, now: float) -> None:
        back = now + self.cluster.outage_s
        self.server.close(back)
        if self.cluster.outage_s > self.cluster.heartbeat_s:
            freed = [attempt.worker for attempt in self.flying.values()]
            self._lose(now, back, list(self.flying))
            self.free += freed

    def _lose(self, now: float, retry_at: float, keys: Sequence[int]) -> None:
        for key in keys:
            attempt = self.flying.pop(key)
            self.lost += 1
            self.work += now - attempt.began
            self.at(retry_at, "ready", attempt.run, attempt.number)


def simulate_cluster(cluster: Cluster, load: Load, figures: Figures = MEASURED, seed: int = 1) -> Result:
    world = _World(cluster, load, figures, seed)
    took = world.play()
    waits = sorted(world.waits)
    attempts = load.runs * load.attempts
    return Result(
        took_s=took,
        runs_per_minute=load.runs / took * 60,
        wait_s=sum(waits) / len(waits),
        wait_95_s=waits[int(0.95 * len(waits))],
        lost=world.lost,
        lost_share=world.lost / attempts,
        server_busy=world.server.busy / took / cluster.servers,
        exchange_busy=world.exchange.busy / took / cluster.exchanges,
        slots_busy=world.work / took / (cluster.workers * cluster.slots),
        most_open=world.most_open,
        history_bytes=(attempts + world.lost) * figures.history_bytes,
        most_refs=world.most_refs,
    )
