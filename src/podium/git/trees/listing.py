"""The entries of a tree by folder, and the tree object of a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Final, Literal, TypeAlias

from podium.core.types import Tree
from podium.fast_dataclass import dataclass
from podium.git.command import Git, GitError, run
from podium.git.trees.objects import Objects, write

Mode: TypeAlias = Literal["100644", "100755", "120000", "160000", "040000"]

FILE: Final = "100644"
PROGRAM: Final = "100755"
LINK: Final = "120000"
MODULE: Final = "160000"
FOLDER: Final = "040000"


@dataclass(frozen=True, slots=True)
class Entry:
    mode: Mode
    name: str
    """The object id, a hash of the content."""


Folder: TypeAlias = Mapping[str, Entry]
Listing: TypeAlias = Mapping[str, Folder]
"""The entries of each folder, by its path ("" is the root); subfolders are entries too."""


_CACHE_SIZE: Final = 8
_CACHE: Final[dict[tuple[Path, Tree], Listing]] = {}
"""The last listings read, by object folder and tree. A tree never changes, so they stay true."""


_LOCK: Final = Lock()


class ListingDraft:
    """A listing that can be changed; a folder is copied when it is first accessed."""

    def __init__(self, before: Listing) -> None:
        self._before = before
        self._now: dict[str, dict[str, Entry]] = {}

    def of(self, folder: str) -> dict[str, Entry]:
        entries = self._now.get(folder)
        if entries is None:
            entries = self._now[folder] = dict(self._before.get(folder, {}))
        return entries

    def result(self) -> dict[str, Folder]:
        """All folders in git's order; those that were not accessed are shared with the listing before."""
        listing: dict[str, Folder] = {}
        todo = [""]
        while todo:
            path = todo.pop()
            entries = self._now.get(path)
            listing[path] = (
                self._before.get(path, {}) if entries is None else dict(sorted(entries.items(), key=_order))
            )
            below = [name for name, entry in listing[path].items() if entry.mode == FOLDER]
            todo.extend(f"{path}/{name}" if path else name for name in reversed(below))
        return listing

    def changed(self) -> set[str]:
        return {folder for folder, entries in self._now.items() if entries != self._before.get(folder, {})}


def read_listing(git: Git, tree: Tree) -> Listing:
    """The listing of a tree, in git's order. It is made from that of the last tree read, if there is one.

    One attempt asks several times for the listings of trees that differ little.
    """
    place = git.objects or git.git_dir
    with _LOCK:
        listing = _CACHE.pop((place, tree), None)
        similar = next(
            ((old, cached) for (other, old), cached in reversed(_CACHE.items()) if other == place), None
        )
    if listing is None and similar is not None:
        with suppress(GitError):  # The other tree may have been pruned since.
            listing = _read_changed(git, *similar, tree)
    if listing is None:
        listing = _read_whole(git, tree)
    _remember(place, tree, listing)
    return listing


def remember_listing(objects: Objects, tree: Tree, listing: Listing) -> None:
    """For a tree that was just written, so that it need not be read."""
    _remember(objects.behind or objects.folder, tree, listing)


def _remember(place: Path, tree: Tree, listing: Listing) -> None:
    with _LOCK:
        _CACHE[place, tree] = listing
        if len(_CACHE) > _CACHE_SIZE:
            del _CACHE[next(iter(_CACHE))]


def _read_whole(git: Git, tree: Tree) -> Listing:
    listing: dict[str, dict[str, Entry]] = {"": {}}
    # -t also lists subfolders with their tree ids, so that an unchanged one need not be written again.
    for record in run(git, "ls-tree", "-r", "-t", "-z", "--full-tree", tree).out.split(b"\0")[:-1]:
        head, _, raw = record.partition(b"\t")
        mode, _, name = head.decode().split(" ")
        path = os.fsdecode(raw)
        folder, _, base = path.rpartition("/")
        listing[folder][base] = Entry(_mode(mode), name)
        if mode == FOLDER:
            listing[path] = {}
    return listing


def _read_changed(git: Git, old: Tree, old_listing: Listing, new: Tree) -> Listing:
    """The listing of a tree, made from that of another one; folders without a change are shared with it."""
    fields = run(git, "diff-tree", "-r", "-t", "-z", "--raw", "--no-renames", old, new).out.split(b"\0")[:-1]
    changed: dict[str, Entry | None] = {}
    for head, raw in zip(fields[::2], fields[1::2], strict=True):
        _, mode, _, name, status = head[1:].decode().split(" ")
        path = os.fsdecode(raw)
        # A file in place of a folder is both a removal and an addition.
        if status != "D":
            changed[path] = Entry(_mode(mode), name)
        else:
            changed.setdefault(path, None)
    draft = ListingDraft(old_listing)
    for path, entry in changed.items():
        folder, _, base = path.rpartition("/")
        if entry is None:
            draft.of(folder).pop(base, None)
        else:
            draft.of(folder)[base] = entry
    return draft.result()


def _mode(text: str) -> Mode:
    match text:
        case "100644" | "100755" | "120000" | "160000" | "040000":
            return text
        case _:  # pragma: no cover (ls-tree prints no other, also for the 100664 of old repositories)
            return FILE


def files(listing: Listing) -> Iterator[tuple[str, Entry]]:
    """Every entry that is not a folder, with its full path."""
    for folder, entries in listing.items():
        prefix = folder + "/" if folder else ""
        for name, entry in entries.items():
            if entry.mode != FOLDER:
                yield prefix + name, entry


def write_folder(objects: Objects, entries: Folder) -> str:
    """Write the tree object of a folder whose subfolders have been written."""
    lines = (
        entry.mode.lstrip("0").encode() + b" " + os.fsencode(name) + b"\0" + bytes.fromhex(entry.name)
        for name, entry in sorted(entries.items(), key=_order)
    )
    return write(objects, "tree", b"".join(lines))


def _order(item: tuple[str, Entry]) -> bytes:
    """Git sorts by bytes, and sorts a folder as if its name ended with a slash."""
    name, entry = item
    return os.fsencode(name) + (b"/" if entry.mode == FOLDER else b"")


def build(objects: Objects, listing: ListingDraft, changed: set[str]) -> Tree:
    """Write the changed folders, deepest first; an empty folder is removed."""
    todo: dict[int, set[str]] = {}
    for path in changed | {""}:
        todo.setdefault(_depth(path), set()).add(path)
    for depth in range(max(todo), 0, -1):
        for path in todo.get(depth, ()):
            parent, _, base = path.rpartition("/")
            entries, parent_entries = listing.of(path), listing.of(parent)
            if entries:
                parent_entries[base] = Entry(FOLDER, write_folder(objects, entries))
            else:
                parent_entries.pop(base, None)
            todo.setdefault(depth - 1, set()).add(parent)
    return Tree(write_folder(objects, listing.of("")))


def _depth(path: str) -> int:
    return path.count("/") + 1 if path else 0
