"""Puts a tree into a private folder, and brings a used folder back to a tree.

The copy shares nothing with the user's repository: no hard links, no alternates, no linked work tree. Contents are
written as they are stored, so that a capture of an untouched checkout is the same tree again.
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
from podium.git.workdir.folder import made, names_in, remove, write_entry
from podium.git.workdir.walk import opened


def checkout(repository: Repository, tree: Tree, folder: Path) -> Snapshot:
    """Makes the folder, which must not exist, with the files of a tree and no .git."""
    snapshot = _readable(repository, tree)
    folder.mkdir(parents=True)
    missing = ((path, name) for path, entries in snapshot.listing.items() for name in entries)
    return replace(snapshot, stats=_write(repository, folder, snapshot.listing, missing, {}))


def update(repository: Repository, used: Snapshot, folder: Path, tree: Tree) -> Snapshot:
    """Makes a used checkout the checkout of a tree: what was written into it goes, what differs comes.

    The folder may have been used by anybody, so it is handled by descriptors, and whatever is not known to hold what
    the tree says is written anew.
    """
    # The same tree again, as for one gate after another, is known already and costs no call of git.
    snapshot = used if used.tree == tree else _readable(repository, tree)
    kept = _clean(folder, used, snapshot.listing)
    missing = (
        (path, name)
        for path, entries in snapshot.listing.items()
        for name, entry in entries.items()
        if entry.mode != FOLDER and name not in kept.get(path, ())
    )
    return replace(snapshot, stats=_write(repository, folder, snapshot.listing, missing, kept))


def _readable(repository: Repository, tree: Tree) -> Snapshot:
    snapshot = read_snapshot(trees(repository), tree, read_outer_rules(repository))
    for folder, entries in snapshot.listing.items():
        for name in entries:
            if is_git_folder(name) or name == "..":
                raise PathViolation(
                    f'tree {tree} has "{name}" in "{folder}", which git would take for its own'
                )
    return snapshot


def _write(
    repository: Repository,
    root: Path,
    listing: Listing,
    missing: Iterable[tuple[str, str]],
    kept: dict[str, dict[str, Stat]],
) -> dict[str, dict[str, Stat]]:
    """Writes the missing entries, folder by folder; returns the signs of all files."""
    wanted: dict[str, list[tuple[str, Entry]]] = {}
    for path, name in missing:
        if listing[path][name].mode != FOLDER:
            wanted.setdefault(path, []).append((name, listing[path][name]))
    blobs = [entry.name for entries in wanted.values() for _, entry in entries if entry.mode != MODULE]
    contents = read_blobs(trees(repository), blobs)
    for path, entries in wanted.items():
        stats = kept.setdefault(path, {})
        with made(root, path) as fd:
            for name, entry in entries:
                status = write_entry(fd, name, entry, b"" if entry.mode == MODULE else next(contents))
                if status is not None:
                    stats[name] = stat_of(status)
    _sign_folders(root, listing, kept)
    if wanted:
        _settle(root)
    return kept


def _sign_folders(root: Path, listing: Listing, signs: dict[str, dict[str, Stat]]) -> None:
    """A name cannot come or go without a change of its folder's times, so that a signed one need not be listed again.

    A submodule's place is looked into at each capture, and has no sign to tell it from a folder.
    """
    for path, known in signs.items():
        if all(entry.mode != MODULE for entry in listing[path].values()):
            with opened(root, path) as fd:
                known[HERE] = stat_of(os.fstat(fd))


def _settle(root: Path) -> None:
    """Waits until the clock of the file system has moved on, at most a few milliseconds.

    A file that is changed within the same tick in which it was written would keep its times and look untouched.
    """
    began = _now(root)
    while _now(root) <= began:
        time.sleep(0.001)  # pragma: no cover (kernels since 6.13 count in nanoseconds)


def _now(root: Path) -> int:
    with tempfile.NamedTemporaryFile(dir=root.parent) as file:
        return os.fstat(file.fileno()).st_ctime_ns


def _clean(root: Path, used: Snapshot, wanted: Listing) -> dict[str, dict[str, Stat]]:
    """Removes all that is not known to be as wanted; returns the signs of the files that stay."""
    kept: dict[str, dict[str, Stat]] = {}
    todo = [""]
    while todo:
        path = todo.pop()
        known, before, after = used.stats.get(path, {}), used.listing.get(path, {}), wanted[path]
        with opened(root, path) as fd:
            for name in names_in(fd):
                status = os.stat(name, dir_fd=fd, follow_symlinks=False)
                below = f"{path}/{name}" if path else name
                entry = after.get(name)
                if entry is not None and known.get(name) == stat_of(status) and before.get(name) == entry:
                    kept.setdefault(path, {})[name] = known[name]
                elif below in wanted and stat.S_ISDIR(status.st_mode):
                    todo.append(below)
                else:
                    remove(root, fd, name)
    return kept
