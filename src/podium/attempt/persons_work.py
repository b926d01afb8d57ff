"""Which files are the work of a person's step: those of the signal's commit, of the worktree, or of the project's checkout.

Rule: the work is judged where the person did it. Work that began elsewhere than the step is merged onto the step's start.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from podium.attempt.host import Host
from podium.attempt.workspace.workspace import CaptureRefused, start_of
from podium.core.events import AttemptEnded, AttemptStarted
from podium.core.types import Tree
from podium.git.branches.user_worktree import is_worktree, remove_worktree, tree_in
from podium.git.repository import Repository, component, tree_of, tree_with_uncommitted
from podium.git.trees.merge import Clashed, join

BY_HAND: Final = "by-hand"
"""The folder of the branches that people work on."""
BY_HAND_FOLDER: Final = "by_hand"
"""In the folder of a run: a folder per attempt, with the task and the worktree of the person."""
WORK: Final = "work"
SHOWN: Final = 10
PROJECT_TREE: Final = "project_tree"
"""Stores the files of the project's checkout when the person began."""


class SignalCommit(NamedTuple):
    name: str
    since: str | None
    """The commit of the branch when the person began; None if the branch is that of the worktree."""


def branch_of(host: Host, started: AttemptStarted) -> str:
    """The branch of the worktree of one attempt; each visit of a step has its own."""
    step = component(started.path.replace("~", "-visit"))
    return f"{BY_HAND}/{host.run}/{step}-{started.attempt}"


def folder_of(host: Host, started: AttemptStarted | AttemptEnded) -> Path:
    return _place_of(host) / started.path.replace("/", "+") / str(started.attempt)


def _place_of(host: Host) -> Path:
    return host.run_dir / BY_HAND_FOLDER


def close_worktrees(host: Host, attempts: Iterable[AttemptEnded]) -> None:
    """Removes the worktrees of people whose files are all part of the run; one with anything else in it stays."""
    if host.repository is None or not _place_of(host).is_dir():
        return
    for attempt in attempts:
        folder = folder_of(host, attempt) / WORK
        if not is_worktree(folder):
            continue
        if tree_in(host.repository, folder) == attempt.tree:
            remove_worktree(host.repository, folder)


def work_of(
    host: Host, repository: Repository, started: AttemptStarted, folder: Path, commit: SignalCommit | None
) -> Tree | CaptureRefused:
    """The tree of the person's work; `commit` is the one that was the signal, if it was one."""
    start = start_of(host, repository, started)
    if commit is not None:
        fork = start if commit.since is None else tree_of(repository, commit.since)
        return _onto(repository, start, fork, tree_of(repository, commit.name))
    here = tree_in(repository, folder) if is_worktree(folder) else start
    if here != start:
        return here
    # The worktree is as it was made, so the person may have worked in the checkout of the project.
    stored = folder.parent / PROJECT_TREE
    fork = Tree(stored.read_text("utf-8")) if stored.is_file() else tree_of(repository, host.base_commit)
    return _onto(repository, start, fork, tree_with_uncommitted(repository))


def _onto(repository: Repository, start: Tree, fork: Tree, work: Tree) -> Tree | CaptureRefused:
    """The work with what earlier steps of the run have done, which a branch of the person may not have."""
    if work in (fork, start):
        return start
    joined = join(repository, fork=fork, onto=start, tree=work)
    if isinstance(joined, Clashed):
        paths = ", ".join(clash.path for clash in joined.clashes[:SHOWN])
        return CaptureRefused("conflict", f"this work and earlier steps of the run have both changed {paths}")
    return joined.tree
