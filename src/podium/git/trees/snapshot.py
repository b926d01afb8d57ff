"""A checked-out tree, with which a later walk of the folder is compared."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from operator import attrgetter
from typing import Final, TypeAlias

from podium.core.types import Tree
from podium.fast_dataclass import dataclass
from podium.git.command import MAX_OUTPUT, Answer, Git, GitError, run
from podium.git.trees.ignore import Rule, Rules, parse_rules
from podium.git.trees.lfs import lfs_rules
from podium.git.trees.listing import FILE, LINK, PROGRAM, Listing, read_listing

Stat: TypeAlias = tuple[int, int, int, int, int]
Stats: TypeAlias = Mapping[str, Mapping[str, Stat]]
"""The stat of each file that is known to match the tree, by folder and name."""

HERE: Final = "."
"""The key of a folder's own stat, present if its names are known to match the tree."""

BATCH_BYTES: Final = 16 << 20
FEW: Final = 100
"""Objects that are read without asking for their sizes first."""

# An agent can set the modification time of a file, but not its change time (ctime).
stat_of: Final[Callable[[os.stat_result], Stat]] = attrgetter(
    "st_mode", "st_size", "st_ino", "st_mtime_ns", "st_ctime_ns"
)
"""Implemented in C, because it is called for every file of every capture."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    tree: Tree
    listing: Listing
    links: Mapping[str, str]
    rules: Rules
    outer: tuple[Rule, ...] = ()
    lfs: Rules = field(default_factory=dict)
    """The files managed by Git LFS, of which the tree has only pointers, as ignore rules."""
    stats: Stats = field(default_factory=dict)


def read_snapshot(git: Git, tree: Tree, outer: Iterable[Rule] = ()) -> Snapshot:
    """Read a tree; without stats, so that a capture against it reads every file."""
    listing = read_listing(git, tree)
    links = [
        (f"{folder}/{name}" if folder else name, entry.name)
        for folder, entries in listing.items()
        for name, entry in entries.items()
        if entry.mode == LINK
    ]
    ignores, attributes = _files_named(listing, ".gitignore"), _files_named(listing, ".gitattributes")
    blobs = read_blobs(git, [name for _, name in (*links, *ignores, *attributes)])
    targets = {path: os.fsdecode(content) for (path, _), content in zip(links, blobs, strict=False)}
    rules = {folder: parse_rules(content) for (folder, _), content in zip(ignores, blobs, strict=False)}
    lfs = {folder: lfs_rules(content) for (folder, _), content in zip(attributes, blobs, strict=True)}
    return Snapshot(tree, listing, targets, rules, tuple(outer), {k: v for k, v in lfs.items() if v})


def _files_named(listing: Listing, name: str) -> list[tuple[str, str]]:
    """The files with this name, as pairs of folder and object id."""
    candidates = ((folder, entries.get(name)) for folder, entries in listing.items())
    return [(folder, entry.name) for folder, entry in candidates if entry and entry.mode in (FILE, PROGRAM)]


def read_blobs(git: Git, names: list[str], *, most: int = MAX_OUTPUT) -> Iterator[bytes]:
    """The contents in the given order, read in bounded batches; of one with more bytes than `most`, only its beginning."""
    if 0 < len(names) <= FEW:
        answer = _read(git, names, limit=BATCH_BYTES)
        if not answer.cut:
            yield from _contents(answer.out, names)
            return
    for batch in _batches(git, names):
        # A content that is larger than a batch is alone in it.
        yield from _contents(_read(git, batch, limit=min(MAX_OUTPUT, BATCH_BYTES + most)).out, batch)


def read_small_blobs(git: Git, names: list[str], most: int) -> Iterator[bytes | None]:
    """The contents in the given order; None for one with more bytes than `most`, which is not even read."""
    is_small = [size <= most for size in _sizes(git, names)]
    contents = read_blobs(git, [name for name, small in zip(names, is_small, strict=True) if small])
    for small in is_small:
        yield next(contents) if small else None


def _read(git: Git, names: list[str], *, limit: int = MAX_OUTPUT) -> Answer:
    stdin = "".join(f"{name}\n" for name in names).encode()
    return run(git, "cat-file", "--batch", "--buffer", stdin=stdin, limit=limit)


def _contents(out: bytes, names: list[str]) -> Iterator[bytes]:
    position = 0
    for name in names:
        line = out.index(b"\n", position)
        size = out[position:line].rpartition(b" ")[2]
        if not size.isdigit():
            raise _missing(name)
        end = line + 1 + int(size)
        yield out[line + 1 : end]
        position = end + 1


def _missing(name: str) -> GitError:
    return GitError(
        f"object {name} is missing", hint="in a partial clone, fetch it first: git fetch --refetch"
    )


def _sizes(git: Git, names: list[str]) -> list[int]:
    if not names:
        return []
    stdin = "".join(f"{name}\n" for name in names).encode()
    answers = run(git, "cat-file", "--batch-check=%(objectsize)", "--buffer", stdin=stdin).out.split(b"\n")
    for name, answer in zip(names, answers, strict=False):
        if not answer.isdigit():
            raise _missing(name)
    return [int(answer) for answer in answers[: len(names)]]


def _batches(git: Git, names: list[str]) -> Iterator[list[str]]:
    if not names:
        return
    batch: list[str] = []
    total = 0
    for name, size in zip(names, _sizes(git, names), strict=True):
        if batch and total + size > BATCH_BYTES:
            yield batch
            batch, total = [], 0
        batch.append(name)
        total += size
    yield batch
