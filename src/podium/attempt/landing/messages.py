"""Why a landing did not come about, or only in part: the fact, and what a person does next."""

from __future__ import annotations

import shlex
from typing import Final

from podium.git.branches.land import InTheWay, Landing
from podium.git.repository import Repository, tree_of
from podium.git.trees.diff import changed_paths
from podium.git.trees.merge import Clash
from podium.git.trees.names import escape_path
from podium.tasks.task import LandWork
from podium.views.format import first_of

EXCERPT: Final = 2_000
SHOWN: Final = 20
"""How many paths a message names."""


def in_the_way(landing: Landing, found: InTheWay) -> str:
    paths = [escape_path(path) for path in found.paths]
    told = (
        f'"{landing.branch}" is checked out, and your own uncommitted work is in the way: '
        f"{first_of(paths, SHOWN)}. Commit it or put it aside, then carry on"
    )
    if any(path.endswith("/") for path in paths):
        told += (
            "; a folder that is a repository of its own is for you to take away (git submodule deinit, or mv)"
        )
    return told


def taken_off(landing: Landing, commit: str) -> str:
    back = "cherry-pick" if landing.how == "squash" else "merge"
    return (
        f'it was landed on "{landing.branch}" before, as {commit[:12]}, and has been taken off again since; '
        f"each landing moves a branch once. To have it back: git {back} {commit[:12]}"
    )


def left_behind(run: str, step: str, landing: Landing, behind: str) -> str:
    again = "" if step.startswith("!") else f", or podium rerun {run} {shlex.quote(step)}"
    return (
        f'"{landing.branch}" has moved, but your checked-out files could not follow: {behind}. '
        "Until they do, a commit there takes the landing back; once nothing is in the way, let them follow: "
        f"podium apply {run}{again}"
    )


def clash_on_branch(work: LandWork, repository: Repository, clashes: tuple[Clash, ...]) -> str:
    """Files that the run was given uncommitted are on no branch, so the work on them fits on none."""
    told = clash_text(clashes)
    if work.run_start is None:
        return told
    committed = tree_of(repository, work.run_base or None)
    given = set(changed_paths(repository, committed, work.run_start))
    names = [escape_path(clash.path) for clash in clashes if clash.path in given]
    if not names:
        return told
    return (
        f"the work builds upon files that were not committed when the run began with --dirty: "
        f"{', '.join(names)}. Commit them as they were, then land it again\n\n{told}"
    )


def clash_text(clashes: tuple[Clash, ...]) -> str:
    """What clashes and where, for whoever has to put it together."""
    parts = []
    for clash in clashes:
        excerpt = f"\n{clash.excerpt[:EXCERPT]}" if clash.excerpt else ""
        parts.append(f"{clash.path}: {clash.message}{excerpt}")
    # A name that is no text, which only the user can have given, must not break the log.
    return "\n\n".join(parts).encode("utf-8", "backslashreplace").decode()
