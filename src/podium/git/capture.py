"""Turns a folder in which an agent has worked into a tree, without ever running git there.

First the whole folder is walked and judged (walk.py); only when nothing is wrong with it are changed files read, by
descriptors that are checked against what the walk saw, and written as objects. A refused folder leaves no object.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from podium.core.words import Tree
from podium.git.found import Bounds, Fault, Found, Reading
from podium.git.links import leaving
from podium.git.listing import FILE, LINK, PROGRAM, Entry, Mode, build
from podium.git.objects import Changed, Objects, name_of_file, write, write_file
from podium.git.snapshot import Snapshot, stat_of
from podium.git.walk import OPEN_FILE, opened, walk


@dataclass(frozen=True, slots=True)
class Captured:
    tree: Tree
    left_out: tuple[str, ...]
    """Untracked names that the rules ignore, and what stands inside submodules."""


@dataclass(frozen=True, slots=True)
class Refused:
    faults: tuple[Fault, ...]


def capture(
    objects: Objects, root: Path, snapshot: Snapshot, bounds: Bounds | None = None
) -> Captured | Refused:
    """The tree of what stands in a folder that began as the snapshot, or every reason why it may not become one.

    The processes that worked in the folder must be dead. If one is not, a file that changes meanwhile is refused.
    """
    found = walk(root, snapshot, bounds or Bounds())
    faults = found.faults or _faults_of_links(snapshot, found)
    if faults:
        return Refused(tuple(faults))
    listing = {folder: dict(entries) for folder, entries in snapshot.listing.items()}
    changed = _take_away(listing, found)
    for path, target in found.links.items():
        changed |= _put(listing, path, Entry(LINK, write(objects, "blob", os.fsencode(target))))
    for folder, readings in found.readings.items():
        try:
            changed |= _read_folder(objects, root, folder, readings=readings, listing=listing)
        except (OSError, Changed):
            return Refused((Fault(folder or ".", "changed while it was captured"),))
    tree = build(objects, listing, changed) if changed else snapshot.tree
    return Captured(tree, tuple(sorted(found.left_out)))


def _faults_of_links(snapshot: Snapshot, found: Found) -> list[Fault]:
    """New ways out of the root. One that the user's own tree has is left alone: agents did not make it."""
    links = {path: target for path, target in snapshot.links.items() if _stays(path, found)} | found.links
    out = leaving(links)
    if out:
        out -= {path for path in leaving(snapshot.links) if links.get(path) == snapshot.links[path]}
    return [Fault(path, f"is a link that leaves the project: {links[path]}") for path in sorted(out)]


def _stays(path: str, found: Found) -> bool:
    """Whether a path of the snapshot is still there: neither it nor a folder above it is gone, nor is it a file now."""
    names = path.split("/")
    gone = any(name in found.gone.get("/".join(names[:at]), ()) for at, name in enumerate(names))
    readings = found.readings.get("/".join(names[:-1]), ())
    return not gone and not any(reading.name == names[-1] for reading in readings)


def _take_away(listing: dict[str, dict[str, Entry]], found: Found) -> set[str]:
    for folder, names in found.gone.items():
        for name in names:
            del listing[folder][name]
    return set(found.gone)


def _put(listing: dict[str, dict[str, Entry]], path: str, entry: Entry) -> set[str]:
    """Sets an entry and returns the folder that it changed, if it did."""
    folder, _, name = path.rpartition("/")
    entries = listing.setdefault(folder, {})
    if entries.get(name) == entry:
        return set()
    entries[name] = entry
    return {folder}


def _read_folder(
    objects: Objects,
    root: Path,
    folder: str,
    *,
    readings: list[Reading],
    listing: dict[str, dict[str, Entry]],
) -> set[str]:
    entries = listing.setdefault(folder, {})
    before = dict(entries)
    with opened(root, folder) as fd:
        for reading in readings:
            entries[reading.name] = _read(objects, fd, reading, before.get(reading.name))
    return {folder} if entries != before else set()


def _read(objects: Objects, folder: int, reading: Reading, old: Entry | None) -> Entry:
    handle = os.open(reading.name, OPEN_FILE, dir_fd=folder)
    try:
        now = os.fstat(handle)
        if now.st_nlink > 1 or stat_of(now) != stat_of(reading.status):
            raise Changed
        mode: Mode = PROGRAM if now.st_mode & 0o100 else FILE
        # Most files of a folder without stats are as they were; only what is new is written.
        if old is not None and old.name == name_of_file(objects, handle, now.st_size):
            return Entry(mode, old.name)
        return Entry(mode, write_file(objects, handle, now.st_size))
    finally:
        os.close(handle)
