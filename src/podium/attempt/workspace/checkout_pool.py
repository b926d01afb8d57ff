"""Checkouts that are used again: a gate on a tree much like the last one costs what differs, not a whole checkout.

Rule: whoever has used a folder may have left anything in it. It is brought back by descriptors (git.workdir.checkout.update),
and one that cannot be brought back is thrown away.
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

MOST_IDLE: Final = 4


class CheckoutPool:
    """Owns the idle checkouts of one run in one process."""

    def __init__(self) -> None:
        self._idle: list[tuple[Path, Snapshot]] = []

    async def take(self, repository: Repository, parent: Path, tree: Tree) -> tuple[Path, Snapshot]:
        """A folder below the parent that holds exactly this tree."""
        found = self._choose(tree)
        return await to_thread.run_sync(_made, repository, parent, tree, found)

    async def give_back(self, folder: Path, snapshot: Snapshot) -> None:
        if len(self._idle) < MOST_IDLE:
            self._idle.append((folder, snapshot))
        else:
            await to_thread.run_sync(discard_workspace, folder)

    async def clear(self) -> None:
        idle, self._idle = self._idle, []
        for folder, _ in idle:
            await to_thread.run_sync(discard_workspace, folder)

    def _choose(self, tree: Tree) -> tuple[Path, Snapshot] | None:
        """One that holds the tree already, else the one that was used last."""
        for place, (_, snapshot) in enumerate(self._idle):
            if snapshot.tree == tree:
                return self._idle.pop(place)
        return self._idle.pop() if self._idle else None


def _made(
    repository: Repository, parent: Path, tree: Tree, used: tuple[Path, Snapshot] | None
) -> tuple[Path, Snapshot]:
    if used is not None:
        folder, snapshot = used
        try:
            return folder, update(repository, snapshot, folder, tree)
        except OSError:
            discard_workspace(folder)
        except BaseException:
            # Cancelled half-way: it is neither the old tree nor the new one.
            discard_workspace(folder)
            raise
    folder = parent / f"c{secrets.token_hex(4)}"
    try:
        return folder, checkout(repository, tree, folder)
    except BaseException:
        discard_workspace(folder)
        raise


def discard_workspace(folder: Path) -> None:
    """Removes a workspace. What resists stays for the sweep: it must not turn a finished attempt into a failed one."""
    with suppress(OSError):
        # Its user may have taken away the right to look into it; never follow a link put in its place.
        if folder.is_symlink():
            folder.unlink()
            return
        if folder.is_dir() and not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            folder.chmod(0o700)
        discard(folder)
