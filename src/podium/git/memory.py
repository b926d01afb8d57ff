"""The stored memories of a project: commits on `refs/podium/memory/NAME`, moved by compare-and-swap.

Rule 1: a memory is regular files of text. Any other entry of its tree is not part of it.
Rule 2: a change of a run is merged once. Its commit names the run, and one merge at a time looks for that name first.
Rule 3: nothing of two sides is lost: what cannot be merged line by line is stored beside the file.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias

from podium.core.types import Tree
from podium.fast_dataclass import dataclass
from podium.git.command import GitError, run
from podium.git.repository import (
    REFS,
    Person,
    Repository,
    Signature,
    commit_of,
    component,
    has_commit,
    refs,
    tree_of,
    trees,
    write_commit,
)
from podium.git.trees.listing import FILE, Entry, ListingDraft, build, files, read_listing
from podium.git.trees.names import escape_path
from podium.git.trees.objects import write
from podium.git.trees.snapshot import read_blobs, read_small_blobs

MEMORIES: Final = f"{REFS}/memory"
MAX_FILES: Final = 200
MAX_BYTES: Final = 1 << 20
MAX_READ: Final = 8 << 20
"""Bytes of one file. A larger one can only have been stored by other means than Podium, and is left out."""

_RUN: Final = "Podium-Run"
_BESIDE: Final = "Conflict: "
_LOCK: Final = "podium-memory"
_STALE_S: Final = 5.0
"""How long a lock of git may last; only one process moves memories at a time, so that it belongs to a killed one."""
_TRIES: Final = 20
_PODIUM: Final = Person("podium", "podium@invalid")

Blobs: TypeAlias = Mapping[str, str]
"""The object id of each file of a memory, by path."""


@dataclass(frozen=True, slots=True)
class StoredMemory:
    name: str
    commit: str
    """Empty if the memory does not exist."""
    tree: Tree
    at_s: int = 0


@dataclass(frozen=True, slots=True)
class Merged:
    commit: str
    conflicts: tuple[str, ...]
    """The paths at which the run's side of a conflict is stored."""


def memory_ref(name: str) -> str:
    return f"{MEMORIES}/{component(name)}"


def read_memory(repository: Repository, name: str) -> StoredMemory:
    commit = commit_of(refs(repository), memory_ref(name))
    if commit is None:
        return StoredMemory(name, "", tree_of(repository, None))
    return StoredMemory(name, commit, tree_of(repository, commit))


def list_memories(repository: Repository) -> tuple[StoredMemory, ...]:
    """By name."""
    fmt = "%(refname)%00%(objectname)%00%(tree)%00%(committerdate:unix)"
    out = run(refs(repository), "for-each-ref", f"--format={fmt}", f"{MEMORIES}/").out.decode()
    rows = (line.split("\0") for line in out.splitlines())
    return tuple(
        StoredMemory(name.removeprefix(f"{MEMORIES}/"), commit, Tree(tree), int(at or 0))
        for name, commit, tree, at in rows
        if tree
    )


def blobs_of(repository: Repository, tree: Tree) -> dict[str, str]:
    """The regular files of a memory, sorted by path."""
    listing = read_listing(trees(repository), tree)
    return dict(sorted((path, entry.name) for path, entry in files(listing) if entry.mode == FILE))


def contents_of(repository: Repository, tree: Tree) -> dict[str, bytes]:
    """The files with their contents, without those that are too large to be written by Podium."""
    blobs = blobs_of(repository, tree)
    contents = read_small_blobs(trees(repository), list(blobs.values()), MAX_READ)
    return {path: content for path, content in zip(blobs, contents, strict=True) if content is not None}


def write_tree(repository: Repository, contents: Mapping[str, bytes]) -> Tree:
    return _tree_of_blobs(
        repository, {path: write(repository.objects, "blob", each) for path, each in contents.items()}
    )


def _tree_of_blobs(repository: Repository, blobs: Blobs) -> Tree:
    listing = ListingDraft({})
    for path, blob in blobs.items():
        folder, _, name = path.rpartition("/")
        listing.of(folder)[name] = Entry(FILE, blob)
    return build(repository.objects, listing, listing.changed())


def merge_trees(
    repository: Repository, *, base: Tree, stored: Tree, ours: Tree, label: str
) -> tuple[Tree, tuple[str, ...]]:
    """Apply the change from `base` to `ours` to what is stored, file by file; the paths of our sides of conflicts.

    On a conflict the stored file stays, and ours is added as `FILE.conflict-LABEL`.
    """
    if ours in (base, stored):
        return stored, ()
    if stored == base:
        return ours, ()
    before, theirs, own = (blobs_of(repository, tree) for tree in (base, stored, ours))
    merged, beside = dict(theirs), dict[str, str]()
    for path in own.keys() | before.keys():
        mine, old, other = own.get(path), before.get(path), theirs.get(path)
        if mine in (old, other):
            continue
        if other == old:
            _put(merged, path, mine)
        elif mine is not None:
            joined = None if other is None else _merge_text(repository, old, other, mine)
            if joined is None:
                beside[path] = mine
            else:
                merged[path] = joined
    beside |= {path: merged.pop(path) for path in _without_room(merged, theirs)}
    placed = tuple(_place(merged, path, blob, label) for path, blob in sorted(beside.items()))
    return _tree_of_blobs(repository, merged), tuple(path for path in placed if path)


def _put(blobs: dict[str, str], path: str, blob: str | None) -> None:
    if blob is None:
        blobs.pop(path, None)
    else:
        blobs[path] = blob


