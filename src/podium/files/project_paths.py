"""The folders in which Podium keeps the state of a project."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final, NamedTuple

STATE_DIR: Final = ".podium"
EXPIRY: Final = "expires"
"""The file of a run folder with the time, in milliseconds, after which `podium gc` may delete the run."""


class ProjectPaths(NamedTuple):
    root: Path
    """The top of the project's repository, or the project's folder outside git."""
    elsewhere: Path | None = None
    """The state folder of a run that is stored separately from the project's runs."""

    @property
    def state_dir(self) -> Path:
        return self.root / STATE_DIR if self.elsewhere is None else self.elsewhere

    @property
    def database(self) -> Path:
        return self.state_dir / "podium.db"

    @property
    def runs_dir(self) -> Path:
        return self.state_dir / "runs"

    @property
    def trees(self) -> Path:
        """Podium's own git folder, for reading trees; always that of the project."""
        return self.root / STATE_DIR / "git"

    def run_dir(self, run: str) -> Path:
        """The run folder."""
        return self.runs_dir / run

    def work_dir(self, run: str) -> Path:
        """The workspaces of a run while it is driven; outside the project."""
        return cache_dir() / "work" / self._tag() / run

    def base_work_dir(self, run: str) -> Path:
        """The workspaces of gates that run on the base of a run."""
        return self.work_dir(f"{run}-base")

    @property
    def base_results(self) -> Path:
        """How commands ended on trees that no agent has changed."""
        return cache_dir() / "base_results" / self._tag()

    def marker(self, run: str) -> str:
        """The marker in the environment of every process of a run, by which they are found after a crash."""
        return f"{run}-{self._tag()}"

    def _tag(self) -> str:
        """A short id of the project on this machine."""
        return hashlib.sha256(str(self.root).encode()).hexdigest()[:12]


def cache_dir() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "podium"
