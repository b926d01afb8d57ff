"""A git worktree for a step that a person does: with the user's own settings, remotes and hooks, on a branch of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from podium.core.types import Tree
from podium.git.command import Git, run, text
from podium.git.repository import Repository, personal, tree_with_uncommitted


def add_worktree(repository: Repository, commit: str, folder: Path, branch: str) -> None:
    """Check out a commit in a new folder; a branch of an earlier worktree at this place is replaced."""
    run(personal(repository), "worktree", "add", "--quiet", "--force", "-B", branch, str(folder), commit)


def is_worktree(folder: Path) -> bool:
    return (folder / ".git").is_file()


def tree_in(repository: Repository, folder: Path) -> Tree:
    """The files of a worktree as they are now, through a copy of its index."""
    git = Git(folder / ".git", marker=repository.marker)
    git_dir = Path(text(git, "rev-parse", "--absolute-git-dir"))
    return tree_with_uncommitted(replace(repository, root=folder, git_dir=git_dir))
