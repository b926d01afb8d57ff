"""Changes the owner of a workspace to the user of its processes; needed only if Podium runs as root."""

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
    """Change the owner of everything in a folder; None: Podium's own user runs the processes."""
    if owner is not None:
        for _ in _change_owner(folder, owner):
            pass


def give_tree_ownership(folder: Path, snapshot: Snapshot, owner: Owner | None) -> Snapshot:
    """Change the owner of a checkout and update its snapshot, because a new owner changes the recorded file stats."""
    if owner is None:
        return snapshot
    stats = {place: dict(files) for place, files in snapshot.stats.items()}
    for place, name, before, after in _change_owner(folder, owner):
        if stats.get(place, {}).get(name) == before:
            stats[place][name] = after
    return replace(snapshot, stats=stats)


def _change_owner(root: Path, owner: Owner) -> Iterator[tuple[str, str, Stat, Stat]]:
    """Through descriptors, so that no link is followed. Yields each changed entry with its stat before and after."""
    todo = [""]
    while todo:
        place = todo.pop()
        with open_folder(root, place) as fd:
            before = os.fstat(fd)
            os.fchown(fd, *owner)
            yield place, HERE, stat_of(before), stat_of(os.fstat(fd))
            with os.scandir(fd) as iterator:
                entries = list(iterator)
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    todo.append(f"{place}/{entry.name}" if place else entry.name)
                    continue
                before = entry.stat(follow_symlinks=False)
                if (before.st_uid, before.st_gid) != owner:
                    os.chown(entry.name, *owner, dir_fd=fd, follow_symlinks=False)
                    after = os.stat(entry.name, dir_fd=fd, follow_symlinks=False)
                    yield place, entry.name, stat_of(before), stat_of(after)
