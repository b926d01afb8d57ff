"""A landing waits for the lock of the user's index, and names the lock if it stays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from podium.git.branches.land import Landed, Nothing, Prepared, follow, land, prepare
from podium.git.branches.user_worktree import IndexLocked
from tests.git.branches.test_land import landing, prepared, status
from tests.git.kit import Project, git, put


@pytest.fixture
def ready(project: Project) -> Prepared:
    return prepared(project, landing(project, project.edited("work", {"src/app.py": "done\n", "new": "1\n"})))


def test_a_landing_waits_for_a_lock_that_is_released(
    project: Project, ready: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = project.root / ".git/index.lock"
    lock.touch()
    monkeypatch.setattr("podium.git.branches.user_worktree.time.sleep", lambda _: lock.unlink())

    assert land(project.repository, ready) == Landed(ready.commit)
    assert status(project) == ""


@pytest.mark.req("R178")
def test_a_lock_that_stays_is_named_and_nothing_is_moved(
    project: Project, ready: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = project.root / ".git/index.lock"
    lock.touch()
    monkeypatch.setattr("podium.git.branches.user_worktree.LOCK_WAIT_S", 0.0)

    with pytest.raises(IndexLocked, match=r"is locked by .*\.git/index\.lock") as caught:
        land(project.repository, ready)

    assert "rm " in (caught.value.hint or "")
    assert git(project.root, "rev-parse", "main") == ready.tip
    assert lock.exists()


def test_files_that_a_lock_left_behind_are_updated_by_the_next_landing(
    project: Project, ready: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by another run that has nothing left to land."""
    lock = project.root / ".git/index.lock"
    monkeypatch.setattr("podium.git.branches.user_worktree.LOCK_WAIT_S", 0.0)
    monkeypatch.setattr("podium.git.branches.land.paths_in_the_way", lambda *_: lock.touch())
    done = land(project.repository, ready)
    assert isinstance(done, Landed) and "index.lock" in (done.left_behind or "")
    assert not (project.root / "new").exists()
    lock.unlink()
    later = replace(ready.landing, run="run-2", id="run-2.land", base=ready.commit, start=ready.tree)
    assert prepare(project.repository, later) == Nothing()

    assert follow(project.repository, later) is None

    assert status(project) == ""
    assert (project.root / "new").read_text("utf-8") == "1\n"


def test_updated_files_are_not_changed_again(project: Project, ready: Prepared) -> None:
    land(project.repository, ready)
    put(project.root, {"src/app.py": "staged\n", "new": "edited\n"})
    git(project.root, "add", "src/app.py")

    assert follow(project.repository, ready.landing) is None
    assert status(project).split("\n") == [" M new", "M  src/app.py"]
