"""Merges trees without a work tree: the joined tree, or where they clash."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from podium.core.types import Tree
from podium.git.command import Answer, run
from podium.git.repository import Person, Repository, Signature, tree_of, trees, write_commit
from podium.git.trees.links import leaving
from podium.git.trees.listing import Listing
from podium.git.trees.names import folded
from podium.git.trees.snapshot import Snapshot, read_blobs, read_snapshot

EXCERPT_LINES: Final = 60

_WAY_OUT: Final = "a link that leaves the project"
_TWIN: Final = "one side has made each, and on some systems they are the same file"

# Only for the commits that git 2.39 needs to see which tree the others come from; nothing ever points to them.
_NOBODY: Final = Person("podium", "podium@invalid")
_JOINING: Final = Signature(_NOBODY, _NOBODY, 0)


@dataclass(frozen=True, slots=True)
class Clash:
    path: str
    kind: str
    """Git's own words: CONFLICT (contents), CONFLICT (modify/delete), ..."""
    message: str
    excerpt: str
    """The first place in the file where both sides differ, with markers; empty where the file has none."""


@dataclass(frozen=True, slots=True)
class Joined:
    tree: Tree


@dataclass(frozen=True, slots=True)
class Clashed:
    clashes: tuple[Clash, ...]


def join(repository: Repository, *, fork: Tree | None, onto: Tree, tree: Tree) -> Joined | Clashed:
    """What `tree` changed since `fork`, on top of `onto`. No fork means that both began with nothing."""
    base = tree_of(repository, None) if fork is None else fork
    if tree in (base, onto):
        return Joined(onto)
    if onto == base:
        return Joined(tree)
    root = write_commit(repository, base, parents=(), message="fork", signature=_JOINING)
    ours, theirs = (
        write_commit(repository, side, parents=(root,), message="side", signature=_JOINING)
        for side in (onto, tree)
    )
    answer = run(
        trees(repository), "merge-tree", "--write-tree", "-z", "--messages", ours, theirs, codes=(0, 1)
    )
    merged = Tree(answer.out.partition(b"\0")[0].decode())
    clashes = (
        _clashes(repository, merged, answer)
        if answer.code
        else _made_together(repository, merged, (onto, tree))
    )
    return Clashed(clashes) if clashes else Joined(merged)


def _clashes(repository: Repository, merged: Tree, answer: Answer) -> tuple[Clash, ...]:
    """Of the answer: the tree, the stages of each path, an empty field, then messages with the paths they are about."""
    stages, _, messages = answer.out.partition(b"\0")[2].partition(b"\0\0")
    paths = dict.fromkeys(os.fsdecode(record.partition(b"\t")[2]) for record in stages.split(b"\0"))
    told: dict[str, tuple[str, str]] = {}
    fields = [os.fsdecode(field) for field in messages.split(b"\0")[:-1]]
    at = 0
    while at < len(fields):
        count = int(fields[at])
        about = fields[at + 1 : at + 1 + count]
        kind, message = fields[at + 1 + count : at + 3 + count]
        if kind.startswith("CONFLICT"):
            told |= {path: (kind, message.strip()) for path in about}
        at += 3 + count
    snapshot = read_snapshot(trees(repository), merged)
    found = []
    for path in paths:
        kind, message = told.get(path, ("CONFLICT", f"{path} was changed on both sides"))
        found.append(Clash(path, kind, message, _excerpt(repository, snapshot, path)))
    return tuple(found)


def _excerpt(repository: Repository, snapshot: Snapshot, path: str) -> str:
    folder, _, name = path.rpartition("/")
    entry = snapshot.listing.get(folder, {}).get(name)
    if entry is None or not entry.mode.startswith("100"):
        return ""
    content = next(read_blobs(trees(repository), [entry.name]))
    lines = content.decode("utf-8", "replace").splitlines()
    first = next((at for at, line in enumerate(lines) if line.startswith("<<<<<<< ")), None)
    return "" if first is None else "\n".join(lines[max(0, first - 3) : first + EXCERPT_LINES])


def _made_together(repository: Repository, merged: Tree, sides: tuple[Tree, Tree]) -> tuple[Clash, ...]:
    """What no capture would have taken and none has seen: each side alone was checked, not both together."""
    git = trees(repository)
    now = read_snapshot(git, merged)
    out, twins = leaving(now.links), list(_twins(now.listing))
    if not out and not twins:
        return ()
    before = [read_snapshot(git, side) for side in sides]
    out -= frozenset[str]().union(*(leaving(side.links) for side in before))
    known = {pair for side in before for pair in _twins(side.listing)}
    return (
        *(
            Clash(path, "LINK", f"{path} -> {now.links[path]}: the two sides together make {_WAY_OUT}", "")
            for path in sorted(out)
        ),
        *(
            Clash(path, "NAME", f'{path} and "{other}": {_TWIN}', "")
            for path, other in twins
            if (path, other) not in known
        ),
    )


def _twins(listing: Listing) -> Iterator[tuple[str, str]]:
    """Paths with the name beside them that some systems take for the same."""
    for folder, entries in listing.items():
        first: dict[str, str] = {}
        for name in entries:
            other = first.setdefault(folded(name), name)
            if other != name:
                yield f"{folder}/{name}" if folder else name, other
