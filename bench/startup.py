"""The budget of each command as a process: processor time, imported modules and memory. Most of it is importing.

Figures are the best of several rounds, with compiled modules in place as an installed Podium has them. The ratio to an
empty Python says more than the time.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
WORKFLOW: Final = ROOT / "examples" / "ship_change" / "workflow.yaml"
ONE_STEP: Final = "podium: 1\nname: one_step\nsteps:\n  note: {set: {x: 1}}\n"
ROUNDS: Final = 15
BARE: Final = ("-c", "pass")


REPORT_MEMORY: Final = """\
import atexit, sys
atexit.register(lambda: sys.stderr.write(open("/proc/self/status").read()))
from podium.frontends.cli.main import main
main()
"""
"""The peak that `wait` reports would include that of the process which started the command."""


class Budget(NamedTuple):
    name: str
    arguments: tuple[str, ...]
    ratio: float
    """Processor time, child processes included, in multiples of that of an empty Python."""
    modules: int
    megabytes: int


# The targets in seconds where an empty Python takes 14 ms: 0.08, 0.25, 0.45, and 0.25 for the last three, which take less.
BUDGETS: Final = (
    Budget("podium --help", ("--help",), 5.7, 120, 40),
    Budget("podium validate", ("validate", str(WORKFLOW)), 17.8, 380, 60),
    Budget("podium run, one `set` step", ("run", "one_step.yaml"), 32, 620, 60),
    Budget("podium show", ("show",), 14, 230, 60),
    Budget("podium runs", ("runs",), 14, 230, 60),
    Budget("podium inbox", ("inbox",), 14, 230, 60),
)


@dataclass(frozen=True, slots=True)
class Startup:
    budget: Budget
    ms: float
    ratio: float
    modules: int
    megabytes: float

    @property
    def holds(self) -> bool:
        budget = self.budget
        return (
            self.ratio <= budget.ratio
            and self.modules <= budget.modules
            and self.megabytes <= budget.megabytes
        )


def startups() -> tuple[Startup, ...]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        surroundings = compiled_in(folder / "compiled")
        project = new_project(folder / "project", {"one_step.yaml": ONE_STEP})
        _spent(("-m", "podium", "run", "one_step.yaml"), surroundings, project)
        return tuple(_measured(budget, surroundings, project) for budget in BUDGETS)


def compiled_in(folder: Path) -> Mapping[str, str]:
    """An environment in which Python stores what it compiled, in a folder outside the sources."""
    changes = {"PYTHONPATH": str(ROOT / "src"), "PYTHONPYCACHEPREFIX": str(folder)}
    return {**os.environ, **changes, "PYTHONDONTWRITEBYTECODE": ""}


def new_project(folder: Path, files: Mapping[str, str]) -> Path:
    """A repository with these files and an empty commit."""
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    who = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    for arguments in (
        ("init", "--quiet"),
        (*who, "commit", "--quiet", "--allow-empty", "--message", "start"),
    ):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    return folder


def _measured(budget: Budget, surroundings: Mapping[str, str], project: Path) -> Startup:
    """In turn with an empty Python, because other work on the machine slows both down."""
    command = ("-m", "podium", *budget.arguments)
    rounds = [
        (_spent(BARE, surroundings, project), _spent(command, surroundings, project)) for _ in range(ROUNDS)
    ]
    # The first round compiles, and is not the best.
    bare, ms = (min(each) for each in zip(*rounds, strict=True))
    listed = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", REPORT_MEMORY, *budget.arguments],
        cwd=project,
        env=surroundings,
        capture_output=True,
        text=True,
        check=True,
    )
    peak = re.search(r"VmHWM:\s+(\d+) kB", listed.stderr)
    assert peak is not None, listed.stderr
    return Startup(budget, ms, ms / bare, listed.stderr.count("import time:"), int(peak[1]) / 1024)


def _spent(arguments: Sequence[str], surroundings: Mapping[str, str], cwd: Path) -> float:
    return spent_by((sys.executable, *arguments), surroundings, cwd)


def spent_by(
    command: Sequence[str], surroundings: Mapping[str, str], cwd: Path, *, codes: tuple[int, ...] = (0,)
) -> float:
    """The milliseconds of processor time of a process, and of its children, that must end with one of the codes."""
    child = subprocess.Popen(
        command, cwd=cwd, env=surroundings, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in codes:
        raise subprocess.CalledProcessError(child.returncode, child.args)
    return (used.ru_utime + used.ru_stime) * 1000
