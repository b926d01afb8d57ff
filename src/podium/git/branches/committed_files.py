"""What a branch of the user has committed: its name, its files, and who moved it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from podium.git.branches.land import TRAILER
from podium.git.command import Git, run, text
from podium.git.repository import Repository, commit_of, read_head, refs

_BRANCH: Final = "refs/heads/"
_USUAL: Final = ("main", "master")
_TIP: Final = "%(refname)%00%(if)%(*objectname)%(then)%(*objectname)%(else)%(objectname)%(end)"


_REVERTS: Final = re.compile(r"^This reverts commit ([0-9a-f]{7,64})", re.MULTILINE)


class Revert(NamedTuple):
    """A landing that was undone on the branch that is checked out."""

    landing: str
    commit: str
    """The one that undid it."""
    after_s: int
    """The time between both."""
    at_s: int


class Tip(NamedTuple):
    ref: str
    commit: str


def default_branch(repository: Repository) -> str | None:
    """The branch that the remote names, else main or master, else the one that is checked out; None without any."""
    git = refs(repository)
    remote = (
        run(git, "symbolic-ref", "--quiet", "refs/remotes/origin/HEAD", codes=(0, 1)).out.decode().strip()
    )
    named = remote.removeprefix("refs/remotes/origin/")
    names = (*((named,) if named else ()), *_USUAL)
    existing = (name for name in names if commit_of(git, f"{_BRANCH}{name}") is not None)
    return next(existing, read_head(repository).branch)


def branch_tip(repository: Repository, branch: str) -> str | None:
    return commit_of(refs(repository), f"{_BRANCH}{branch}")


def files_with_line(
    repository: Repository, commit: str, pattern: str, suffixes: tuple[str, ...]
) -> tuple[str, ...]:
    """The paths of a commit's files with one of the endings and a line that matches the basic regular expression."""
    words = ("grep", "-l", "-z", "-I", "-e", pattern, commit)
    out = run(refs(repository), *words, codes=(0, 1)).out
    names = (os.fsdecode(name).partition(":")[2] for name in out.split(b"\0"))
    return tuple(sorted(name for name in names if name.endswith(suffixes)))


def read_committed(repository: Repository, commit: str, path: str) -> bytes | None:
    """The content of a file in a commit; None if it is not a file there."""
    answer = run(refs(repository), "cat-file", "blob", f"{commit}:{path}", codes=(0, 128))
    return None if answer.code else answer.out


def tips(repository: Repository, patterns: Sequence[str]) -> tuple[Tip, ...]:
    """The commits of all refs that match; a pattern without `refs/` is a branch."""
    full = [name if name.startswith("refs/") else f"{_BRANCH}{name}" for name in patterns]
    out = text(refs(repository), "for-each-ref", f"--format={_TIP}", *full)
    return tuple(Tip(*line.split("\0")) for line in out.splitlines())


def landing_of(repository: Repository, commit: str) -> str | None:
    """The id of the landing that wrote the commit, which begins with its run; None for a commit of anybody else."""
    fmt = f"--format=%(trailers:key={TRAILER},valueonly)"
    lines = text(refs(repository), "log", "-1", fmt, commit, "--").split()
    return lines[-1] if lines else None


def reverted_landings(repository: Repository) -> tuple[Revert, ...]:
    """By the words that `git revert` writes; a revert that was reverted itself does not count."""
    if read_head(repository).commit is None:
        return ()
    words = ("log", "--grep=^This reverts commit ", "--format=%H%x00%ct%x00%B%x1e", "HEAD", "--")
    entries = []
    for entry in text(Git(repository.git_dir, marker=repository.marker), *words).split("\x1e"):
        commit, _, rest = entry.strip().partition("\0")
        at, _, message = rest.partition("\0")
        entries += [(commit, int(at), undone) for undone in _REVERTS.findall(message)]
    undone_reverts = {
        commit for commit, _, _ in entries for _, _, undone in entries if commit.startswith(undone)
    }
    reverts = []
    for commit, at_s, undone in entries:
        if commit in undone_reverts or commit_of(refs(repository), undone) is None:
            continue
        landing = landing_of(repository, undone)
        if landing is not None:
            landed_s = int(text(refs(repository), "log", "-1", "--format=%ct", undone, "--"))
            reverts.append(Revert(landing, commit, at_s - landed_s, at_s))
    return tuple(reverts)
