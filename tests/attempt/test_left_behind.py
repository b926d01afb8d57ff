"""The branch has moved and the user's files could not follow: it is told with the next step, and landing again mends it."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.core.hash_chain import RunId
from tests.attempt.runs import bench
from tests.attempt.test_landing import flow
from tests.git.kit import Project, git


@pytest.mark.req("R178")
def test_files_that_a_lock_leaves_behind_are_told_and_follow_with_the_next_landing(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = project.root / ".git/index.lock"
    with monkeypatch.context() as patched:
        patched.setattr("podium.git.branches.user_worktree.LOCK_WAIT_S", 0.0)
        patched.setattr("podium.git.branches.land.paths_in_the_way", lambda *_: lock.touch())
        played = flow(project, tmp_path, "{land: main, message: Do it}").play()

    assert played.ending("land").outcome == "passed"
    note = played.result("land")["output"]["notes"]
    assert "index.lock" in note and "podium apply 20260101-a" in note and "rerun 20260101-a land" in note
    assert note in played.result("land")["text"]
    lock.unlink()
    assert not (project.root / "src/new.py").exists()

    again = bench(
        project, tmp_path, "steps: {land: {git: {land: main, message: x}}}", run=RunId("20260101-b")
    ).play()

    assert "notes" not in again.result("land")["output"]
    assert git(project.root, "status", "--porcelain", "--untracked-files=no") == ""
    assert (project.root / "src/new.py").exists()
