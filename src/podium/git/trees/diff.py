"""What changed between two trees: paths, lines, and the text of the difference."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from podium.core.types import Tree
from podium.git.command import run
from podium.git.repository import Repository, trees
from podium.git.trees.snapshot import read_blobs

Status: TypeAlias = Literal["added", "removed", "modified", "retyped"]

# Renames are not looked for: what a step touched is both of its paths.
_PLAIN: Final = (
    "diff-tree",
    "-r",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-relative",
)
_STATUS: Final[dict[str, Status]] = {"A": "added", "D": "removed", "M": "modified", "T": "retyped"}

_BLOBS: Final = ("100644", "100755", "120000")

DIFF_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Change:
    path: str
    status: Status
    old_mode: str
    new_mode: str
    added: int
    removed: int
    """Lines; both 0 for binary content."""
    binary: bool


@dataclass(frozen=True, slots=True)
class Diff:
    text: str
    cut: bool
    """Whether it was longer than asked for."""


def changes(repository: Repository, old: Tree, new: Tree) -> tuple[Change, ...]:
    """In the order of their paths."""
    if old == new:
        return ()
    fields = run(trees(repository), *_PLAIN, "--raw", "--numstat", "-z", old, new).out.split(b"\0")[:-1]
    heads: dict[bytes, tuple[str, str, Status]] = {}
    at = 0
    while fields[at].startswith(b":"):
        old_mode, new_mode, _, _, letter = fields[at][1:].decode().split(" ")
        heads[fields[at + 1]] = old_mode, new_mode, _STATUS[letter]
        at += 2
    return tuple(_change(record, heads) for record in fields[at:])


def _change(record: bytes, heads: dict[bytes, tuple[str, str, Status]]) -> Change:
    added, removed, raw = record.split(b"\t", 2)
    old_mode, new_mode, status = heads[raw]
    binary = added == b"-"
    lines = (0, 0) if binary else (int(added), int(removed))
    return Change(os.fsdecode(raw), status, old_mode, new_mode, *lines, binary)


def left_by(repository: Repository, old: Tree, new: Tree) -> Iterator[tuple[str, str, bytes]]:
    """What the new tree holds in place of the old one: path, mode and content; mode 000000 for what it has no more."""
    fields = (
        [] if old == new else run(trees(repository), *_PLAIN, "--raw", "-z", old, new).out.split(b"\0")[:-1]
    )
    heads = [field[1:].decode().split(" ") for field in fields[::2]]
    blobs = read_blobs(trees(repository), [name for _, mode, _, name, _ in heads if mode in _BLOBS])
    for raw, (_, mode, _, _, _) in zip(fields[1::2], heads, strict=True):
        yield os.fsdecode(raw), mode, next(blobs) if mode in _BLOBS else b""


def changed_paths(repository: Repository, old: Tree, new: Tree) -> tuple[str, ...]:
    if old == new:
        return ()
    out = run(trees(repository), *_PLAIN, "--name-only", "-z", old, new).out
    return tuple(os.fsdecode(raw) for raw in out.split(b"\0")[:-1])


def diff(
    repository: Repository,
    old: Tree,
    new: Tree,
    *,
    paths: tuple[str, ...] = (),
    context: int = 3,
    renames: bool = False,
    limit: int = DIFF_BYTES,
) -> Diff:
    """As people read it. Bytes that are no UTF-8 are replaced; a cut falls on the end of a line."""
    options = ("-M",) if renames else ()
    args = (*_PLAIN, "-p", f"-U{context}", *options, old, new, "--", *paths)
    answer = run(trees(repository), *args, limit=limit)
    out = answer.out[: answer.out.rfind(b"\n") + 1] if answer.cut else answer.out
    return Diff(out.decode("utf-8", "replace"), answer.cut)


def patch_id(repository: Repository, old: Tree, new: Tree) -> str:
    """A name of the change itself, the same wherever in its files it stands; empty for no change."""
    patch = run(trees(repository), *_PLAIN, "-p", "--full-index", "--binary", old, new).out
    return (
        run(trees(repository), "patch-id", "--stable", stdin=patch).out.decode().partition(" ")[0]
        if patch
        else ""
    )
