"""What a worker has of each run that it performs attempts of: a checkout, a host, the files of the run."""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import anyio
from anyio import to_thread

from podium.attempt.host import Host
from podium.attempt.persons_work import BY_HAND_FOLDER as BY_HAND
from podium.attempt.workspace import workspace
from podium.attempt.workspace.folder_pool import discard_workspace
from podium.core.hash_chain import RunId
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass
from podium.files.project_paths import ProjectPaths
from podium.git.command import Git
from podium.git.exchange import (
    ExchangeFault,
    add_checkout,
    bring,
    clone,
    missing,
    network,
    remove_checkout,
)
from podium.process.sweep import sweep
from podium.tasks.run_context import RunContext
from podium.tasks.task_json import decode
from podium.temporal.run_files import RunFiles

IDLE_S: Final = 120.0
"""How long the workspaces of a run are kept for its next attempt."""

HostFor = Callable[[RunContext, Path], Host]


@dataclass(slots=True)
class RunHost:
    """What this worker has of one run."""

    run: RunId
    folder: Path
    git: Git
    url: str
    host: Host
    files: RunFiles
    active: int = 0
    """How many of its attempts are performed now."""
    used: float = 0.0


class RunHosts:
    def __init__(self, folder: Path, host_for: HostFor, *, home: Path | None = None) -> None:
        self._folder = folder
        self._host_for = host_for
        self._home = home
        """The project in which its runs are performed; without one, each run has a checkout of its own."""
        self._runs: dict[RunId, RunHost] = {}
        self._locks: dict[str, anyio.Lock] = {}

    def clear_leftovers(self) -> int:
        """End the processes, and remove the folders, that an earlier worker in this folder left; how many runs it had."""
        folders = [path for path in self._runs_folder.glob("*") if path.is_dir()]
        for folder in folders:
            project = self._home or folder / "project"
            paths = ProjectPaths(project)
            sweep(paths.marker(folder.name))
            discard_workspace(paths.work_dir(folder.name))
            shutil.rmtree(folder, ignore_errors=True)
        return len(folders)

    async def open(self, delivery: dict[str, Any]) -> RunHost:
        """The run of a delivery, with everything that its task and its files need."""
        run, url = RunId(delivery["run"]), delivery["exchange"]
        async with self._lock(run):
            opened = self._runs.get(run)
            if opened is None:
                opened = await to_thread.run_sync(self._open, run, url, delivery["context"])
                self._runs[run] = opened
            opened.active += 1
        try:
            await to_thread.run_sync(_bring, opened, [*named(delivery["task"]), *delivery["files"]])
        except BaseException:
            self.close(opened)
            raise
        return opened

    def close(self, opened: RunHost) -> None:
        """One attempt of the run has ended here."""
        opened.active -= 1
        opened.used = time.monotonic()

    def landing_lock(self, url: str) -> anyio.Lock:
        """Landings on branches of one clone must not overlap."""
        return self._lock(f"landing {url}")

    async def discard_idle(self, *, idle_s: float = IDLE_S) -> None:
        """Remove what is left of runs that have had no attempt here for a while."""
        limit = time.monotonic() - idle_s
        for run, opened in list(self._runs.items()):
            if opened.active == 0 and opened.used <= limit:
                async with self._lock(run):
                    if opened.active == 0:
                        del self._runs[run]
                        await _discard(opened, has_checkout=self._home is None)

    @property
    def _runs_folder(self) -> Path:
        return self._folder / "runs"

    def _lock(self, name: str) -> anyio.Lock:
        return self._locks.setdefault(name, anyio.Lock())

    def _open(self, run: RunId, url: str, encoded: Any) -> RunHost:
        context = decode(RunContext, encoded)
        if context.base_commit is None:
            raise ConfigurationError(f"run {run} starts from no commit, so no worker can check it out")
        folder = self._runs_folder / run
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._home is not None:
            host = self._host_for(context, self._home)
            if host.repository is None:
                raise ConfigurationError(f"{self._home} is not in a git repository")
            git = network(host.repository)
            files = RunFiles(folder / "state", git, shared=host.run_dir / BY_HAND)
            return RunHost(run, folder, git, url, host, files)
        git = self.clone_of(url)
        if missing(git, [context.base_commit]):
            bring(git, url, run)
        add_checkout(git, folder / "project", context.base_commit)
        host = self._host_for(context, folder / "project")
        return RunHost(run, folder, git, url, host, RunFiles(folder / "state", git))

    def clone_of(self, url: str) -> Git:
        return clone(url, self._folder / "clones" / hashlib.sha256(url.encode()).hexdigest()[:12])


def _bring(opened: RunHost, names: list[str]) -> None:
    if missing(opened.git, names):
        bring(opened.git, opened.url, opened.run)


async def _discard(opened: RunHost, *, has_checkout: bool) -> None:
    # A process that was handed back may still be in its folders; the next start of a worker removes those.
    with suppress(OSError, ExchangeFault):
        await workspace.clear(opened.host)
        if has_checkout:
            await to_thread.run_sync(remove_checkout, opened.git, opened.folder / "project")
        await to_thread.run_sync(lambda: shutil.rmtree(opened.folder, ignore_errors=True))


def named(value: Any) -> Iterator[str]:
    """The texts in a task or report that may be ids of git objects."""
    match value:
        case str():
            if len(value) in (40, 64) and not value.strip("0123456789abcdef"):
                yield value
        case dict():
            for inner in value.values():
                yield from named(inner)
        case list() | tuple():
            for inner in value:
                yield from named(inner)
        case _:
            pass
