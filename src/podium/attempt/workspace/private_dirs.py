"""The private folders of attempts: a home and a folder for temporary files, both empty at the start.

Rule: in a sandbox they are new for each attempt and deleted with it. Without one a process can reach every folder of its
user anyway, so folders that are still empty are reused: creating and deleting them takes as long as a small command.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path
from typing import Final, NamedTuple

from anyio import CancelScope, to_thread

from podium.attempt.workspace.folder_pool import discard_workspace
from podium.git.workdir.folder import Owner, give_ownership

MODE: Final = 0o700


class PrivateDirs(NamedTuple):
    folder: Path
    """Contains the other two, and a clone."""
    home: Path
    tmp: Path


class PrivateDirPool:
    """Owns the idle private folders of one run in one process."""

    def __init__(self) -> None:
        self._idle: list[PrivateDirs] = []

    def take(self, parent: Path, *, reusable: bool, owner: Owner | None) -> PrivateDirs:
        """`reusable` allows folders that an earlier attempt has used."""
        if reusable and self._idle:
            return self._idle.pop()
        folder = parent / f"w{secrets.token_hex(4)}"
        home, tmp = folder / "home", folder / "tmp"
        # Not in a thread: creating two folders is quicker than switching threads.
        for each in (home, tmp):
            each.mkdir(mode=MODE, parents=True)
            give_ownership(each, owner)
        return PrivateDirs(folder, home, tmp)

    async def give_back(self, private: PrivateDirs, *, reusable: bool) -> None:
        """Called after the attempt's processes have ended. Deletes the folders, unless they are unchanged and reusable."""
        if reusable and all(map(_is_as_made, (private.home, private.tmp))):
            self._idle.append(private)
        elif not _removed(private.home, private.tmp, private.folder):
            with CancelScope(shield=True):
                await to_thread.run_sync(discard_workspace, private.folder)

    def forget(self) -> None:
        """Drop all idle folders, which the caller deletes."""
        self._idle.clear()


def _removed(*folders: Path) -> bool:
    """Remove empty folders without a thread; most commands leave nothing in their home."""
    try:
        for folder in folders:
            folder.rmdir()
    except OSError:
        return False
    return True


def _is_as_made(folder: Path) -> bool:
    try:
        status = os.lstat(folder)
        return (
            status.st_mode == stat.S_IFDIR | MODE
            and status.st_uid == os.getuid()
            and not os.listdir(folder)  # noqa: PTH208 (a path object costs more than the question)
            and not os.listxattr(folder, follow_symlinks=False)
        )
    except OSError:
        return False
