"""Merges trees without a work tree: the joined tree, or where they clash."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

from podium.core.words import Tree
from podium.git.command import Answer, run
from podium.git.links import leaving
from podium.git.repository import Person, Repository, Signature, tree_of, trees, write_commit
from podium.git.snapshot import Snapshot, read_blobs, read_snapshot

EXCERPT_LINES: Final = 60

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
        _clashes(repository, merged, answer) if answer.code else _ways_out(repository, merged, (onto, tree))
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


def _ways_out(repository: Repository, merged: Tree, sides: tuple[Tree, Tree]) -> tuple[Clash, ...]:
    """Links that lead out of the root only now that both sides are together; each alone was checked at its capture."""
    links = read_snapshot(trees(repository), merged).links
    out = leaving(links)
    if not out:
        return ()
    before = frozenset[str]().union(
        *(leaving(read_snapshot(trees(repository), side).links) for side in sides)
    )
    why = "the two sides together make a link that leaves the project"
    return tuple(Clash(path, "LINK", f"{path} -> {links[path]}: {why}", "") for path in sorted(out - before))
