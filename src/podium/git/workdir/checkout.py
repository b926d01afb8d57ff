"""Checks out a tree into a private folder, and resets a used folder to a tree.

The copy shares nothing with the user's repository: no hard links, no alternates, no linked work tree. Contents are
written exactly as stored, so that capturing an unchanged checkout gives the same tree.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from podium.core.types import Tree
from podium.errors import PathViolation
from podium.git.repository import Repository, read_outer_rules, trees
from podium.git.trees.listing import FOLDER, MODULE, Entry, Listing
from podium.git.trees.names import is_git_folder
from podium.git.trees.snapshot import (
    HERE,
    Snapshot,
    Stat,
    read_blobs,
    read_snapshot,
    stat_of,
)
from podium.git.workdir.folder import FOLDER_MODE, Owner, make_folder, wait_for_tick, write_entry
from podium.git.workdir.reset import remove_leftovers
from podium.git.workdir.walk import open_folder

WRITERS: Final = 2
"""Threads: while git unpacks the files of one share, those of another are written."""
SHARE: Final = 1_500
"""Files per share; a smaller checkout is written without threads."""

_Missing: TypeAlias = list[tuple[str, list[tuple[str, Entry]]]]
"""The entries to write, by folder."""
_Written: TypeAlias = list[tuple[str, dict[str, Stat]]]


def checkout(repository: Repository, tree: Tree, folder: Path, owner: Owner | None = None) -> Snapshot:
    """Create the folder, which must not exist, with the files of a tree and without .git."""
    snapshot = _checked(read_snapshot(trees(repository), tree, read_outer_rules(repository)))
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(FOLDER_MODE)
    if owner is not None:
        os.chown(folder, *owner, follow_symlinks=False)
    return replace(snapshot, stats=_complete(repository, folder, snapshot.listing, {}, owner))


def update(
    repository: Repository, used: Snapshot, folder: Path, tree: Tree, owner: Owner | None = None
) -> Snapshot:
    """Reset a used checkout to a tree: remove what does not match, and write what is missing."""
    snapshot = used
    # The same tree again, as for consecutive gates, needs no call of git.
    if used.tree != tree:
        read = read_snapshot(trees(repository), tree, read_outer_rules(repository))
        snapshot = _checked(read, used.listing)
    stats_by_folder = remove_leftovers(folder, used, snapshot.listing, owner)
    return replace(snapshot, stats=_complete(repository, folder, snapshot.listing, stats_by_folder, owner))


def _checked(snapshot: Snapshot, known: Listing | None = None) -> Snapshot:
    """The snapshot, if it has no name that is dangerous on disk; folders of a known listing were checked before."""
    for folder, entries in snapshot.listing.items():
        if known is not None and known.get(folder) is entries:
            continue
        for name in entries:
            if is_git_folder(name) or name == "..":
                raise PathViolation(
                    f'tree {snapshot.tree} contains "{name}" in "{folder}", which git would treat as its own folder'
                )
    return snapshot


def _complete(
    repository: Repository,
    root: Path,
    listing: Listing,
    stats_by_folder: dict[str, dict[str, Stat]],
    owner: Owner | None,
) -> dict[str, dict[str, Stat]]:
    """Write the entries that have no stats yet; returns the stats of all files."""
    missing: _Missing = []
    for path, entries in listing.items():
        known = stats_by_folder.get(path, {})
        if len(known) < len(entries):
            new = [
                (name, entry) for name, entry in entries.items() if name not in known and entry.mode != FOLDER
            ]
            if new:
                missing.append((path, new))
    write = partial(_write, repository, root, owner)
    for path, stats in _each(write, list(_shares(missing))):
        stats_by_folder.setdefault(path, {}).update(stats)
    _record_folder_stats(root, listing, stats_by_folder)
    if missing:
        wait_for_tick(root)
    return stats_by_folder


def _each(
    write: Callable[[_Missing], _Written], shares: list[_Missing]
) -> Iterator[tuple[str, dict[str, Stat]]]:
    if len(shares) < 2:
        for share in shares:
            yield from write(share)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(WRITERS) as writers:
        for written in writers.map(write, shares):
            yield from written


def _shares(missing: _Missing) -> Iterator[_Missing]:
    """The entries in shares of similar size."""
    share: _Missing = []
    count = 0
    for path, entries in missing:
        share.append((path, entries))
        count += len(entries)
        if count >= SHARE:
            yield share
            share, count = [], 0
    if share:
        yield share


def _write(repository: Repository, root: Path, owner: Owner | None, share: _Missing) -> _Written:
    """Write the entries of some folders; returns their stats."""
    blobs = [entry.name for _, entries in share for _, entry in entries if entry.mode != MODULE]
    contents = read_blobs(trees(repository), blobs)
    written: _Written = []
    for path, entries in share:
        stats: dict[str, Stat] = {}
        with make_folder(root, path, owner) as fd:
            for name, entry in entries:
                content = b"" if entry.mode == MODULE else next(contents)
                status = write_entry(fd, name, entry, content, owner)
                if status is not None:
                    stats[name] = stat_of(status)
        written.append((path, stats))
    return written


def _record_folder_stats(root: Path, listing: Listing, stats_by_folder: dict[str, dict[str, Stat]]) -> None:
    """Record the stats of folders: adding or removing a name changes them, so an unchanged folder need not be listed.

    A folder with a submodule gets no stat, because every capture must look into the submodule.
    """
    for path, stats in stats_by_folder.items():
        if all(entry.mode != MODULE for entry in listing[path].values()):
            with open_folder(root, path) as fd:
                stats[HERE] = stat_of(os.fstat(fd))
