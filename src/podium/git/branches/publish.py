"""Publishes a run's work as a separate branch, locally and on a remote, never by force, or as an entry of `git stash`."""

from __future__ import annotations

from typing import Final

from podium.core.types import Tree
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass
from podium.git.branches.land import check_branch
from podium.git.branches.user_worktree import worktree_of
from podium.git.command import run
from podium.git.repository import Repository, Signature, commit_of, personal, refs, tree_of, write_commit


@dataclass(frozen=True, slots=True)
class Published:
    branch: str
    remote: str | None


@dataclass(frozen=True, slots=True)
class Unpublished:
    """The branch already has other work, or the remote refused the push."""

    why: str


def publish(
    repository: Repository, commit: str, branch: str, *, remote: str | None = None
) -> Published | Unpublished:
    """Create or fast-forward a branch to a commit and push it; idempotent."""
    check_branch(repository, branch)
    if remote is not None:
        _check_remote(repository, remote)
    why = _forward(repository, commit, branch)
    if why is None and remote is not None:
        why = _push(repository, commit, branch, remote)
    return Published(branch, remote) if why is None else Unpublished(why)


def _check_remote(repository: Repository, remote: str) -> None:
    """Accept only remotes that the user has configured, because an address could run a program (ext::)."""
    remotes = run(refs(repository), "remote").out.decode().split("\n")[:-1]
    if remote not in remotes:
        raise ConfigurationError(
            f'git remote "{remote}" not found',
            hint=f"available: {', '.join(remotes)}" if remotes else "add it: git remote add NAME URL",
        )


def _forward(repository: Repository, commit: str, branch: str) -> str | None:
    ref = f"refs/heads/{branch}"
    tip = commit_of(refs(repository), ref)
    if tip == commit:
        return None
    if (
        tip is not None
        and run(refs(repository), "merge-base", "--is-ancestor", tip, commit, codes=(0, 1)).code
    ):
        return f'branch "{branch}" has other work; choose another name or delete it'
    if worktree_of(repository, branch) is not None:
        return f'branch "{branch}" is checked out; land there instead, or choose another name'
    old = tip or "0" * len(commit)
    answer = run(refs(repository), "update-ref", "-m", "podium: publish", ref, commit, old, codes=(0, 128))
    return answer.err.strip() if answer.code else None


def _push(repository: Repository, commit: str, branch: str, remote: str) -> str | None:
    # Push from the root of the work tree, because the address of a remote may be a path relative to it.
    git = personal(repository)
    answer = run(
        git, "push", "--porcelain", "--no-follow-tags", "--no-verify", "--recurse-submodules=no", "--no-signed",
        remote, f"{commit}:refs/heads/{branch}", codes=(0, 1, 128),
    )  # fmt: skip
    return (answer.err.strip() or answer.out.decode().strip()) if answer.code else None


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
