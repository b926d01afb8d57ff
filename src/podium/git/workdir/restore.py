"""Writes files of a checkout again that a process has changed since Podium wrote them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from podium.git.command import Git
from podium.git.trees.listing import Entry
from podium.git.trees.snapshot import HERE, Snapshot, Stat, read_blobs, stat_of
from podium.git.workdir.folder import Owner, make_folder, remove, write_entry
from podium.git.workdir.walk import open_folder


def restore_changed(git: Git, root: Path, snapshot: Snapshot, owner: Owner | None) -> tuple[str, ...]:
    """The paths that were written again. Raises OSError if a folder was replaced by something else."""
    changed = list(_changed(root, snapshot))
    contents = read_blobs(git, [entry.name for _, entry in changed])
    for (path, entry), content in zip(changed, contents, strict=True):
        parent, _, name = path.rpartition("/")
        with make_folder(root, parent, owner) as fd:
            if _status(fd, name) is not None:
                remove(root, fd, name)
            write_entry(fd, name, entry, content, owner)
    return tuple(path for path, _ in changed)


def _changed(root: Path, snapshot: Snapshot) -> Iterator[tuple[str, Entry]]:
    """Every recorded file whose stat differs: the time of change of a file cannot be set back."""
    for folder, stats in snapshot.stats.items():
        entries = snapshot.listing.get(folder, {})
        recorded = {name: stat for name, stat in stats.items() if name != HERE and name in entries}
        present = dict(_stats_now(root, folder, recorded.keys()))
        for name, stat in recorded.items():
            if present.get(name) != stat:
                yield (f"{folder}/{name}" if folder else name), entries[name]


def _stats_now(root: Path, folder: str, names: Iterable[str]) -> Iterator[tuple[str, Stat]]:
    try:
        with open_folder(root, folder) as fd:
            for name in names:
                status = _status(fd, name)
                if status is not None:
                    yield name, stat_of(status)
    except OSError:
        return  # The folder is gone or is not a folder any more, and with it all its files.


def _status(fd: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return None
