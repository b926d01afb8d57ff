"""The user's own work tree when its branch moves: what stands in the way, and bringing the files along."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from podium.core.types import Tree
from podium.git.command import Answer, Git, GitError, run, text
from podium.git.repository import Repository, personal, read_head, read_uncommitted, refs
from podium.git.trees.diff import Change, changes
from podium.git.trees.listing import MODULE
from podium.git.trees.names import shown

LOCK_WAIT_S: Final = 5.0
"""As long as for the locks of refs."""
PAUSE_S: Final = 0.05
SHOWN: Final = 20

# Refused by read-tree: a file that the user has changed, or that is not the tree's.
_REFUSED = 128


class IndexLocked(GitError):
    """Another git holds the lock of the user's index, or was killed and has left it there."""


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
    blocked = {path for path in read_uncommitted(there) if _is_near(path.removesuffix("/"), touched)}
    blocked.update(_overwritten(work_tree.root, changed))
    if blocked or not touched:
        return tuple(sorted(blocked))
    trial = _move(there, old, new, "-n")
    return (trial.err.strip(),) if trial.code else ()


def _overwritten(root: Path, changed: tuple[Change, ...]) -> Iterator[str]:
    """What stands where something new is to stand, and is in no list of git's: ignored files, and all in a submodule.

    read-tree deletes it without a word.
    """
    removed = {change.path for change in changed if change.status == "removed"}
    submodules = {change.path for change in changed if change.old_mode == MODULE}
    above: set[str] = set()
    for change in changed:
        if change.status == "added":
            above.update(_folders_of(change.path))
        if change.status == "added" or (change.status == "retyped" and change.path in submodules):
            yield from _standing(root, change.path, removed)
    for path in above:
        place = root / path
        is_folder = place.is_dir() and not place.is_symlink()
        if path in submodules:
            yield from _standing(root, path, set())
        elif os.path.lexists(place) and not is_folder and path not in removed:
            yield path


def _standing(root: Path, path: str, removed: set[str]) -> Iterator[str]:
    """The files at a path or below it; a repository of its own is told by its folder."""
    place = root / path
    if place.is_symlink() or not place.is_dir():
        if os.path.lexists(place):
            yield path
        return
    for folder, folders, names in os.walk(place):
        inside = str(Path(folder).relative_to(root))
        if ".git" in folders or ".git" in names:
            folders.clear()
            yield f"{inside}/"
            continue
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        yield from (name for name in (f"{inside}/{one}" for one in (*names, *links)) if name not in removed)


def _is_near(path: str, touched: set[str]) -> bool:
    """Whether a path of the user's is a touched one, stands where one needs a folder, or lies below one."""
    is_above = any(other.startswith(path + "/") for other in touched)
    return path in touched or is_above or any(folder in touched for folder in _folders_of(path))


def _folders_of(path: str) -> Iterator[str]:
    names = path.split("/")
    return ("/".join(names[:at]) for at in range(1, len(names)))


def catch_up(repository: Repository, work_tree: WorkTree, old: Tree, new: Tree) -> str | None:
    """Brings along what was left behind, maybe long ago: what the user has put there since is not overwritten."""
    there = replace(repository, root=work_tree.root, git_dir=work_tree.git_dir)
    out = run(personal(there), "diff-index", "--cached", "--name-only", "--no-renames", "-z", old).out
    moved_on = {os.fsdecode(raw) for raw in out.split(b"\0")[:-1]}
    behind = tuple(change for change in changes(repository, old, new) if change.path not in moved_on)
    if not behind:
        return None
    lying = sorted(set(_overwritten(work_tree.root, behind)))
    if lying:
        return f"{', '.join(map(shown, lying[:SHOWN]))} would be overwritten"
    return bring_along(repository, work_tree, old, new)


def bring_along(repository: Repository, work_tree: WorkTree, old: Tree, new: Tree) -> str | None:
    """Updates index and files from the old tree to the new one; git's complaint if it refuses. Twice is as once."""
    there = replace(repository, root=work_tree.root, git_dir=work_tree.git_dir)
    try:
        answer = _move(there, old, new)
    except IndexLocked as locked:
        return f"{locked.message} ({locked.hint})"
    return answer.err.strip() if answer.code else None


def _move(there: Repository, old: Tree, new: Tree, *options: str) -> Answer:
    git = personal(there)
    # Files whose times differ but not their contents must not count as changed by the user.
    _with_index(there, lambda: run(git, "update-index", "--refresh", codes=(0, 1, _REFUSED)))
    return _with_index(
        there, lambda: run(git, "read-tree", *options, "-m", "-u", old, new, codes=(0, _REFUSED))
    )


def _with_index(there: Repository, call: Callable[[], Answer]) -> Answer:
    """Calls what takes the lock of the index, which a git of the user's may hold for a moment."""
    lock = there.git_dir / "index.lock"
    deadline = time.monotonic() + LOCK_WAIT_S
    while True:
        answer = call()
        if answer.code != _REFUSED or f"{lock.name}': File exists" not in answer.err:
            return answer
        if time.monotonic() >= deadline:
            raise IndexLocked(
                f"the index of {there.root} is locked by {lock}",
                hint=f"wait for the git that works there; if there is none, remove it: rm {lock}",
            )
        time.sleep(PAUSE_S)
