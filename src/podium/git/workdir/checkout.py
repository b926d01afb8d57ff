"""Checks out a tree into a private folder, and resets a used folder to a tree.

The copy shares nothing with the user's repository: no hard links, no alternates, no linked work tree. Contents are
written exactly as stored, so that capturing an unchanged checkout gives the same tree.
"""

from __future__ import annotations

import os
import stat
import tempfile
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from podium.core.types import Tree
from podium.errors import PathViolation
from podium.git.repository import Repository, read_outer_rules, trees
from podium.git.trees.listing import FOLDER, MODULE, Entry, Listing
from podium.git.trees.names import is_git_folder
from podium.git.trees.snapshot import HERE, Snapshot, Stat, read_blobs, read_snapshot, stat_of
from podium.git.workdir.folder import make_folder, names_in, remove, write_entry
from podium.git.workdir.walk import open_folder


def checkout(repository: Repository, tree: Tree, folder: Path) -> Snapshot:
    """Create the folder, which must not exist, with the files of a tree and without .git."""
    snapshot = _read_checked(repository, tree)
    folder.mkdir(parents=True)
    missing = ((path, name) for path, entries in snapshot.listing.items() for name in entries)
    return replace(snapshot, stats=_write(repository, folder, snapshot.listing, missing, {}))


def update(repository: Repository, used: Snapshot, folder: Path, tree: Tree) -> Snapshot:
    """Reset a used checkout to a tree: remove added files, and write files that differ.

    The folder is untrusted, so it is accessed through descriptors, and every file that is not known to match the tree is
    written again.
    """
    # The same tree again, as for consecutive gates, needs no call of git.
    snapshot = used if used.tree == tree else _read_checked(repository, tree)
    stats_by_folder = _clean(folder, used, snapshot.listing)
    missing = (
        (path, name)
        for path, entries in snapshot.listing.items()
        for name, entry in entries.items()
        if entry.mode != FOLDER and name not in stats_by_folder.get(path, ())
    )
    return replace(snapshot, stats=_write(repository, folder, snapshot.listing, missing, stats_by_folder))


def _read_checked(repository: Repository, tree: Tree) -> Snapshot:
    snapshot = read_snapshot(trees(repository), tree, read_outer_rules(repository))
    for folder, entries in snapshot.listing.items():
        for name in entries:
            if is_git_folder(name) or name == "..":
                raise PathViolation(
                    f'tree {tree} contains "{name}" in "{folder}", which git would treat as its own folder'
                )
    return snapshot


def _write(
    repository: Repository,
    root: Path,
    listing: Listing,
    missing: Iterable[tuple[str, str]],
    stats_by_folder: dict[str, dict[str, Stat]],
) -> dict[str, dict[str, Stat]]:
    """Write the missing entries by folder; returns the stats of all files."""
    to_write: dict[str, list[tuple[str, Entry]]] = {}
    for path, name in missing:
        if listing[path][name].mode != FOLDER:
            to_write.setdefault(path, []).append((name, listing[path][name]))
    blobs = [entry.name for entries in to_write.values() for _, entry in entries if entry.mode != MODULE]
    contents = read_blobs(trees(repository), blobs)
    for path, entries in to_write.items():
        stats = stats_by_folder.setdefault(path, {})
        with make_folder(root, path) as fd:
            for name, entry in entries:
                status = write_entry(fd, name, entry, b"" if entry.mode == MODULE else next(contents))
                if status is not None:
                    stats[name] = stat_of(status)
    _record_folder_stats(root, listing, stats_by_folder)
    if to_write:
        _wait_for_tick(root)
    return stats_by_folder


def _record_folder_stats(root: Path, listing: Listing, stats_by_folder: dict[str, dict[str, Stat]]) -> None:
    """Record the stats of folders: adding or removing a name changes them, so an unchanged folder need not be listed.

    A folder with a submodule gets no stat, because every capture must look into the submodule.
    """
    for path, stats in stats_by_folder.items():
        if all(entry.mode != MODULE for entry in listing[path].values()):
            with open_folder(root, path) as fd:
                stats[HERE] = stat_of(os.fstat(fd))


def _wait_for_tick(root: Path) -> None:
    """Wait until the clock of the file system advances, at most a few milliseconds.

    Otherwise a file that is changed within the tick in which it was written would keep its times and look unchanged.
    """
    began = _now(root)
    while _now(root) <= began:
        time.sleep(0.001)  # pragma: no cover (kernels since 6.13 count in nanoseconds)


def _now(root: Path) -> int:
    with tempfile.NamedTemporaryFile(dir=root.parent) as file:
        return os.fstat(file.fileno()).st_ctime_ns


def _clean(root: Path, used: Snapshot, target: Listing) -> dict[str, dict[str, Stat]]:
    """Remove everything that is not known to match the listing; returns the stats of the remaining files."""
    stats_by_folder: dict[str, dict[str, Stat]] = {}
    todo = [""]
    while todo:
        path = todo.pop()
        stats, before, after = used.stats.get(path, {}), used.listing.get(path, {}), target[path]
        with open_folder(root, path) as fd:
            for name in names_in(fd):
                status = os.stat(name, dir_fd=fd, follow_symlinks=False)
                below = f"{path}/{name}" if path else name
                entry = after.get(name)
                if entry is not None and stats.get(name) == stat_of(status) and before.get(name) == entry:
                    stats_by_folder.setdefault(path, {})[name] = stats[name]
                elif below in target and stat.S_ISDIR(status.st_mode):
                    todo.append(below)
                else:
                    remove(root, fd, name)
    return stats_by_folder
