"""Turns a folder in which an agent has worked into a tree, without running git there.

First the whole folder is walked and checked (walk.py). Only if it has no faults, changed files are read through
descriptors that are checked against the walk, and written as objects into a quarantine. A refused folder leaves no
objects.
"""

from __future__ import annotations

import os
from pathlib import Path

from podium.core.types import Tree
from podium.errors import disk_fault
from podium.fast_dataclass import dataclass
from podium.git.trees.lfs import POINTER_BYTES, NoPointer, is_kept_by_lfs, is_pointer
from podium.git.trees.links import escaping_links
from podium.git.trees.listing import FILE, LINK, PROGRAM, Entry, ListingDraft, Mode, build, remember_listing
from podium.git.trees.names import escape_path
from podium.git.trees.objects import FileChanged, Objects, quarantine, release, write, write_file
from podium.git.trees.snapshot import Snapshot, stat_of
from podium.git.workdir.walk import OPEN_FILE, Bounds, Reading, WalkFault, WalkResult, open_folder, walk


@dataclass(frozen=True, slots=True)
class Captured:
    tree: Tree
    left_out: tuple[str, ...]
    """Ignored untracked names, and everything inside submodules."""


@dataclass(frozen=True, slots=True)
class Refused:
    faults: tuple[WalkFault, ...]


def capture(
    objects: Objects, root: Path, snapshot: Snapshot, bounds: Bounds | None = None
) -> Captured | Refused:
    """The tree of a folder that was checked out as the snapshot, or all reasons why it is refused.

    The processes that worked in the folder must have ended; otherwise a file that changes during the capture is refused.
    """
    walked = walk(root, snapshot, bounds or Bounds())
    faults = walked.faults or _link_faults(snapshot, walked)
    if faults:
        return Refused(tuple(faults))
    left_out = tuple(sorted(walked.left_out))
    if not (walked.gone or walked.links or walked.readings):
        return Captured(snapshot.tree, left_out)
    with quarantine(objects) as separate:
        try:
            tree = _build_tree(separate, root, snapshot, walked)
        except _Unfit as unfit:
            return Refused((unfit.fault,))
        release(separate)
    return Captured(tree, left_out)


class _Unfit(Exception):
    """A fault that was found only when the contents were read."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(path, why)
        self.fault = WalkFault(path or ".", why)


def _build_tree(objects: Objects, root: Path, snapshot: Snapshot, walked: WalkResult) -> Tree:
    listing = ListingDraft(snapshot.listing)
    for folder, names in walked.gone.items():
        for name in names:
            del listing.of(folder)[name]
    for path, target in walked.links.items():
        folder, _, name = path.rpartition("/")
        listing.of(folder)[name] = Entry(LINK, write(objects, "blob", os.fsencode(target)))
    for folder, readings in walked.readings.items():
        try:
            _read_folder(objects, root, folder, readings=readings, listing=listing, snapshot=snapshot)
        except (OSError, FileChanged) as error:
            if disk_fault(error) is not None:
                raise
            raise _Unfit(folder, "changed during the capture") from None
    changed = listing.changed()
    if not changed:
        return snapshot.tree
    tree = build(objects, listing, changed)
    remember_listing(objects, tree, listing.result())
    return tree


def _link_faults(snapshot: Snapshot, walked: WalkResult) -> list[WalkFault]:
    """Links that newly lead out of the root; existing ones are accepted, because the agent did not make them."""
    if walked.links and not snapshot.links:
        why = "is a new symbolic link, and this project has none; use a file instead"
        return [WalkFault(escape_path(path), why) for path in sorted(walked.links)]
    links = {
        path: target for path, target in snapshot.links.items() if _is_still_link(path, walked)
    } | walked.links
    escaping = escaping_links(links)
    if escaping:
        escaping -= {
            path for path in escaping_links(snapshot.links) if links.get(path) == snapshot.links[path]
        }
    why = "is a link that leaves the project"
    return [WalkFault(escape_path(path), f"{why}: {escape_path(links[path])}") for path in sorted(escaping)]


def _is_still_link(path: str, walked: WalkResult) -> bool:
    """Whether a link of the snapshot still exists: it and its folders were not removed, and it is not a file now."""
    names = path.split("/")
    removed = any(name in walked.gone.get("/".join(names[:depth]), ()) for depth, name in enumerate(names))
    readings = walked.readings.get("/".join(names[:-1]), ())
    return not removed and not any(reading.name == names[-1] for reading in readings)


def _read_folder(
    objects: Objects,
    root: Path,
    folder: str,
    *,
    readings: list[Reading],
    listing: ListingDraft,
    snapshot: Snapshot,
) -> None:
    entries = listing.of(folder)
    with open_folder(root, folder) as fd:
        for reading in readings:
            by_lfs = is_kept_by_lfs(folder, reading.name, snapshot.lfs)
            try:
                entries[reading.name] = _read_file(
                    objects, fd, reading, entries.get(reading.name), by_lfs=by_lfs
                )
            except NoPointer:
                path = f"{folder}/{reading.name}" if folder else reading.name
                raise _Unfit(path, "is managed by Git LFS and must stay a pointer; restore it") from None


def _read_file(objects: Objects, folder: int, reading: Reading, old: Entry | None, *, by_lfs: bool) -> Entry:
    handle = os.open(reading.name, OPEN_FILE, dir_fd=folder)
    try:
        now = os.fstat(handle)
        if now.st_nlink > 1 or stat_of(now) != stat_of(reading.status):
            raise FileChanged
        mode: Mode = PROGRAM if now.st_mode & 0o100 else FILE
        if by_lfs and not is_pointer(os.pread(handle, POINTER_BYTES, 0), now.st_size):
            raise NoPointer
        # Most files of a folder without stats are unchanged; only new contents are written.
        return Entry(mode, write_file(objects, handle, now.st_size, None if old is None else old.name))
    finally:
        os.close(handle)
