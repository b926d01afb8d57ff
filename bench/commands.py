"""What a step costs that runs a command: beside a bare process and a bare commit, in one run on one machine.

Processor time, ours and that of all children, because other work on the machine changes the wall clock of a process much
more than that of a commit. The step and its floor are measured by turns, in slices of a few each, and a quick slice of
each counts (the first quarter): no machine is equally fast for long.
"""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
from collections.abc import Collection
from functools import partial
from itertools import pairwise
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Final, NamedTuple

import anyio
import apsw

from bench.engine import RUN, Cost, bare, chain_of, commit, us
from bench.sandboxes import spent
from podium.adapters.sandboxes.select import select_sandboxes
from podium.adapters.stores.sqlite import SqliteStore
from podium.attempt.host import Host
from podium.core.hash_chain import FIRST_HASH
from podium.core.messages import Start
from podium.core.payloads import RunFacts
from podium.engine.local import LocalRuntime
from podium.files.project_paths import ProjectPaths
from podium.ports.store import RunHead
from podium.process.environment import minimal_env
from podium.process.launch import Launch
from podium.process.run import run
from podium.redaction.mask import Mask
from podium.runtime.commands import encode_command
from podium.runtime.prepared_run import PreparedRun
from podium.tasks.run_context import RunContext

ROUNDS: Final = 7
BOUND: Final = 3.0
TARGET: Final = 2.0
"""Not met since a shell joins the control group of every command: docs/explanation/performance.md."""
SLICE: Final = 12
SLICES: Final = 6


def costs() -> tuple[Cost, ...]:
    steps: list[float] = []
    spawns: list[float] = []
    blocking: list[float] = []
    commits: list[float] = []
    watched: list[float] = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            # A new one each time, as the run has: see decision 32.
            db = bare(Path(folder))
            commits += [_commit(db) for _ in range(SLICES)]
            db.close()
            spawns += [asyncio.run(_spawn()) for _ in range(SLICES)]
            blocking += [_blocking() for _ in range(SLICES)]
            steps += _steps()
            watched += [anyio.run(_watched, Path(folder)) for _ in range(SLICES)]
    step, floor = quick(steps), quick(spawns) + quick(commits)
    alone = f"{us(quick(watched), quick(spawns))} for the process alone, {quick(blocking) * 1e6:.0f} µs for one that blocks"
    detail = f"{us(step, floor)}; {alone}"
    name = "a command step beside spawn and commit"
    return (Cost(name, step / floor, "x", BOUND, detail=detail, target=TARGET),)


def quick(slices: list[float]) -> float:
    """The slice at the end of the first quarter."""
    return sorted(slices)[len(slices) // 4]


class _Setup(NamedTuple):
    """One run, which is prepared."""

    run: PreparedRun

    def prepare(self, _: RunHead) -> PreparedRun:
        return self.run

    def exporters_of(self, _head: RunHead, _mask: Mask) -> tuple[()]:
        return ()

    def source_of_next(self, head: RunHead, _inputs: Collection[str]) -> str:
        return head.source


def _commit(db: apsw.Connection) -> float:
    began = spent()
    commit(db, SLICE)
    return (spent() - began) / SLICE


async def _spawn() -> float:
    """As the standard library of Python starts, hears and collects one among others; nobody looks for what it leaves."""
    began = spent()
    for _ in range(SLICE):
        process = await asyncio.create_subprocess_exec("true", stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
        await process.communicate()
    return (spent() - began) / SLICE


def _blocking() -> float:
    """As a program does it that does nothing else meanwhile."""
    began = spent()
    for _ in range(SLICE):
        subprocess.run(("true",), stdin=DEVNULL, capture_output=True, check=True)
    return (spent() - began) / SLICE


async def _watched(folder: Path) -> float:
    """As we do it."""
    launch = Launch(argv=("true",), cwd=folder, env=minimal_env(), marker="podium-bench")
    began = spent()
    for _ in range(SLICE):
        await run(launch)
    return (spent() - began) / SLICE


def _steps() -> list[float]:
    """Of one run, without its opening and its end."""
    workflow = chain_of(SLICE * (SLICES + 1))
    turns: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = SqliteStore(folder / ".podium/podium.db")
        store.create(RunHead(RUN, "bench", workflow.fingerprint, 0, 0, 0, FIRST_HASH))
        store.post(RUN, "start", encode_command(Start(RunFacts(RUN, "bench"))))
        host = Host(
            context=RunContext(RUN),
            project=folder,
            state_dir=folder / ".podium",
            work_dir=folder / "work",
            repository=None,
            agents={},
            sandboxes=select_sandboxes("none", uses_models=False),
            marker="podium-bench",
            mask=Mask(),
        )
        runtime = LocalRuntime(store, ProjectPaths(folder), _Setup(PreparedRun(workflow=workflow, host=host)))
        state = anyio.run(partial(runtime.drive, RUN, park=True, on_turn=lambda _: turns.append(spent())))
        assert state.ended is not None
        assert state.ended.status == "passed", state.ended
        store.close()
    marks = turns[::SLICE][: SLICES + 1]
    return [(after - before) / SLICE for before, after in pairwise(marks)]
