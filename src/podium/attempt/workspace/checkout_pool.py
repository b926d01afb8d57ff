"""Reuses checkouts: a gate on a similar tree only writes the files that differ.

Rule: a process may leave anything in the folder. It is restored through descriptors (git.workdir.checkout.update), and
a folder that cannot be restored is deleted.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

from anyio import to_thread

from podium.core.types import Tree
from podium.git.repository import Repository
from podium.git.trees.snapshot import Snapshot
from podium.git.workdir.checkout import checkout, update
from podium.git.workdir.folder import discard

MAX_IDLE: Final = 4


class CheckoutPool:
    """Owns the idle checkouts of one run in one process."""

    def __init__(self) -> None:
        self._idle: list[tuple[Path, Snapshot]] = []

    async def take(self, repository: Repository, parent: Path, tree: Tree) -> tuple[Path, Snapshot]:
        """A folder below `parent` with exactly the files of this tree."""
        idle = self._choose(tree)
        return await to_thread.run_sync(_checked_out, repository, parent, tree, idle)

    async def give_back(self, folder: Path, snapshot: Snapshot) -> None:
        if len(self._idle) < MAX_IDLE:
            self._idle.append((folder, snapshot))
        else:
            await to_thread.run_sync(discard_workspace, folder)

    async def clear(self) -> None:
        idle, self._idle = self._idle, []
        for folder, _ in idle:
            await to_thread.run_sync(discard_workspace, folder)

    def _choose(self, tree: Tree) -> tuple[Path, Snapshot] | None:
        """An idle checkout of this tree, else the one used last."""
        for place, (_, snapshot) in enumerate(self._idle):
            if snapshot.tree == tree:
                return self._idle.pop(place)
        return self._idle.pop() if self._idle else None


def _checked_out(
    repository: Repository, parent: Path, tree: Tree, used: tuple[Path, Snapshot] | None
) -> tuple[Path, Snapshot]:
    if used is not None:
        folder, snapshot = used
        try:
            return folder, update(repository, snapshot, folder, tree)
        except OSError:
            discard_workspace(folder)
        except BaseException:
            # Cancelled half-way: the folder has neither the old tree nor the new one.
            discard_workspace(folder)
            raise
    folder = parent / f"c{secrets.token_hex(4)}"
    try:
        return folder, checkout(repository, tree, folder)
    except BaseException:
        discard_workspace(folder)
        raise


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
