"""Merges trees without a work tree; the result is the merged tree or the conflicts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from podium.core.types import Tree
from podium.fast_dataclass import dataclass
from podium.git.command import Answer, run
from podium.git.repository import Person, Repository, Signature, tree_of, trees, write_commit
from podium.git.trees.links import escaping_links
from podium.git.trees.listing import Listing
from podium.git.trees.names import fold_name
from podium.git.trees.snapshot import Snapshot, read_small_blobs, read_snapshot

MAX_EXCERPTED: Final = 4 << 20
"""Bytes of the longest file of which the first conflict is shown."""
MAX_SEARCHED: Final = 64 << 20
"""Bytes of the longest file that is searched for conflict markers that were left in it."""
EXCERPT_LINES: Final = 60

MERGED_BEFORE: Final = "what was there before"
THIS_WORK: Final = "this work"

_MARKER: Final = re.compile(r"(<{7}|>{7}|\|{7}) [0-9a-f]{7,64}(:.*)?")
"""Git labels the sides of a conflict with the commits that were merged, which no file has by itself."""

_WAY_OUT: Final = "a link that leaves the project"
_TWIN: Final = "each side added one of them, and on some systems they are the same file"

# For the temporary commits that git 2.39 needs to find the merge base; no ref points to them.
_PODIUM: Final = Person("podium", "podium@invalid")
_JOINING: Final = Signature(_PODIUM, _PODIUM, 0)


@dataclass(frozen=True, slots=True)
class Clash:
    path: str
    kind: str
    """Git's name of it: CONFLICT (contents), CONFLICT (modify/delete), ..."""
    message: str
    excerpt: str
    """The first conflict in the file, with markers; "" if the file has none."""


@dataclass(frozen=True, slots=True)
class Joined:
    tree: Tree


@dataclass(frozen=True, slots=True)
class Clashed:
    clashes: tuple[Clash, ...]
    tree: Tree | None = None
    """The merged tree with conflict markers; None if it must not be checked out."""


def join(repository: Repository, *, fork: Tree | None, onto: Tree, tree: Tree) -> Joined | Clashed:
    """Apply the changes from `fork` to `tree` on top of `onto`; without a fork both started empty."""
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
    unsafe = _combined_clashes(repository, merged, (onto, tree))
    if answer.code:
        clashes = _clashes(repository, merged, answer, {ours: MERGED_BEFORE, theirs: THIS_WORK})
        return Clashed(clashes, None if unsafe else merged)
    return Clashed(unsafe) if unsafe else Joined(merged)


def files_with_markers(repository: Repository, tree: Tree, paths: Iterable[str]) -> tuple[str, ...]:
    """Those of the paths that still have conflict markers as a merge of ours writes them."""
    snapshot = read_snapshot(trees(repository), tree)
    return tuple(
        path
        for path in paths
        if any(
            _MARKER.fullmatch(line)
            for line in _content(repository, snapshot, path, MAX_SEARCHED).splitlines()
        )
    )


def _clashes(
    repository: Repository, merged: Tree, answer: Answer, sides: Mapping[str, str]
) -> tuple[Clash, ...]:
    """Parse the output: the tree, the stages of each path, an empty field, then messages with their paths."""
    stages, _, messages = answer.out.partition(b"\0")[2].partition(b"\0\0")
    paths = dict.fromkeys(os.fsdecode(record.partition(b"\t")[2]) for record in stages.split(b"\0"))
    messages_by_path: dict[str, tuple[str, str]] = {}
    fields = [os.fsdecode(field) for field in messages.split(b"\0")[:-1]]
    position = 0
    while position < len(fields):
        count = int(fields[position])
        message_paths = fields[position + 1 : position + 1 + count]
        kind, message = fields[position + 1 + count : position + 3 + count]
        if kind.startswith("CONFLICT"):
            messages_by_path |= {path: (kind, message.strip()) for path in message_paths}
        position += 3 + count
    snapshot = read_snapshot(trees(repository), merged)
    clashes = []
    for path in paths:
        kind, message = messages_by_path.get(path, ("CONFLICT", f"{path} was changed on both sides"))
        clashes.append(Clash(path, kind, message, _excerpt(repository, snapshot, path, sides)))
    return tuple(clashes)


def _excerpt(repository: Repository, snapshot: Snapshot, path: str, sides: Mapping[str, str]) -> str:
    """The first conflict in the file, with names of the sides instead of the ids of temporary commits."""
    lines = _content(repository, snapshot, path, MAX_EXCERPTED).splitlines()
    first = next((at for at, line in enumerate(lines) if line.startswith("<<<<<<< ")), None)
    if first is None:
        return ""
    excerpt = "\n".join(lines[max(0, first - 3) : first + EXCERPT_LINES])
    for commit, side in sides.items():
        excerpt = excerpt.replace(commit, side)
    return excerpt


def _content(repository: Repository, snapshot: Snapshot, path: str, most: int) -> str:
    """The text of a file of at most so many bytes; empty for any other."""
    folder, _, name = path.rpartition("/")
    entry = snapshot.listing.get(folder, {}).get(name)
    if entry is None or not entry.mode.startswith("100"):
        return ""
    content = next(read_small_blobs(trees(repository), [entry.name], most)) or b""
    return content.decode("utf-8", "replace")


def _combined_clashes(repository: Repository, merged: Tree, sides: tuple[Tree, Tree]) -> tuple[Clash, ...]:
    """Conflicts that only the merge creates: each side was checked alone, but not both together."""
    git = trees(repository)
    now = read_snapshot(git, merged)
    out, twins = escaping_links(now.links), list(_twins(now.listing))
    if not out and not twins:
        return ()
    before = [read_snapshot(git, side) for side in sides]
    out -= frozenset[str]().union(*(escaping_links(side.links) for side in before))
    existing = {pair for side in before for pair in _twins(side.listing)}
    return (
        *(
            Clash(path, "LINK", f"{path} -> {now.links[path]}: together the two sides make {_WAY_OUT}", "")
            for path in sorted(out)
        ),
        *(
            Clash(path, "NAME", f'{path} and "{other}": {_TWIN}', "")
            for path, other in twins
            if (path, other) not in existing
        ),
    )


def _twins(listing: Listing) -> Iterator[tuple[str, str]]:
    """Paths, each with another name in its folder that some file systems treat as the same."""
    for folder, entries in listing.items():
        first: dict[str, str] = {}
        for name in entries:
            other = first.setdefault(fold_name(name), name)
            if other != name:
                yield f"{folder}/{name}" if folder else name, other
