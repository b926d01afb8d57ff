"""Publishes a run's work as a branch of its own, here and on a remote; nothing is ever forced."""

from __future__ import annotations

from dataclasses import dataclass

from podium.errors import ConfigurationError
from podium.git.branches.land import check_branch
from podium.git.branches.user_worktree import with_branch
from podium.git.command import run
from podium.git.repository import Repository, commit_of, personal, refs


@dataclass(frozen=True, slots=True)
class Published:
    branch: str
    remote: str | None


@dataclass(frozen=True, slots=True)
class Unpublished:
    """The branch exists and has other work, or the remote said no."""

    why: str


def publish(
    repository: Repository, commit: str, branch: str, *, remote: str | None = None
) -> Published | Unpublished:
    """Makes or forwards a branch to a commit and pushes it. Doing it again changes nothing."""
    check_branch(repository, branch)
    if remote is not None:
        _check_remote(repository, remote)
    why = _forward(repository, commit, branch)
    if why is None and remote is not None:
        why = _push(repository, commit, branch, remote)
    return Published(branch, remote) if why is None else Unpublished(why)


def _check_remote(repository: Repository, remote: str) -> None:
    """Only a remote that the user has set up: an address could name a program to run (ext::)."""
    known = run(refs(repository), "remote").out.decode().split("\n")[:-1]
    if remote not in known:
        raise ConfigurationError(
            f'there is no remote "{remote}"',
            hint=f"known: {', '.join(known)}" if known else "git remote add ...",
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
    if with_branch(repository, branch) is not None:
        return f'branch "{branch}" is checked out; land there instead, or choose another name'
    old = tip or "0" * len(commit)
    answer = run(refs(repository), "update-ref", "-m", "podium: publish", ref, commit, old, codes=(0, 128))
    return answer.err.strip() if answer.code else None


def _push(repository: Repository, commit: str, branch: str, remote: str) -> str | None:
    # From the root of the work tree, as the user would: the address of a remote may be a path relative to it.
    git = personal(repository)
    answer = run(
        git, "push", "--porcelain", "--no-follow-tags", "--no-verify", "--recurse-submodules=no", "--no-signed",
        remote, f"{commit}:refs/heads/{branch}", codes=(0, 1, 128),
    )  # fmt: skip
    return (answer.err.strip() or answer.out.decode().strip()) if answer.code else None
