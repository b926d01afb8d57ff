"""What it costs to look at long runs and at many, and to go on with them, through the command line.

Figures are processor time in multiples of an empty Python, and the peak of memory.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bench.command_line import HEAD, rounds
from bench.engine import Cost, chain_of
from bench.startup import BARE, ONE_STEP, REPORT_MEMORY, compiled_in, new_project, spent_by
from podium.adapters.stores.sqlite import SqliteStore
from podium.core.effects import RunAttempt
from podium.core.events import AttemptEnded
from podium.core.hash_chain import FIRST_HASH, RunId
from podium.core.messages import Refusal, Start
from podium.core.payloads import RunFacts
from podium.core.types import Millis
from podium.engine.log import open_log
from podium.files.project_paths import ProjectPaths
from podium.ports.store import RunHead

RUNS: Final = 1_000
STEPS: Final = 10_000
ROUNDS: Final = 5
RESUME_BOUND: Final = 72
"""A second, where an empty Python takes 14 ms."""


def costs() -> tuple[Cost, ...]:
    with tempfile.TemporaryDirectory() as name:
        bench = _Records(Path(name))
        return (*bench.many_runs(), *bench.long_run())


class _Records:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment: Mapping[str, str] = compiled_in(folder / "compiled")

    def many_runs(self) -> tuple[Cost, ...]:
        project = new_project(self._folder / "many", {"one_step.yaml": ONE_STEP})
        self._spent(project, "run", "one_step.yaml")
        _make_runs(project)
        return tuple(
            self._beside_empty(project, f"podium {command}, {RUNS:,} runs", (command,), bound)
            for command, bound in (("runs", 11), ("inbox", 11), ("show", 14))
        )

    def long_run(self) -> tuple[Cost, ...]:
        """The last of its steps asks, so that the run can be resumed."""
        project = new_project(self._folder / "long", {})
        (project / "long.yaml").write_text(f"{HEAD}{rounds(STEPS)}  sure: {{human: sure}}\n")
        memory = self._megabytes(project, "run", "long.yaml")
        return (
            Cost(f"memory of a run of {STEPS:,} steps", memory, "MB", 200),
            self._beside_empty(project, f"podium resume, {STEPS:,} steps", ("resume",), RESUME_BOUND),
            self._beside_empty(project, f"podium show, {STEPS:,} steps", ("show",), 90, repeats=2),
            self._beside_empty(project, f"podium events, {STEPS:,} steps", ("events",), 120, repeats=2),
        )

    def _beside_empty(  # what differs from row to row
        self,
        project: Path,
        name: str,
        arguments: tuple[str, ...],
        bound: float,
        repeats: int = ROUNDS,
    ) -> Cost:
        # By turns: the machine may have changed its speed meanwhile.
        empty = (sys.executable, *BARE)
        rounds = [
            (
                min(spent_by(empty, self._environment, project) for _ in range(5)),
                self._spent(project, *arguments),
            )
            for _ in range(repeats)
        ]
        bare, ms = (min(each) for each in zip(*rounds, strict=True))
        return Cost(f"{name}, beside an empty Python", ms / bare, "x", bound, detail=f"{ms:.0f} ms")

    def _spent(self, project: Path, *arguments: str) -> float:
        return spent_by(
            (sys.executable, "-m", "podium", *arguments), self._environment, project, codes=(0, 6)
        )

    def _megabytes(self, project: Path, *arguments: str) -> float:
        command = (sys.executable, "-c", REPORT_MEMORY, *arguments)
        done = subprocess.run(
            command, cwd=project, env=self._environment, capture_output=True, text=True, check=False
        )
        peak = re.search(r"VmHWM:\s+(\d+) kB", done.stderr)
        assert peak is not None, done.stderr
        return int(peak[1]) / 1024


def _make_runs(project: Path) -> None:
    """Runs of one step as the engine writes them; one in ten was interrupted."""
    paths = ProjectPaths(project)
    store = SqliteStore(paths.state_dir / "podium.db")
    workflow = chain_of(1)
    for number in range(RUNS):
        run = RunId(f"20260101-{number:06d}-many")
        store.create(RunHead(run, "bench", workflow.fingerprint, 0, 0, 0, FIRST_HASH))
        paths.run_dir(run).mkdir(parents=True)
        log = open_log(store, run, workflow, paths.run_dir(run))
        said = log.handle(Start(RunFacts(run, "bench")), Millis(number), cause="bench")
        assert not isinstance(said, Refusal)
        (effect,) = said
        assert isinstance(effect, RunAttempt)
        if number % 10:
            done = AttemptEnded(Millis(number), effect.started.path, 1, "ok", result={"text": ""})
            log.handle(done, Millis(number), cause="bench")
        log.close()
    store.close()
