"""The lock of the user's index: waited for, and named where it stays."""

from __future__ import annotations

import pytest

from podium.git.land import Landed, Prepared, land
from podium.git.worktree import IndexLocked
from tests.git.kit import Project, git
from tests.git.test_land import landing, prepared, status


@pytest.fixture
def ready(project: Project) -> Prepared:
    return prepared(project, landing(project, project.edited("work", {"src/app.py": "done\n", "new": "1\n"})))


def test_a_lock_that_goes_away_is_waited_for(
    project: Project, ready: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = project.root / ".git/index.lock"
    lock.touch()
    monkeypatch.setattr("podium.git.worktree.time.sleep", lambda _: lock.unlink())

    assert land(project.repository, ready) == Landed(ready.commit)
    assert status(project) == ""


@pytest.mark.req("R178")
def test_a_lock_that_stays_is_named_and_nothing_is_moved(
    project: Project, ready: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = project.root / ".git/index.lock"
    lock.touch()
    monkeypatch.setattr("podium.git.worktree.LOCK_WAIT_S", 0.0)

    with pytest.raises(IndexLocked, match=r"is locked by .*\.git/index\.lock") as caught:
        land(project.repository, ready)

    assert "rm " in (caught.value.hint or "")
    assert git(project.root, "rev-parse", "main") == ready.tip
    assert lock.exists()
