"""The user's own work tree when its branch moves: what stands in the way, and bringing the files along."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from podium.core.words import Tree
from podium.git.change import changes
from podium.git.command import Answer, Git, run, text
from podium.git.repository import Repository, personal, read_head, read_uncommitted, refs

# Refused by read-tree: a file that the user has changed, or that is not the tree's.
_REFUSED = 128


@dataclass(frozen=True, slots=True)
class WorkTree:
    root: Path
    git_dir: Path


def with_branch(repository: Repository, branch: str) -> WorkTree | None:
    """The work tree of the user's in which a branch is checked out, linked ones included."""
    if read_head(repository).branch == branch:
        return WorkTree(repository.root, repository.git_dir)
    root: Path | None = None
    out = run(refs(repository), "worktree", "list", "--porcelain", "-z").out
    for record in out.split(b"\0"):
        key, _, value = os.fsdecode(record).partition(" ")
        if key == "worktree":
            root = Path(value)
        elif key == "branch" and value == f"refs/heads/{branch}" and root is not None and root.is_dir():
            return WorkTree(
                root,
                Path(text(Git(root / ".git", marker=repository.marker), "rev-parse", "--absolute-git-dir")),
            )
    return None


def in_the_way(repository: Repository, work_tree: WorkTree, old: Tree, new: Tree) -> tuple[str, ...]:
    """Paths that would change and that the user has changed, added or left lying there; nothing is touched."""
    there = replace(repository, root=work_tree.root, git_dir=work_tree.git_dir)
    changed = changes(repository, old, new)
    touched = {change.path for change in changed}
    own = {path.removesuffix("/") for path in read_uncommitted(there)}
    blocked = {
        path
        for path in own
        if path in touched or _is_above_one(path, touched) or _is_below_one(path, touched)
    }
    removed = {change.path for change in changed if change.status == "removed"}
    for change in changed:
        if change.status == "added":
            blocked.update(_overwritten(work_tree.root, change.path, removed))
    if blocked or not touched:
        return tuple(sorted(blocked))
    trial = _move(there, old, new, "-n")
    return (trial.err.strip(),) if trial.code else ()


def _overwritten(root: Path, path: str, removed: set[str]) -> Iterator[str]:
    """Files where a new one is to stand. Ignored ones are in no list of git's; read-tree deletes them without a word."""
    place = root / path
    if not os.path.lexists(place):
        return
    if place.is_symlink() or not place.is_dir():
        yield path
        return
    for folder, _, names in os.walk(place):
        inside = (str((Path(folder) / name).relative_to(root)) for name in names)
        yield from (name for name in inside if name not in removed)


def _is_above_one(path: str, touched: set[str]) -> bool:
    """Whether a path of the user's stands where a touched one needs a folder."""
    return any(other.startswith(path + "/") for other in touched)


def _is_below_one(path: str, touched: set[str]) -> bool:
    names = path.split("/")
    return any("/".join(names[:at]) in touched for at in range(1, len(names)))


def bring_along(repository: Repository, work_tree: WorkTree, old: Tree, new: Tree) -> str | None:
    """Updates index and files from the old tree to the new one; git's complaint if it refuses. Twice is as once."""
    there = replace(repository, root=work_tree.root, git_dir=work_tree.git_dir)
    answer = _move(there, old, new)
    return answer.err.strip() if answer.code else None


def _move(there: Repository, old: Tree, new: Tree, *options: str) -> Answer:
    git = personal(there)
    # Files whose times differ but not their contents must not count as changed by the user.
    run(git, "update-index", "-q", "--refresh", codes=(0, 1))
    return run(git, "read-tree", *options, "-m", "-u", old, new, codes=(0, _REFUSED))
