"""What durability costs: Podium beside the bare floor and beside a peer, in one run on one machine.

A step beside its commit is measured in wall time, since waiting for the disk is the point there: by turns, in short slices
of one run each, and the middle slice of each counts, because no machine is equally fast for long. Everything else is
processor time, because other work on the machine lengthens the waiting of one side more than that of the other.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

import apsw

from bench.core import FREE, QUIET
from podium.adapters.stores.sqlite import SqliteStore
from podium.core.effects import Effect, RunAttempt
from podium.core.events import AttemptEnded
from podium.core.hash_chain import FIRST_HASH, RunId
from podium.core.messages import Refusal, Start
from podium.core.model import Block, Command, Step, Workflow
from podium.core.payloads import RunFacts
from podium.core.types import Millis
from podium.engine.log import Log, open_log
from podium.ports.store import RunHead

PEER: Final = Path(__file__).parents[1] / ".venv-bench/bin/python"
RUN: Final = RunId("20260101-000000-bench")
STEPS: Final = 700
"""As many as a new log of the floor's takes in before SQLite begins it again from the front."""
BYTES: Final = 950
"""What the four events of a step take in their table."""
SLICE: Final = 35
ROUNDS: Final = 3
PEER_BOUND: Final = 2.0
"""Of processor time. A step here is a command with four events; beside a whole `podium run` see command_line.py."""
EVENTS: Final = 10_000
MEGABYTE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Cost:
    name: str
    figure: float
    unit: str
    bound: float
    at_most: bool = True
    detail: str = ""
    target: float | None = None
    """What is aimed at, where the bound is only what holds today."""

    @property
    def holds(self) -> bool:
        return self._keeps(self.bound)

    @property
    def meets_target(self) -> bool:
        return self.target is None or self._keeps(self.target)

    def _keeps(self, bound: float) -> bool:
        return self.figure <= bound if self.at_most else self.figure >= bound


def costs() -> tuple[Cost, ...]:
    return (
        *durable_step(),
        Cost(f"taking over a run of {EVENTS} events", _resume(), "s", 0.5),
        Cost(f"memory at {EVENTS} sequential steps", weight("sequence"), "MB", 150),
        Cost("memory at a fan-out of 1000", weight("fan_out"), "MB", 150),
    )


def us(one: float, other: float) -> str:
    return f"{one * 1e6:.0f} µs beside {other * 1e6:.0f} µs"


def _best(measure: Callable[[], float]) -> float:
    return min(measure() for _ in range(3))


def chain_of(steps: int) -> Workflow:
    """That many commands, one after the other."""
    names = tuple(f"s{number}" for number in range(steps))
    body = Block(
        "seq",
        tuple(Step(name, Command(("true",)), touches=(), timeout=Millis(60_000)) for name in names),
        index={name: number for number, name in enumerate(names)},
    )
    return Workflow("bench", body, breaker=QUIET, limits=FREE, fingerprint="bench")


def durable_step() -> tuple[Cost, ...]:
    """A step beside one row of the size of its events, as durable as ours, and beside a step of the peer's.

    That row is the floor (decision 32): what SQLite takes as it comes, which grows its log at each commit.
    """
    steps: list[float] = []
    commits: list[float] = []
    later: list[float] = []
    peers = [_peer_step()] if PEER.exists() else []
    beside: list[float] = []
    own: list[float] = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            own.append(_by_turns(Path(folder), steps, commits, later))
        if peers:
            # Before and after: the machine may have changed its speed meanwhile.
            peers.append(_peer_step())
            beside.append((peers[-2] + peers[-1]) / 2 / own[-1])
    step, commit_ = median(steps), median(commits)
    detail = f"{us(step, commit_)}; {median(later) * 1e6:.0f} µs in a log that grows no more"
    found = (Cost("a durable step beside its commit", step / commit_, "x", 1.5, detail=detail),)
    if not peers:
        return found
    peer = us(median(peers), median(own))
    return (*found, Cost("LangGraph beside it", median(beside), "x", PEER_BOUND, at_most=False, detail=peer))


def _by_turns(folder: Path, steps: list[float], commits: list[float], later: list[float]) -> float:
    """Adds wall times of slices; returns the processor time of a step."""
    spent = 0.0
    floor, (store, log) = bare(folder), opened(folder, chain_of(STEPS))
    said = _started(log)
    for _ in range(STEPS // SLICE):
        commits.append(commit(floor, SLICE))
        began, before = time.perf_counter(), time.process_time()
        said = _played(log, said, SLICE)
        steps.append((time.perf_counter() - began) / SLICE)
        spent += time.process_time() - before
    assert log.state.ended is not None
    log.close()
    store.close()
    grown = [commit(floor, SLICE) for _ in range(2 * STEPS // SLICE)]
    later += grown[len(grown) // 2 :]
    floor.close()
    return spent / STEPS


def bare(folder: Path) -> apsw.Connection:
    db = apsw.Connection(str(folder / "floor.db"))
    for pragma in ("journal_mode = wal", "synchronous = full"):
        db.execute(f"pragma {pragma}").fetchall()
    db.execute("create table event (seq integer primary key, body text) strict")
    return db


def commit(db: apsw.Connection, times: int) -> float:
    """Seconds for one of them."""
    body = "x" * BYTES
    began = time.perf_counter()
    for _ in range(times):
        db.execute("begin immediate")
        db.execute("insert into event (body) values (?)", (body,))
        db.execute("commit")
    return (time.perf_counter() - began) / times


def opened(folder: Path, workflow: Workflow) -> tuple[SqliteStore, Log]:
    store = SqliteStore(folder / "podium.db")
    store.create(RunHead(RUN, "bench", workflow.fingerprint, 0, 0, 0, FIRST_HASH))
    return store, open_log(store, RUN, workflow, folder)


def play(log: Log, steps: int) -> None:
    """Drives the log to its end with a world that answers at once: nothing but turns and commits."""
    _played(log, _started(log), steps)
    assert log.state.ended is not None


def _started(log: Log) -> tuple[Effect, ...]:
    said = log.handle(Start(RunFacts(RUN, "bench")), Millis(1), cause="bench")
    assert not isinstance(said, Refusal)
    return said


def _played(log: Log, said: tuple[Effect, ...], steps: int) -> tuple[Effect, ...]:
    for _ in range(steps):
        (effect,) = said
        assert isinstance(effect, RunAttempt)
        asked = effect.started
        done = AttemptEnded(Millis(2), asked.path, asked.attempt, "ok", result={"text": "", "exit_code": 0})
        found = log.handle(done, Millis(2), cause="bench")
        assert not isinstance(found, Refusal)
        said = found
    return said


def _peer_step() -> float:
    command = (str(PEER), str(Path(__file__).with_name("peer.py")), "300")
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def _resume() -> float:
    workflow = chain_of(EVENTS // 4)
    with tempfile.TemporaryDirectory() as folder:
        store, log = opened(Path(folder), workflow)
        play(log, EVENTS // 4)
        log.close()

        def again() -> float:
            began = time.process_time()
            other = open_log(store, RUN, workflow, Path(folder))
            took = time.process_time() - began
            assert other.state.ended is not None
            other.close()
            return took

        best = _best(again)
        store.close()
    return best


def weight(shape: str) -> float:
    """The most memory that a process holds that drives a large run to its end, in megabytes."""
    command = (sys.executable, "-m", "bench.weight", shape)
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
    return float(done.stdout) / MEGABYTE
