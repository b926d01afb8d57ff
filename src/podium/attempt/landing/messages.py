"""Messages about landings that failed or are incomplete: the fact and the next step."""

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

MAX_EXCERPT_CHARS: Final = 2_000
MAX_LISTED_PATHS: Final = 20
"""How many paths a message names."""


def in_the_way(landing: Landing, obstacle: InTheWay) -> str:
    paths = [escape_path(path) for path in obstacle.paths]
    message = (
        f'"{landing.branch}" is checked out, and your own uncommitted work is in the way: '
        f"{first_of(paths, MAX_LISTED_PATHS)}. Commit or stash it, then land again"
    )
    if any(path.endswith("/") for path in paths):
        message += "; a folder that is a git repository itself must be moved away by hand (git submodule deinit, or mv)"
    return message


def taken_off(landing: Landing, commit: str) -> str:
    back = "cherry-pick" if landing.how == "squash" else "merge"
    return (
        f'it was landed on "{landing.branch}" before, as {commit[:12]}, and has been taken off again since; '
        f"each landing moves a branch once. To have it back: git {back} {commit[:12]}"
    )


def left_behind(run: str, step: str, landing: Landing, behind: str) -> str:
    rerun_command = "" if step.startswith("!") else f", or podium rerun {run} {shlex.quote(step)}"
    return (
        f'"{landing.branch}" has moved, but your checked-out files could not follow: {behind}. '
        "Until they do, a commit there takes the landing back; once nothing is in the way, let them follow: "
        f"podium apply {run}{rerun_command}"
    )


def clash_on_branch(work: LandWork, repository: Repository, clashes: tuple[Clash, ...]) -> str:
    """Changes to files that were uncommitted when the run started cannot be merged into a branch."""
    message = clash_text(clashes)
    names = uncommitted_clashes(work, repository, clashes)
    if not names:
        return message
    return (
        f"the work builds upon files that were not committed when the run began with --dirty: "
        f"{', '.join(names)}. Commit them as they were, then land it again\n\n{message}"
    )


def uncommitted_clashes(work: LandWork, repository: Repository, clashes: tuple[Clash, ...]) -> list[str]:
    """The clashing files that were not committed when the run started."""
    if work.run_start is None:
        return []
    committed = tree_of(repository, work.run_base or None)
    uncommitted = set(changed_paths(repository, committed, work.run_start))
    return [escape_path(clash.path) for clash in clashes if clash.path in uncommitted]


def sides_text(branch: str) -> str:
    """Tells the author how to read a file with conflicts."""
    return (
        f'The files are merged with "{branch}" as it is now. In a conflict, the lines after <<<<<<< are those of '
        f'"{branch}", the lines after ======= are those of this work, and those after ||||||| are from before both. Keep what both sides intend, and remove the markers'
    )


def clash_text(clashes: tuple[Clash, ...]) -> str:
    """The clashing files, then each with an excerpt, for the person or agent that resolves them."""
    paths = list(dict.fromkeys(escape_path(clash.path) for clash in clashes))
    parts = [f"merge conflict in {first_of(paths, MAX_LISTED_PATHS)}"]
    for clash in clashes:
        excerpt = f"\n{clash.excerpt[:MAX_EXCERPT_CHARS]}" if clash.excerpt else ""
        parts.append(f"{clash.path}: {clash.message}{excerpt}")
    # A file name that is not valid UTF-8 must not break the log.
    return "\n\n".join(parts).encode("utf-8", "backslashreplace").decode()
