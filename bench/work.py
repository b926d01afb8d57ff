"""What work costs through the command line: commands and agents beside what they run bare, and a large repository.

Figures are processor time with that of all children, except for the large repository, where waiting for the disk counts.
What a further step takes is the difference of two runs. Bare processes are counted with everything they leave to be
collected, as ours are.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from statistics import median
from subprocess import DEVNULL, PIPE
from typing import Final

from bench.engine import Cost
from bench.startup import ROOT, compiled_in, new_project, spent_by
from podium.adapters.sandboxes import bubblewrap_argv, bubblewrap_probe
from podium.adapters.sandboxes.bubblewrap import wrap_launch
from podium.git.workdir.folder import give_ownership
from podium.ports.sandbox import SandboxPolicy
from podium.process.environment import minimal_env
from podium.process.launch import Launch

ROUNDS: Final = 5
COMMANDS: Final = 60
ATTEMPTS: Final = 15
FILES: Final = 30_000
COMMAND_BOUNDS: Final = {"limits": 3.0, "bubblewrap": 1.5}
COMMAND_TARGET: Final = 1.5
HEAD: Final = "podium: 1\nname: bench\nlimits: {transitions: 50000, time: 4h}\n"
AGENT: Final = (
    "agents:\n  agent: {type: command, command: [sh, -c, 'cat > note; echo done; echo x >> f.txt'],"
    " price: {input: 0, output: 0}}\n"
)
IDENTITY: Final = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
_SET_CHILD_SUBREAPER: Final = 36


def costs() -> tuple[Cost, ...]:
    with tempfile.TemporaryDirectory() as name:
        bench = _Work(Path(name))
        return (*bench.commands(), *bench.agents(), *bench.large_repository())


class _Work:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment: Mapping[str, str] = compiled_in(folder / "compiled")
        self._project = new_project(folder / "project", {"f.txt": "1\n"})
        _git(self._project, "add", "f.txt")
        _git(self._project, "commit", "-q", "-m", "file")
        self._run(_commands(1), "limits")
        # What a sandbox leaves to be collected comes to us.
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def commands(self) -> tuple[Cost, ...]:
        found = [self._command("limits", (), "spawn")]
        if bubblewrap_probe.probe() is None:
            found.append(self._command("bubblewrap", self._sandboxed_true(), "bwrap"))
        return tuple(found)

    def _command(self, level: str, argv: tuple[str, ...], name: str) -> Cost:
        """What a further one takes, by turns with a further process of a program that starts nothing else."""
        counts = (1, 1 + COMMANDS)
        rounds: list[tuple[float, float]] = []
        for _ in range(ROUNDS):
            floors = [self._floor(count, argv) for count in counts]
            runs = [self._run(_commands(count), level) for count in counts]
            rounds.append(((runs[1] - runs[0]) / COMMANDS, (floors[1] - floors[0]) / COMMANDS))
        # Other work on the machine slows both sides of a round.
        ratios = sorted(own / bottom for own, bottom in rounds)
        step, bottom = (median(each) for each in zip(*rounds, strict=True))
        detail = f"{step * 1e3:.1f} ms beside {bottom * 1e3:.1f} ms; {ratios[0]:.1f} to {ratios[-1]:.1f}"
        what = f"a further command, {level}, beside {name}, commit"
        return Cost(what, median(ratios), "x", COMMAND_BOUNDS[level], detail=detail, target=COMMAND_TARGET)

    def _floor(self, number: int, argv: tuple[str, ...]) -> float:
        command = (sys.executable, "-m", "bench.floor", str(self._folder), str(number), *argv)
        return spent_by(command, self._environment, ROOT) / 1000

    def agents(self) -> tuple[Cost, ...]:
        rounds = []
        for _ in range(ROUNDS):
            few, many = (self._run(_attempts(number), "limits") for number in (1, 1 + ATTEMPTS))
            rounds.append(((many - few) / ATTEMPTS, self._work_tree_and_spawn()))
        own, other = (median(each) for each in zip(*rounds, strict=True))
        program = median(_spent_by(("sh", "-c", "cat > /dev/null; echo done")) for _ in range(COMMANDS))
        detail = f"{own * 1e3:.0f} ms beside {other * 1e3:.0f} ms"
        return (
            Cost("a further agent beside `git worktree add`, spawn", own / other, "x", 5, detail=detail),
            Cost("a further agent beyond its program", (own - program) * 1e3, "ms", 100),
        )

    def _work_tree_and_spawn(self) -> float:
        began = _spent()
        _git(self._project, "worktree", "add", "-q", "--detach", str(self._folder / "tree"))
        subprocess.run(("sh", "-c", "cat > /dev/null; echo done"), stdin=DEVNULL, stdout=PIPE, check=True)
        _git(self._project, "worktree", "remove", "--force", str(self._folder / "tree"))
        return _spent() - began

    def large_repository(self) -> tuple[Cost, ...]:
        project = self._folder / "large"
        _import_files(project)
        began = time.perf_counter()
        _git(project, "checkout", "-q", "-f", "main")
        checkout = time.perf_counter() - began
        first, *others = self._attempt_seconds(_attempts(6), project)
        further = min(others)  # Other work on the machine only adds to a wall time.
        detail = f"{further:.2f} s beside {checkout:.2f} s; the first {first:.1f} s"
        name = f"a further agent in {FILES:,} files beside git checkout"
        return (
            Cost(name, further / checkout, "x", 0.5, detail=detail),
            Cost(f"a further agent in {FILES:,} files", further, "s", 0.5),
        )

    def _attempt_seconds(self, text: str, project: Path) -> list[float]:
        """Of each attempt, by the times in the log: the first one depends on what the disk did before."""
        (project / "run.yaml").write_text(HEAD + text)
        self._podium(project, "run", "run.yaml", "--sandbox", "limits")
        events = [json.loads(line) for line in self._podium(project, "events", "--json").splitlines()]
        times = {
            (event["type"], event["data"]["path"]): datetime.fromisoformat(event["at"])
            for event in events
            if event["type"] in ("AttemptStarted", "AttemptEnded")
        }
        paths = [path for kind, path in times if kind == "AttemptEnded"]
        return [
            (times["AttemptEnded", path] - times["AttemptStarted", path]).total_seconds() for path in paths
        ]

    def _podium(self, project: Path, *args: str) -> str:
        command = (sys.executable, "-m", "podium", *args)
        done = subprocess.run(
            command, cwd=project, env=self._environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    def _run(self, text: str, level: str) -> float:
        (self._project / "run.yaml").write_text(HEAD + text)
        command = (sys.executable, "-m", "podium", "run", "run.yaml", "--sandbox", level)
        return spent_by(command, self._environment, self._project) / 1000

    def _sandboxed_true(self) -> tuple[str, ...]:
        """The very command line that a command step has, without the filter of system calls."""
        writable = tuple(self._folder / name for name in ("work", "home", "tmp"))
        for folder in writable:
            folder.mkdir()
            if os.geteuid() == 0:
                give_ownership(folder, (bubblewrap_argv.NOBODY, bubblewrap_argv.NOBODY))
        launch = Launch(argv=("true",), cwd=writable[0], env=minimal_env(), marker="podium-bench")
        return wrap_launch(launch, SandboxPolicy(writable=writable), is_root=os.geteuid() == 0).argv


def _spent_by(argv: tuple[str, ...]) -> float:
    began = _spent()
    subprocess.run(argv, stdin=DEVNULL, capture_output=True, check=True)
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    return _spent() - began


def _spent() -> float:
    used = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def _git(folder: Path, *args: str, stdin: bytes = b"") -> None:
    subprocess.run(
        ("git", *IDENTITY, *args), cwd=folder, input=stdin, check=True, stdout=DEVNULL, stderr=DEVNULL
    )


def _import_files(project: Path) -> None:
    """A repository of many files, not yet checked out."""
    project.mkdir()
    _git(project, "init", "-q", "-b", "main")
    parts = [b"commit refs/heads/main\ncommitter bench <bench@localhost> 0 +0000\ndata 3\nall\n"]
    for number in range(FILES):
        content = f"value_{number} = {number}\n".encode() * 60
        path = f"src/pkg{number % 15}/mod{number % 300}/f{number}.py"
        parts.append(f"M 100644 inline {path}\ndata {len(content)}\n".encode() + content + b"\n")
    parts.append(b"M 100644 inline f.txt\ndata 2\n1\n\n")
    _git(project, "fast-import", "--quiet", stdin=b"".join(parts))


def _commands(number: int) -> str:
    return "steps:\n" + "".join(f'  s{index}: {{run: "true"}}\n' for index in range(number))


def _attempts(number: int) -> str:
    return (
        AGENT + "steps:\n" + "".join(f"  s{index}: {{agent: agent, prompt: go}}\n" for index in range(number))
    )
