"""How long a command takes as a process of its own, most of which is importing.

Figures are processor time and the best of several rounds, with compiled modules in place as an installed Podium has
them; next to each stands how many times that of an empty Python it is, which says more than the time.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
WORKFLOW: Final = ROOT / "examples" / "ship_change" / "workflow.yaml"
ROUNDS: Final = 15
BARE: Final = ("-c", "pass")
COMMANDS: Final = (
    ("podium --help", ("-m", "podium", "--help"), 150.0),
    ("podium validate", ("-m", "podium", "validate", str(WORKFLOW)), 300.0),
)
"""What is called, with what, and the most milliseconds it may take."""


@dataclass(frozen=True, slots=True)
class Startup:
    name: str
    ms: float
    ratio: float
    bound_ms: float

    @property
    def holds(self) -> bool:
        return self.ms <= self.bound_ms


def startups() -> tuple[Startup, ...]:
    with tempfile.TemporaryDirectory() as folder:
        surroundings = compiled_in(Path(folder))
        bare = _best(BARE, surroundings)
        best = [(name, _best(args, surroundings), bound) for name, args, bound in COMMANDS]
    return tuple(Startup(name, ms, ms / bare, bound) for name, ms, bound in best)


def compiled_in(folder: Path) -> Mapping[str, str]:
    """Surroundings in which Python keeps what it compiled, also where it was told not to litter the sources."""
    wanted = {"PYTHONPATH": str(ROOT / "src"), "PYTHONPYCACHEPREFIX": str(folder)}
    return {**os.environ, **wanted, "PYTHONDONTWRITEBYTECODE": ""}


def _best(args: tuple[str, ...], surroundings: Mapping[str, str]) -> float:
    """The first round compiles and is not the best."""
    return min(_spent(args, surroundings) for _ in range(ROUNDS))


def _spent(args: tuple[str, ...], surroundings: Mapping[str, str]) -> float:
    before = _children_ms()
    subprocess.run([sys.executable, *args], env=surroundings, capture_output=True, check=True)
    return _children_ms() - before


def _children_ms() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1000
