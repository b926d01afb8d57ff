"""A landing on three branches is killed at every point from its preparation to its last move, then resumed.

Meanwhile nothing happens, or others commit to a branch: in the end all branches have the work, or none, or the step is
`conflict` and lists exactly those that have it. PODIUM_LANDING_POINTS says at how many points, 0 at all of them.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.crash.conftest import COUNTS, WholeOf
from tests.crash.enduring import KILLED, copied
from tests.crash.nursery import Nursery
from tests.crash.stories import FILE
from tests.e2e.kit import Project

POINTS = int(os.environ.get("PODIUM_LANDING_POINTS", "4"))
NAME = "several_branches"
BRANCHES = ("main", "release", "next")


def commit_on(project: Project, branch: str, name: str, text: str) -> None:
    """A commit of another person on a branch, without touching the checked-out files."""
    index = {**os.environ, "GIT_INDEX_FILE": str(project.folder / "index")}
    who = {"GIT_AUTHOR_NAME": "Bob", "GIT_AUTHOR_EMAIL": "bob@example.com"}
    who |= {"GIT_COMMITTER_NAME": "Bob", "GIT_COMMITTER_EMAIL": "bob@example.com"}

    def git(*words: str, stdin: str = "") -> str:
        done = subprocess.run(
            ("git", *words), cwd=project.root, env={**index, **who}, input=stdin, text=True,
            capture_output=True, check=True,
        )  # fmt: skip
        return done.stdout.strip()

    git("read-tree", branch)
    blob = git("hash-object", "-w", "--stdin", stdin=text)
    git("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}")
    commit = git("commit-tree", git("write-tree"), "-p", branch, "-m", "theirs")
    git("update-ref", f"refs/heads/{branch}", commit)


def nothing(_: Project) -> None:
    """No one else is there."""


def commit_elsewhere(project: Project) -> None:
    commit_on(project, "release", "theirs.txt", "theirs\n")


def clash_on_the_last(project: Project) -> None:
    commit_on(project, "next", "code.txt", "theirs\n")


def build_upon_and_clash(project: Project) -> None:
    """The second can no longer go back if it has moved, and the third cannot move."""
    commit_elsewhere(project)
    clash_on_the_last(project)


MEANWHILE: dict[str, Callable[[Project], None]] = {
    "nothing": nothing,
    "a_commit": commit_elsewhere,
    "a_clash": clash_on_the_last,
    "both": build_upon_and_clash,
}


def landing_points(points: tuple[str, ...]) -> list[str]:
    """From the preparation of the first branch to the end of the last one."""
    first = next(n for n, point in enumerate(points) if "prepare the landing" in point)
    last = max(n for n, point in enumerate(points) if point.startswith("after land"))
    return list(points[first : last + 1])


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.req("R146", "X11")
@pytest.mark.parametrize("meanwhile", MEANWHILE)
def test_all_branches_have_the_work_or_none_or_the_step_lists_them(
    meanwhile: str, warm: Nursery, whole_of: WholeOf, tmp_path: Path
) -> None:
    whole = whole_of(NAME)
    points = landing_points(whole.points)
    chosen = points if POINTS == 0 else [points[n * len(points) // POINTS] for n in range(POINTS)]
    seen: dict[str, int] = {}
    for number, point in enumerate(chosen):
        with copied(whole.template, tmp_path / str(number)) as project:
            killed = warm.podium(project, "run", FILE, "--json", at=point, story=NAME)
            assert killed.code == KILLED, point
            MEANWHILE[meanwhile](project)
            run = project.run_id()
            done = warm.podium(project, "resume", run, "--json", story=NAME)
            outcome = assert_all_or_none_or_listed(project, done.data(), point)
            seen[outcome] = seen.get(outcome, 0) + 1
            COUNTS["points of a landing on several branches"] += 1
            assert project.git("status", "--porcelain") == "", point
    for outcome, count in seen.items():
        COUNTS[f"of these with {meanwhile}: {outcome}"] += count
    if meanwhile == "nothing":
        assert seen == {"passed": len(chosen)}


def assert_all_or_none_or_listed(project: Project, view: Any, point: str) -> str:
    step = next(step for step in view["steps"] if step["path"] == "land")
    have = [branch for branch in BRANCHES if has_work(project, branch)]
    outcome = str(step["outcome"])
    if outcome == "passed":
        assert have == list(BRANCHES), point
    elif have:
        listed = [entry["branch"] for entry in step["output"]["landed"]]
        assert (outcome, listed) == ("conflict", have), point
    else:
        assert "nothing has landed" in step["message"], (point, step["message"])
    return outcome if not have or outcome == "passed" else "conflict, with a list"


def has_work(project: Project, branch: str) -> bool:
    """Whether the commit of the landing is on the branch; its message has a trailer that nothing else has."""
    return "Podium-Landing" in project.git("log", "--format=%B", branch)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.req("R146", "X11")
def test_a_run_that_is_cancelled_after_the_crash_leaves_all_branches_or_none(
    warm: Nursery, whole_of: WholeOf, tmp_path: Path
) -> None:
    whole = whole_of(NAME)
    points = landing_points(whole.points)
    chosen = points if POINTS == 0 else [points[n * len(points) // POINTS] for n in range(POINTS)]
    for number, point in enumerate(chosen):
        with copied(whole.template, tmp_path / str(number)) as project:
            killed = warm.podium(project, "run", FILE, "--json", at=point, story=NAME)
            assert killed.code == KILLED, point
            done = warm.podium(project, "cancel", project.run_id(), "--json", story=NAME)
            assert done.data().get("status") == "cancelled", (point, done)
            have = [branch for branch in BRANCHES if has_work(project, branch)]
            assert have in ([], list(BRANCHES)), point
            assert project.git("status", "--porcelain") == "", point
            COUNTS["points of such a landing, then cancelled"] += 1
