"""Reuses the folders of workspaces: an attempt on a similar tree only pays for the files that differ.

Rule: a process may leave anything in a folder. Before the next use it is reset through descriptors (git.workdir.reset),
and a folder that cannot be reset is deleted.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

from anyio import CancelScope, to_thread

from podium.core.types import Tree
from podium.fast_dataclass import dataclass
from podium.git.repository import Repository
from podium.git.trees.snapshot import Snapshot
from podium.git.workdir.checkout import checkout, is_exact, update
from podium.git.workdir.clone import Extent, History, add_repository, pack_history, reclaim_history
from podium.git.workdir.folder import Owner, discard

MAX_IDLE: Final = 4
SMALL: Final = 300
"""Files of a tree whose folder is looked through without a thread."""


@dataclass(slots=True)
class PooledFolder:
    """A folder with exactly the files of a tree, until a process uses it."""

    path: Path
    snapshot: Snapshot
    owner: Owner | None
    history: History | None = None
    """The packed history of its last clone."""
    is_clone: bool = False
    """Whether a repository was added; then the history is inside of it."""

    @property
    def history_path(self) -> Path:
        return self.path.with_name(f"{self.path.name}.history")


class FolderPool:
    """Owns the idle folders of one run in one process."""

    def __init__(self) -> None:
        self._idle: list[PooledFolder] = []

    async def take(
        self, repository: Repository, parent: Path, tree: Tree, owner: Owner | None
    ) -> PooledFolder:
        """A folder below `parent` with exactly the files of this tree, all owned by the user of its processes."""
        idle = self._choose(tree, owner)
        is_quick = idle is not None and idle.snapshot.tree == tree and is_small(idle.snapshot)
        # Looking through a small one is quicker than switching threads.
        if idle is not None and is_quick and is_exact(idle.path, idle.snapshot):
            return idle
        return await to_thread.run_sync(_reset_or_new, repository, parent, tree, owner, idle)

    async def give_back(self, folder: PooledFolder) -> None:
        """Called after the processes that used the folder have ended, also after a cancellation."""
        if len(self._idle) < MAX_IDLE:
            _take_history(folder)
            self._idle.append(folder)
        else:
            with CancelScope(shield=True):
                await to_thread.run_sync(_discard, folder)

    async def clear(self) -> None:
        idle, self._idle = self._idle, []
        for folder in idle:
            await to_thread.run_sync(_discard, folder)

    def _choose(self, tree: Tree, owner: Owner | None) -> PooledFolder | None:
        """An idle folder with this tree, else the one used last."""
        fitting = [folder for folder in self._idle if folder.owner == owner]
        same = (folder for folder in reversed(fitting) if folder.snapshot.tree == tree)
        chosen = next(same, fitting[-1] if fitting else None)
        if chosen is not None:
            self._idle.remove(chosen)
        return chosen


def is_small(snapshot: Snapshot) -> bool:
    return len(snapshot.listing) <= SMALL and sum(map(len, snapshot.listing.values())) <= SMALL


def add_clone(
    repository: Repository, folder: PooledFolder, base: str | None, commit: str, extent: Extent
) -> None:
    """Add a repository at a commit to a folder with the files of this commit; `base` is where the run began."""
    history = folder.history
    if history is None or (history.commit, history.extent) != (base, extent):
        discard_workspace(folder.history_path)
        history = pack_history(repository, base, folder.history_path, extent)
    folder.history, folder.is_clone = None, True
    folder.history = add_repository(repository, folder.path, folder.snapshot, commit, history, folder.owner)


def _take_history(folder: PooledFolder) -> None:
    if folder.history is not None and folder.is_clone:
        try:
            folder.history = reclaim_history(folder.path, folder.history)
        except OSError:
            # An agent changed or removed a file of it; the next clone gets a new one.
            folder.history = None
    folder.is_clone = False


def _reset_or_new(
    repository: Repository, parent: Path, tree: Tree, owner: Owner | None, used: PooledFolder | None
) -> PooledFolder:
    if used is not None:
        try:
            used.snapshot = update(repository, used.snapshot, used.path, tree, owner)
        except OSError:
            _discard(used)
        except BaseException:
            # Cancelled half-way: the folder has neither the old tree nor the new one.
            _discard(used)
            raise
        else:
            return used
    path = parent / f"c{secrets.token_hex(4)}"
    try:
        return PooledFolder(path, checkout(repository, tree, path, owner), owner)
    except BaseException:
        discard_workspace(path)
        raise


def _discard(folder: PooledFolder) -> None:
    discard_workspace(folder.path)
    discard_workspace(folder.history_path)


def discard_workspace(folder: Path) -> None:
    """Removes a workspace. An error is ignored and left to the sweep, so that a finished attempt does not fail."""
    with suppress(OSError):
        # A process may have removed the permissions of the folder or replaced it by a link, which must not be followed.
        if folder.is_symlink():
            folder.unlink()
            return
        if folder.is_dir() and not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            folder.chmod(0o700)
        discard(folder)
