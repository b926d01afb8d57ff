"""The entries of a tree by folder, and the tree object of a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Final, Literal, TypeAlias

from podium.core.fast_dataclass import dataclass
from podium.core.types import Tree
from podium.git.command import Git, run
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

    def changed(self) -> set[str]:
        return {folder for folder, entries in self._now.items() if entries != self._before.get(folder, {})}


def read_listing(git: Git, tree: Tree) -> Listing:
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
    # Git sorts by bytes, and sorts a folder as if its name ended with a slash.
    ordered = sorted(
        (os.fsencode(name) + (b"/" if e.mode == FOLDER else b""), e) for name, e in entries.items()
    )
    lines = (
        entry.mode.lstrip("0").encode() + b" " + key.removesuffix(b"/") + b"\0" + bytes.fromhex(entry.name)
        for key, entry in ordered
    )
    return write(objects, "tree", b"".join(lines))


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
