"""Checks out a tree into a private folder, and resets a used folder to a tree.

The copy shares nothing with the user's repository: no hard links, no alternates, no linked work tree. Contents are
written exactly as stored, so that capturing an unchanged checkout gives the same tree.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain, groupby, islice
from operator import itemgetter
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
from podium.git.workdir.walk import is_untouched, open_folder

WRITERS: Final = 2
"""Threads that write files; most of their time is the kernel's, and git reads meanwhile."""
SHARE_FILES: Final = 1_000
SHARE_BYTES: Final = 8 << 20

_Missing: TypeAlias = tuple[str, str, Entry]
"""The folder, name and entry of a file to write."""
_Content: TypeAlias = tuple[str, str, Entry, bytes]
_Written: TypeAlias = tuple[str, str, Stat]


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


def is_exact(folder: Path, snapshot: Snapshot) -> bool:
    """Whether nothing was done to a checkout since it was written: neither to a file nor to a folder."""
    try:
        for path in snapshot.listing:
            with open_folder(folder, path) as fd:
                if not is_untouched(fd, snapshot.stats.get(path, {})):
                    return False
    except OSError:
        return False
    return True


def _checked(snapshot: Snapshot, checked: Listing | None = None) -> Snapshot:
    """The snapshot, if it has no name that is dangerous on disk; folders of the other listing were checked before."""
    for folder, entries in snapshot.listing.items():
        if checked is not None and checked.get(folder) is entries:
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
    missing = [
        (path, name, entry)
        for path, entries in listing.items()
        for name, entry in entries.items()
        if entry.mode != FOLDER and name not in stats_by_folder.get(path, ())
    ]
    for path, name, stats in _write_all(root, owner, _shares(repository, missing)):
        stats_by_folder.setdefault(path, {})[name] = stats
    _record_folder_stats(root, listing, stats_by_folder)
    if missing:
        wait_for_tick(root)
    return stats_by_folder


def _shares(repository: Repository, missing: list[_Missing]) -> Iterator[list[_Content]]:
    """The missing entries with their contents, in shares of similar size."""
    blobs = read_blobs(trees(repository), [entry.name for _, _, entry in missing if entry.mode != MODULE])
    share: list[_Content] = []
    size = 0
    for path, name, entry in missing:
        content = b"" if entry.mode == MODULE else next(blobs)
        share.append((path, name, entry, content))
        size += len(content)
        if len(share) >= SHARE_FILES or size >= SHARE_BYTES:
            yield share
            share, size = [], 0
    if share:
        yield share


def _write_all(root: Path, owner: Owner | None, shares: Iterator[list[_Content]]) -> Iterator[_Written]:
    """Write the shares; several at a time, if there are several."""
    first = list(islice(shares, 2))
    if len(first) < 2:
        for share in first:
            yield from _write(root, owner, share)
        return
    from concurrent.futures import Future, ThreadPoolExecutor

    with ThreadPoolExecutor(WRITERS) as writers:
        running: deque[Future[list[_Written]]] = deque()
        # Git runs in this thread, which can be cancelled, while the others write.
        for share in chain(first, shares):
            running.append(writers.submit(_write, root, owner, share))
            if len(running) > WRITERS:
                yield from running.popleft().result()
        for future in running:
            yield from future.result()


def _write(root: Path, owner: Owner | None, share: list[_Content]) -> list[_Written]:
    """Write entries; returns their stats."""
    written: list[_Written] = []
    for path, entries in groupby(share, itemgetter(0)):
        with make_folder(root, path, owner) as fd:
            for _, name, entry, content in entries:
                status = write_entry(fd, name, entry, content, owner)
                if status is not None:
                    written.append((path, name, stat_of(status)))
    return written


def _record_folder_stats(root: Path, listing: Listing, stats_by_folder: dict[str, dict[str, Stat]]) -> None:
    """Record the stats of folders: adding or removing a name changes them, so an unchanged folder need not be listed.

    A folder with a submodule gets no stat, because every capture must look into the submodule.
    """
    for path, entries in listing.items():
        if all(entry.mode != MODULE for entry in entries.values()):
            # A tree may contain a folder without files, which is not written.
            with suppress(FileNotFoundError), open_folder(root, path) as fd:
                stats_by_folder.setdefault(path, {})[HERE] = stat_of(os.fstat(fd))
