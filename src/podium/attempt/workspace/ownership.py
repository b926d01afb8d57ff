"""Hands a workspace over to the user as whom its processes run; needed only where Podium is root and they must not be."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from podium.git.trees.snapshot import HERE, Snapshot, Stat, stat_of
from podium.git.workdir.walk import open_folder

Owner: TypeAlias = tuple[int, int]


def give_ownership(folder: Path, owner: Owner | None) -> None:
    """All that is in a folder and not theirs yet, whatever it is; None: nobody but us works there."""
    if owner is not None:
        for _ in _handed_over(folder, owner):
            pass


def lend_tree(folder: Path, snapshot: Snapshot, owner: Owner | None) -> Snapshot:
    """The same for a checkout: a change of owner changes the signs by which what is untouched is known."""
    if owner is None:
        return snapshot
    stats = {place: dict(files) for place, files in snapshot.stats.items()}
    for place, name, before, after in _handed_over(folder, owner):
        if stats.get(place, {}).get(name) == before:
            stats[place][name] = after
    return replace(snapshot, stats=stats)


def _handed_over(root: Path, owner: Owner) -> Iterator[tuple[str, str, Stat, Stat]]:
    """By descriptors, so that no link leads us elsewhere. Each that changed hands, with its signs before and after."""
    todo = [""]
    while todo:
        place = todo.pop()
        with open_folder(root, place) as fd:
            before = os.fstat(fd)
            os.fchown(fd, *owner)
            yield place, HERE, stat_of(before), stat_of(os.fstat(fd))
            with os.scandir(fd) as found:
                entries = list(found)
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    todo.append(f"{place}/{entry.name}" if place else entry.name)
                    continue
                before = entry.stat(follow_symlinks=False)
                if (before.st_uid, before.st_gid) != owner:
                    os.chown(entry.name, *owner, dir_fd=fd, follow_symlinks=False)
                    after = os.stat(entry.name, dir_fd=fd, follow_symlinks=False)
                    yield place, entry.name, stat_of(before), stat_of(after)
