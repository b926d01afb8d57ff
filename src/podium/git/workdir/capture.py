"""Turns a folder in which an agent has worked into a tree, without ever running git there.

First the whole folder is walked and judged (walk.py); only when nothing is wrong with it are changed files read, by
descriptors that are checked against what the walk saw, and written as objects, apart from the others until all of
them are there. A refused folder leaves no object.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from podium.core.types import Tree
from podium.errors import disk_fault
from podium.git.trees.lfs import POINTER_BYTES, NoPointer, is_kept_by_lfs, is_pointer
from podium.git.trees.links import leaving
from podium.git.trees.listing import FILE, LINK, PROGRAM, Changing, Entry, Mode, build
from podium.git.trees.names import shown
from podium.git.trees.objects import Changed, Objects, quarantined, release, write, write_file
from podium.git.trees.snapshot import Snapshot, stat_of
from podium.git.workdir.walk import OPEN_FILE, Bounds, Found, Reading, WalkFault, opened, walk


@dataclass(frozen=True, slots=True)
class Captured:
    tree: Tree
    left_out: tuple[str, ...]
    """Untracked names that the rules ignore, and what stands inside submodules."""


@dataclass(frozen=True, slots=True)
class Refused:
    faults: tuple[WalkFault, ...]


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
    left_out = tuple(sorted(found.left_out))
    if not (found.gone or found.links or found.readings):
        return Captured(snapshot.tree, left_out)
    with quarantined(objects) as apart:
        try:
            tree = _built(apart, root, snapshot, found)
        except _Unfit as unfit:
            return Refused((unfit.fault,))
        release(apart)
    return Captured(tree, left_out)


class _Unfit(Exception):
    """Found only when the contents were read."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(path, why)
        self.fault = WalkFault(path or ".", why)


def _built(objects: Objects, root: Path, snapshot: Snapshot, found: Found) -> Tree:
    listing = Changing(snapshot.listing)
    for folder, names in found.gone.items():
        for name in names:
            del listing.of(folder)[name]
    for path, target in found.links.items():
        folder, _, name = path.rpartition("/")
        listing.of(folder)[name] = Entry(LINK, write(objects, "blob", os.fsencode(target)))
    for folder, readings in found.readings.items():
        try:
            _read_folder(objects, root, folder, readings=readings, listing=listing, snapshot=snapshot)
        except (OSError, Changed) as error:
            if disk_fault(error) is not None:
                raise
            raise _Unfit(folder, "changed while it was captured") from None
    changed = listing.changed()
    return build(objects, listing, changed) if changed else snapshot.tree


def _faults_of_links(snapshot: Snapshot, found: Found) -> list[WalkFault]:
    """New ways out of the root. One that the user's own tree has is left alone: agents did not make it."""
    if found.links and not snapshot.links:
        why = "is a new link, and this project has no links; put a file there"
        return [WalkFault(shown(path), why) for path in sorted(found.links)]
    links = {path: target for path, target in snapshot.links.items() if _stays(path, found)} | found.links
    out = leaving(links)
    if out:
        out -= {path for path in leaving(snapshot.links) if links.get(path) == snapshot.links[path]}
    why = "is a link that leaves the project"
    return [WalkFault(shown(path), f"{why}: {shown(links[path])}") for path in sorted(out)]


def _stays(path: str, found: Found) -> bool:
    """Whether a path of the snapshot is still there: neither it nor a folder above it is gone, nor is it a file now."""
    names = path.split("/")
    gone = any(name in found.gone.get("/".join(names[:at]), ()) for at, name in enumerate(names))
    readings = found.readings.get("/".join(names[:-1]), ())
    return not gone and not any(reading.name == names[-1] for reading in readings)


def _read_folder(
    objects: Objects,
    root: Path,
    folder: str,
    *,
    readings: list[Reading],
    listing: Changing,
    snapshot: Snapshot,
) -> None:
    entries = listing.of(folder)
    with opened(root, folder) as fd:
        for reading in readings:
            by_lfs = is_kept_by_lfs(folder, reading.name, snapshot.lfs)
            try:
                entries[reading.name] = _read(objects, fd, reading, entries.get(reading.name), by_lfs=by_lfs)
            except NoPointer:
                path = f"{folder}/{reading.name}" if folder else reading.name
                raise _Unfit(
                    path, "is kept by Git LFS, so that only its pointer may stand there; leave it as it was"
                ) from None


def _read(objects: Objects, folder: int, reading: Reading, old: Entry | None, *, by_lfs: bool) -> Entry:
    handle = os.open(reading.name, OPEN_FILE, dir_fd=folder)
    try:
        now = os.fstat(handle)
        if now.st_nlink > 1 or stat_of(now) != stat_of(reading.status):
            raise Changed
        mode: Mode = PROGRAM if now.st_mode & 0o100 else FILE
        if by_lfs and not is_pointer(os.pread(handle, POINTER_BYTES, 0), now.st_size):
            raise NoPointer
        # Most files of a folder without stats are as they were; only what is new is written.
        return Entry(mode, write_file(objects, handle, now.st_size, None if old is None else old.name))
    finally:
        os.close(handle)
