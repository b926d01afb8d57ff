"""The user's work trees: what is in the way when a branch moves, updating the checked-out files, and a tree of its own for a
step that a person does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from podium.core.types import Tree
from podium.fast_dataclass import dataclass
from podium.git.command import Answer, Git, GitError, run, text
from podium.git.repository import (
    Repository,
    personal,
    read_head,
    read_uncommitted,
    refs,
    tree_with_uncommitted,
)
from podium.git.trees.diff import Change, changes
from podium.git.trees.listing import MODULE
from podium.git.trees.names import escape_path

LOCK_WAIT_S: Final = 5.0
"""The same as for locks of refs."""
PAUSE_S: Final = 0.05
SHOWN: Final = 20

# The exit code of read-tree for a file that the user has changed or that is not part of the tree.
_REFUSED = 128


class IndexLocked(GitError):
    """Another git process holds the lock of the user's index, or was killed and left the lock behind."""


@dataclass(frozen=True, slots=True)
class WorkTree:
    root: Path
    git_dir: Path


def worktree_of(repository: Repository, branch: str) -> WorkTree | None:
    """The user's work tree, possibly a linked one, in which a branch is checked out."""
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


def paths_in_the_way(repository: Repository, work_tree: WorkTree, old: Tree, new: Tree) -> tuple[str, ...]:
    """Paths that would change but that contain the user's own work; changes nothing."""
    checkout = replace(repository, root=work_tree.root, git_dir=work_tree.git_dir)
    changed = changes(repository, old, new)
    touched = {change.path for change in changed}
    blocked = {path for path in read_uncommitted(checkout) if _is_near(path.removesuffix("/"), touched)}
    blocked.update(_overwritten(work_tree.root, changed))
    if blocked or not touched:
        return tuple(sorted(blocked))
    trial = _read_tree(checkout, old, new, "-n")
    return (trial.err.strip(),) if trial.code else ()


def _overwritten(root: Path, changed: tuple[Change, ...]) -> Iterator[str]:
    """Existing files at new paths that git does not list: ignored files, and everything in a submodule.

    read-tree would silently delete them.
    """
    removed = {change.path for change in changed if change.status == "removed"}
    submodules = {change.path for change in changed if change.old_mode == MODULE}
    folders: set[str] = set()
    for change in changed:
        if change.status == "added":
            folders.update(_folders_of(change.path))
        if change.status == "added" or (change.status == "retyped" and change.path in submodules):
            yield from _existing_files(root, change.path, removed)
    for path in folders:
        place = root / path
        is_folder = place.is_dir() and not place.is_symlink()
        if path in submodules:
            yield from _existing_files(root, path, set())
        elif os.path.lexists(place) and not is_folder and path not in removed:
            yield path


def _existing_files(root: Path, path: str, removed: set[str]) -> Iterator[str]:
    """The existing files at a path or below it; a nested repository is listed as its folder."""
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
        yield from (
            name for name in (f"{inside}/{entry}" for entry in (*names, *links)) if name not in removed
        )


def _is_near(path: str, touched: set[str]) -> bool:
    """Whether a path of the user is a touched path, above one, or below one."""
    is_above = any(other.startswith(path + "/") for other in touched)
    return path in touched or is_above or any(folder in touched for folder in _folders_of(path))


def _folders_of(path: str) -> Iterator[str]:
    names = path.split("/")
    return ("/".join(names[:at]) for at in range(1, len(names)))


def update_left_behind(repository: Repository, work_tree: WorkTree, old: Tree, new: Tree) -> str | None:
    """Update files that an earlier landing left behind, without overwriting what the user has added since."""
    checkout = replace(repository, root=work_tree.root, git_dir=work_tree.git_dir)
    out = run(personal(checkout), "diff-index", "--cached", "--name-only", "--no-renames", "-z", old).out
    moved_on = {os.fsdecode(raw) for raw in out.split(b"\0")[:-1]}
    behind = tuple(change for change in changes(repository, old, new) if change.path not in moved_on)
    if not behind:
        return None
    in_the_way = sorted(set(_overwritten(work_tree.root, behind)))
    if in_the_way:
        return f"{', '.join(map(escape_path, in_the_way[:SHOWN]))} would be overwritten"
    return update_files(repository, work_tree, old, new)


def update_files(repository: Repository, work_tree: WorkTree, old: Tree, new: Tree) -> str | None:
    """Update index and files from the old tree to the new one; returns git's message if it refuses. Idempotent."""
    checkout = replace(repository, root=work_tree.root, git_dir=work_tree.git_dir)
    try:
        answer = _read_tree(checkout, old, new)
    except IndexLocked as locked:
        return f"{locked.message} ({locked.hint})"
    return answer.err.strip() if answer.code else None


def _read_tree(checkout: Repository, old: Tree, new: Tree, *options: str) -> Answer:
    git = personal(checkout)
    # A file whose times differ but whose content does not must not count as changed by the user.
    _retry_locked(checkout, lambda: run(git, "update-index", "--refresh", codes=(0, 1, _REFUSED)))
    return _retry_locked(
        checkout, lambda: run(git, "read-tree", *options, "-m", "-u", old, new, codes=(0, _REFUSED))
    )


def _retry_locked(checkout: Repository, call: Callable[[], Answer]) -> Answer:
    """Retry a command that needs the lock of the index, which the user's git may hold for a moment."""
    lock = checkout.git_dir / "index.lock"
    deadline = time.monotonic() + LOCK_WAIT_S
    while True:
        answer = call()
        if answer.code != _REFUSED or f"{lock.name}': File exists" not in answer.err:
            return answer
        if time.monotonic() >= deadline:
            raise IndexLocked(
                f"the index of {checkout.root} is locked by {lock}",
                hint=f"wait until the other git process ends; if there is none, run: rm {lock}",
            )
        time.sleep(PAUSE_S)


def add_worktree(repository: Repository, commit: str, folder: Path, branch: str) -> None:
    """Check out a commit in a new folder; a branch of an earlier worktree at this place is replaced."""
    run(personal(repository), "worktree", "add", "--quiet", "--force", "-B", branch, str(folder), commit)


def remove_worktree(repository: Repository, folder: Path) -> None:
    """Removes the folder with all that is in it; its branch stays."""
    # Git knows nothing of it if the project was moved or copied meanwhile; then the folder stays.
    run(personal(repository), "worktree", "remove", "--force", str(folder), codes=(0, 128))


def is_worktree(folder: Path) -> bool:
    return (folder / ".git").is_file()


def tree_in(repository: Repository, folder: Path) -> Tree:
    """The files of a worktree as they are now, through a copy of its index."""
    git = Git(folder / ".git", marker=repository.marker)
    git_dir = Path(text(git, "rev-parse", "--absolute-git-dir"))
    return tree_with_uncommitted(replace(repository, root=folder, git_dir=git_dir))
