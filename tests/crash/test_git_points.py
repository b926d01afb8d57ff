"""A landing is killed while git stands right before or right after one of its calls."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.crash.story import WORKFLOW_FILE, assert_whole
from tests.e2e.kit import Project, closing, new_project, until

# Stands in for git. At the chosen call it says so and then does nothing more until it is killed.
WRAPPER = """\
#!/bin/sh
is_here() {{ {condition}; }}
if [ {when} = before ] && is_here "$@" && mkdir {folder}/stopped 2> {folder}/null; then exec sleep 600; fi
if [ {when} = before ]; then exec {git} "$@"; fi
{git} "$@"
code=$?
if is_here "$@" && mkdir {folder}/stopped 2> {folder}/null; then exec sleep 600; fi
exit $code
"""


def with_words(*words: str) -> str:
    pattern = "*".join(f'"{word}"' for word in words)
    return f'case "$*" in *{pattern}*) true;; *) false;; esac'


def give_git(project: Project, *, when: str, condition: str) -> Path:
    """Puts another git before the real one; returns where it tells what it does."""
    folder = project.folder / "git"
    folder.mkdir()
    wrapper = folder / "git"
    real = shutil.which("git")
    text = WRAPPER.format(folder=folder, git=real, when=when, condition=condition.format(folder=folder))
    wrapper.write_text(text, "utf-8")
    wrapper.chmod(0o755)
    project.env["PATH"] = f"{folder}:{os.environ['PATH']}"
    return folder


SMALL = """\
podium: 1
name: small
steps:
  make:
    run: {script: "echo made > made"}
    touches: [made]
  land:
    git: {land: "${{ run.branch }}", message: It is made}
  look:
    run: [cat, made]
"""
POINTS = {
    "keeping_the_work": with_words("update-ref refs/podium/", "/make/"),
    "looking_for_the_branch": with_words("check-ref-format"),
    "trying_the_files": with_words("read-tree -n -m -u"),
    "remembering_where_from": with_words("update-ref", "landed-from"),
    "moving_the_branch": with_words("update-ref -m podium"),
    "bringing_the_files_along": with_words("read-tree -m -u"),
}
# One before the effect, one after it, one when it is done and its files are not; the rest takes longer.
QUICK = {
    ("moving_the_branch", "before"),
    ("moving_the_branch", "after"),
    ("bringing_the_files_along", "before"),
}


@pytest.mark.req("R146", "X11", "X15")
@pytest.mark.parametrize(
    ("point", "when"),
    [
        pytest.param(point, when, marks=() if (point, when) in QUICK else pytest.mark.slow)
        for point in POINTS
        for when in ("before", "after")
    ],
)
def test_a_landing_that_is_killed_in_the_middle_lands_once(point: str, when: str, tmp_path: Path) -> None:
    with closing(new_project(tmp_path, {WORKFLOW_FILE: SMALL})) as project:
        folder = give_git(project, when=when, condition=POINTS[point])

        assert crash_and_resume(project, folder)

        assert_whole(project, project.run_id())
        assert (project.root / "made").read_text("ascii") == "made\n"


def crash_and_resume(project: Project, folder: Path) -> bool:
    """Kills the engine when git has stopped; tells whether it came to that."""
    child = project.start("run", WORKFLOW_FILE)
    until(lambda: (folder / "stopped").exists() or child.poll() is not None, "git or the end")
    if child.poll() is not None:
        assert child.returncode == 0
        return False
    child.kill()
    child.wait()
    with project.store() as store:
        exists = store is not None and store.heads()
    done = project.podium("resume") if exists else project.podium("run", WORKFLOW_FILE)
    assert done.code == 0, done.err
    return True
