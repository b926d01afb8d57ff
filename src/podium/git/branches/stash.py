"""Keeps a tree as an entry of the user's `git stash`, without touching their files."""

from __future__ import annotations

from typing import Final

from podium.core.types import Tree
from podium.git.command import run
from podium.git.repository import Repository, Signature, refs, tree_of, write_commit

STASH: Final = "refs/stash"


def stash(repository: Repository, tree: Tree, base: str, *, message: str, signature: Signature) -> str:
    """The commit of the entry; idempotent, because the same work gives the same commit.

    An entry has two parents: the commit that the work is based on, and one of the index, which has no changes here.
    """
    index = write_commit(
        repository,
        tree_of(repository, base),
        parents=(base,),
        message=f"index: {message}",
        signature=signature,
    )
    commit = write_commit(repository, tree, parents=(base, index), message=message, signature=signature)
    if commit not in _entries(repository):
        # As `git stash store` does, which needs a work tree.
        run(refs(repository), "update-ref", "--create-reflog", "-m", message, STASH, commit)
    return commit


def _entries(repository: Repository) -> list[str]:
    listed = run(refs(repository), "log", "--walk-reflogs", "--format=%H", STASH, "--", codes=(0, 128))
    return listed.out.decode().split() if listed.code == 0 else []
