"""The folders in which Podium keeps the state of a project."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import Final, NamedTuple

from podium.errors import ConfigurationError

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
    def history(self) -> Path:
        """The database of the history."""
        return self.state_dir / "history.db"

    @property
    def outbox(self) -> Path:
        """The database of the messages to people."""
        return self.state_dir / "notifications.db"

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
        return self._work_root() / "work" / self._tag() / run

    def make_work_root(self) -> None:
        """Create the folder that has the workspaces if other users could; raises if another one owns it."""
        root = self._work_root()
        if root == cache_dir():
            return
        owned = root.parent
        owned.mkdir(mode=0o700, exist_ok=True)
        facts = owned.lstat()
        if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid() or facts.st_mode & 0o077:
            raise ConfigurationError(
                f"{owned} is not a private folder of yours",
                hint="set XDG_CACHE_HOME to a folder outside of the project",
            )

    def _work_root(self) -> Path:
        """The cache folder, or one beside all projects if the cache is in the project, such as a home under git."""
        cache = cache_dir()
        if not Path(os.path.realpath(cache)).is_relative_to(os.path.realpath(self.root)):
            return cache
        return Path(f"/var/tmp/podium-{os.getuid()}/podium")  # noqa: S108  # make_work_root checks its owner

    def base_work_dir(self, run: str) -> Path:
        """The workspaces of gates that run on the base of a run."""
        return self.work_dir(f"{run}-base")

    @property
    def base_results(self) -> Path:
        """How commands ended on trees that no agent has changed."""
        return cache_dir() / "base_results" / self._tag()

    @property
    def code_facts(self) -> Path:
        """What is known about the files of the project by their content; it may be deleted at any time."""
        return cache_dir() / "context" / f"{self._tag()}.db"

    def marker(self, run: str) -> str:
        """The marker in the environment of every process of a run, by which they are found after a crash."""
        return f"{run}-{self._tag()}"

    def _tag(self) -> str:
        """A short id of the project on this machine."""
        return hashlib.sha256(str(self.root).encode()).hexdigest()[:12]


def cache_dir() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "podium"
