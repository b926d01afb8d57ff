"""The private folders of attempts: a home and a folder for temporary files, both empty at the start.

Rule: they are new for an attempt that gets a clone, and deleted with it. A command or a reviewer may get those of an
earlier one if nothing at all was done to them, which their change times show: creating and deleting them takes as long as
a small command.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Final, NamedTuple

from anyio import CancelScope, to_thread

from podium.attempt.workspace.folder_pool import discard_workspace
from podium.git.trees.snapshot import Stat, stat_of
from podium.git.workdir.folder import Owner, give_ownership

MODE: Final = 0o700


class PrivateDirs(NamedTuple):
    folder: Path
    """Contains the other two."""
    home: Path
    tmp: Path
    owner: Owner | None
    stats: tuple[Stat, ...]
    """Of home and tmp, recorded when they were made."""


class PrivateDirPool:
    """Owns the idle private folders of one run in one process."""

    def __init__(self) -> None:
        self._idle: list[PrivateDirs] = []

    def take(self, parent: Path, *, reusable: bool, owner: Owner | None) -> PrivateDirs:
        """`reusable` allows folders that an earlier attempt had and did not use."""
        if reusable:
            for place, idle in enumerate(self._idle):
                if idle.owner == owner:
                    return self._idle.pop(place)
        folder = parent / f"w{secrets.token_hex(4)}"
        home, tmp = folder / "home", folder / "tmp"
        # Not in a thread: creating two folders is quicker than switching threads.
        for each in (home, tmp):
            each.mkdir(mode=MODE, parents=True)
            give_ownership(each, owner)
        return PrivateDirs(folder, home, tmp, owner, _stats(home, tmp))

    async def give_back(self, private: PrivateDirs, *, reusable: bool) -> None:
        """Called after the attempt's processes have ended. Deletes the folders, unless they are untouched and reusable."""
        if reusable and _is_untouched(private):
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


def _is_untouched(private: PrivateDirs) -> bool:
    try:
        return _stats(private.home, private.tmp) == private.stats
    except OSError:
        return False


def _stats(*folders: Path) -> tuple[Stat, ...]:
    return tuple(stat_of(os.lstat(folder)) for folder in folders)
