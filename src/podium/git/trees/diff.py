"""The difference between two trees: changed paths, line counts, and the text of the diff."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

from podium.core.types import Tree
from podium.fast_dataclass import dataclass
from podium.git.command import run
from podium.git.repository import Repository, trees
from podium.git.trees.snapshot import read_blobs

Status: TypeAlias = Literal["added", "removed", "modified", "retyped"]

# No rename detection, because a renamed file counts as a change of both paths.
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
    """Numbers of lines; both 0 for binary content."""
    binary: bool


@dataclass(frozen=True, slots=True)
class Diff:
    text: str
    cut: bool
    """True if it was longer than the limit and was truncated."""


def changes(repository: Repository, old: Tree, new: Tree) -> tuple[Change, ...]:
    """The changes, ordered by path."""
    if old == new:
        return ()
    fields = run(trees(repository), *_PLAIN, "--raw", "--numstat", "-z", old, new).out.split(b"\0")[:-1]
    heads: dict[bytes, tuple[str, str, Status]] = {}
    position = 0
    while fields[position].startswith(b":"):
        old_mode, new_mode, _, _, status = fields[position][1:].decode().split(" ")
        heads[fields[position + 1]] = old_mode, new_mode, _STATUS[status]
        position += 2
    return tuple(_change(record, heads) for record in fields[position:])


def _change(record: bytes, heads: dict[bytes, tuple[str, str, Status]]) -> Change:
    added, removed, raw = record.split(b"\t", 2)
    old_mode, new_mode, status = heads[raw]
    binary = added == b"-"
    lines = (0, 0) if binary else (int(added), int(removed))
    return Change(os.fsdecode(raw), status, old_mode, new_mode, *lines, binary)


def changed_contents(repository: Repository, old: Tree, new: Tree) -> Iterator[tuple[str, str, bytes]]:
    """The path, mode and new content of every changed file; mode 000000 for a removed one."""
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
    """The diff as text. Bytes that are not UTF-8 are replaced; a truncated diff ends at a line end."""
    options = ("-M",) if renames else ()
    args = (*_PLAIN, "-p", f"-U{context}", *options, old, new, "--", *paths)
    answer = run(trees(repository), *args, limit=limit)
    out = answer.out[: answer.out.rfind(b"\n") + 1] if answer.cut else answer.out
    return Diff(out.decode("utf-8", "replace"), answer.cut)


def patch_id(repository: Repository, old: Tree, new: Tree) -> str:
    """An id of the change that does not depend on line numbers; "" for no change."""
    patch = run(trees(repository), *_PLAIN, "-p", "--full-index", "--binary", old, new).out
    return (
        run(trees(repository), "patch-id", "--stable", stdin=patch).out.decode().partition(" ")[0]
        if patch
        else ""
    )
