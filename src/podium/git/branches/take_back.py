"""Moves a branch back from a landing that was to move several branches together.

A branch is moved back only if it still points to the commit of the landing. First our record of the landing goes, then
the branch moves; a crash between the two leaves a commit with the trailer of the landing, by which it is recognised.
"""

from __future__ import annotations

from podium.git.branches.land import Landing, follow, landed_commit, landing_ref
from podium.git.branches.user_worktree import paths_in_the_way, update_files, worktree_of
from podium.git.command import run
from podium.git.repository import Repository, commit_of, keep, refs, tree_of


def take_back(repository: Repository, landing: Landing) -> bool:
    """Whether the branch is as it was before the landing."""
    commit = landed_commit(repository, landing)
    if commit is None:
        return True
    # A crash may have left the checked-out files behind the branch; they could not be told from the user's work.
    follow(repository, landing, commit)
    before = commit_of(refs(repository), landing_ref(landing, "landed-from"))
    old, new = tree_of(repository, commit), tree_of(repository, before)
    work_tree = worktree_of(repository, landing.branch)
    if work_tree is not None and (before is None or paths_in_the_way(repository, work_tree, old, new)):
        return False
    if not _move_back(repository, landing, commit, before):
        return False
    if work_tree is not None:
        update_files(repository, work_tree, old, new)
    return True


def _move_back(repository: Repository, landing: Landing, commit: str, before: str | None) -> bool:
    git, branch, record = refs(repository), f"refs/heads/{landing.branch}", landing_ref(landing)
    if commit_of(git, branch) != commit:
        return False
    run(git, "update-ref", "-d", record)
    order = ("-d", branch, commit) if before is None else (branch, before, commit)
    words = ("-m", f"podium: take back {landing.id}")
    if run(git, "update-ref", *words, *order, codes=(0, 1, 128)).code == 0:
        return True
    keep(repository, record, commit)
    return False