def _without_room(merged: Blobs, theirs: Blobs) -> list[str]:
    """New files of ours whose path needs a folder where the stored side has a file, or the other way round."""
    folders = {parent for path in merged for parent in _parents(path)}
    return [
        path
        for path in merged
        if path not in theirs and (path in folders or any(parent in merged for parent in _parents(path)))
    ]


def _parents(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[:end]) for end in range(1, len(parts)))


def _place(merged: dict[str, str], path: str, blob: str, label: str) -> str:
    """Store our side of a conflict beside the file, or beside the file that is in the way of its folder."""
    in_the_way = next((parent for parent in _parents(path) if parent in merged), path)
    rest, number, suffix = path[len(in_the_way) :], 1, ""
    while True:
        place = f"{in_the_way}.conflict-{label}{suffix}{rest}"
        if merged.setdefault(place, blob) == blob:
            return place
        number += 1
        suffix = f"-{number}"


def _merge_text(repository: Repository, base: str | None, theirs: str, ours: str) -> str | None:
    """The file with the changes of both sides; None if they concern the same lines."""
    git = trees(repository)
    names = [theirs, ours] if base is None else [theirs, ours, base]
    sides = [content or b"" for content in read_blobs(git, names)]
    with tempfile.TemporaryDirectory(dir=repository.store) as folder:
        paths = [Path(folder) / name for name in ("theirs", "ours", "base")]
        for path, content in zip(paths, [*sides, b""], strict=False):
            path.write_bytes(content)
        answer = run(
            git, "merge-file", "-p", "--quiet", str(paths[0]), str(paths[2]), str(paths[1]), codes=range(256)
        )
    return write(repository.objects, "blob", answer.out) if answer.code == 0 else None


def merge_run(
    repository: Repository, name: str, *, pinned: StoredMemory, ours: Tree, run_id: str, at_s: int
) -> Merged:
    """Merge what a run made of a memory into the stored one; repeating it changes nothing."""
    with _one_at_a_time(repository):
        for _ in range(_TRIES):
            stored = read_memory(repository, name)
            earlier = _commit_of_run(repository, stored.commit, pinned.commit, run_id)
            if earlier is not None:
                return earlier
            tree, conflicts = merge_trees(
                repository, base=pinned.tree, stored=stored.tree, ours=ours, label=run_id
            )
            lines = [
                f"Merge what run {run_id} learned",
                "",
                *(f"{_BESIDE}{escape_path(path)}" for path in conflicts),
            ]
            message = "\n".join([*lines, f"{_RUN}: {run_id}"])
            commit = _swap(repository, stored, tree, message, at_s)
            if commit is not None:
                return Merged(commit, conflicts)
    raise GitError(f'memory "{name}" was changed by other programs {_TRIES} times during the merge')


def replace_memory(
    repository: Repository, before: StoredMemory, contents: Mapping[str, bytes], at_s: int
) -> str | None:
    """Store what a person wrote; None if the memory has changed since they read it."""
    with _one_at_a_time(repository):
        tree = write_tree(repository, contents)
        return _swap(repository, before, tree, "Edit by hand", at_s)


def delete_memory(repository: Repository, memory: StoredMemory) -> bool:
    """Whether it was still as it was read."""
    with _one_at_a_time(repository):
        _remove_stale_lock(repository, memory.name)
        answer = run(
            refs(repository), "update-ref", "-d", memory_ref(memory.name), memory.commit, codes=(0, 1, 128)
        )
        return answer.code == 0


def _commit_of_run(repository: Repository, tip: str, since: str, run_id: str) -> Merged | None:
    """The commit by which this run has already been merged."""
    if not tip:
        return None
    range_ = (tip, f"^{since}") if since and has_commit(repository, since) else (tip,)
    out = run(
        refs(repository), "log", "-z", "--no-show-signature", "--format=%H%n%B", "--end-of-options", *range_
    ).out
    for entry in os.fsdecode(out).split("\0"):
        commit, *lines = entry.split("\n")
        if f"{_RUN}: {run_id}" in lines:
            beside = (line.removeprefix(_BESIDE) for line in lines if line.startswith(_BESIDE))
            return Merged(commit, tuple(beside))
    return None


def _swap(repository: Repository, before: StoredMemory, tree: Tree, message: str, at_s: int) -> str | None:
    """Move the ref to a new commit if it is still where it was read."""
    parents = (before.commit,) if before.commit else ()
    signature = Signature(_PODIUM, _PODIUM, at_s)
    commit = write_commit(repository, tree, parents=parents, message=message, signature=signature)
    _remove_stale_lock(repository, before.name)
    expected = before.commit or "0" * len(commit)
    answer = run(refs(repository), "update-ref", memory_ref(before.name), commit, expected, codes=(0, 1, 128))
    return commit if answer.code == 0 else None


@contextmanager
def _one_at_a_time(repository: Repository) -> Iterator[None]:
    """The kernel releases the lock however its holder dies."""
    handle = os.open(
        repository.common_dir / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
    )
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _remove_stale_lock(repository: Repository, name: str) -> None:
    """Remove git's lock on a memory that a killed git left behind, after giving a living one time to end."""
    lock = repository.common_dir / f"{memory_ref(name)}.lock"
    end = time.monotonic() + _STALE_S
    while lock.exists():
        if time.monotonic() > end:
            lock.unlink(missing_ok=True)
            return
        time.sleep(0.05)
