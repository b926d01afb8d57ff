"""The private folders of attempts: a home, and a place for temporary files. Empty at the start, and nobody else's.

Rule: within walls each is new, and gone with its attempt. Outside of them a process reaches every folder of its user
anyway; there one that was left as it was made is used again, for making and removing it takes as long as a small command.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path
from typing import Final, NamedTuple

from anyio import CancelScope, to_thread

from podium.attempt.workspace.checkout_pool import discard_workspace
from podium.attempt.workspace.ownership import Owner, give_ownership

MODE: Final = 0o700


class PrivateDirs(NamedTuple):
    folder: Path
    """Holds the other two, and a clone beside them."""
    home: Path
    tmp: Path


class PrivateDirPool:
    """Owns the idle private folders of one run in one process."""

    def __init__(self) -> None:
        self._idle: list[PrivateDirs] = []

    def take(self, parent: Path, *, again: bool, owner: Owner | None) -> PrivateDirs:
        """`again`: one that somebody had before will do."""
        if again and self._idle:
            return self._idle.pop()
        folder = parent / f"w{secrets.token_hex(4)}"
        home, tmp = folder / "home", folder / "tmp"
        # Two folders: quicker than the way to another thread and back.
        for each in (home, tmp):
            each.mkdir(mode=MODE, parents=True)
            give_ownership(each, owner)
        return PrivateDirs(folder, home, tmp)

    async def give_back(self, private: PrivateDirs, *, again: bool) -> None:
        """Whoever had it is gone. It is removed, unless it is as it was and may be used again."""
        if again and all(map(_is_as_made, (private.home, private.tmp))):
            self._idle.append(private)
        elif not _removed(private.home, private.tmp, private.folder):
            with CancelScope(shield=True):
                await to_thread.run_sync(discard_workspace, private.folder)

    def forget(self) -> None:
        """Somebody removes them all."""
        self._idle.clear()


def _removed(*folders: Path) -> bool:
    """Most commands leave nothing in their home, and empty folders need neither care nor another thread."""
    try:
        for folder in folders:
            folder.rmdir()
    except OSError:
        return False
    return True


def _is_as_made(folder: Path) -> bool:
    try:
        found = os.lstat(folder)
        return (
            found.st_mode == stat.S_IFDIR | MODE
            and found.st_uid == os.getuid()
            and not os.listdir(folder)  # noqa: PTH208 (a path object costs more than the question)
            and not os.listxattr(folder, follow_symlinks=False)
        )
    except OSError:
        return False
