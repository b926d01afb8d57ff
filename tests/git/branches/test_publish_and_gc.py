"""Work is published without force, and Podium's refs can be listed and deleted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podium.errors import ConfigurationError
from podium.git.branches.gc import delete, list_runs, preview
from podium.git.branches.land import Landed, land, prepare
from podium.git.branches.publish import Published, Unpublished, publish
from podium.git.command import GitError
from podium.git.repository import Person, Signature, attempt_ref, keep, write_commit
from tests.git.branches.test_land import landing, prepared
from tests.git.kit import SIGNED, Project, git, put


@pytest.fixture
def remote(project: Project, tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(project.root, "remote", "add", "origin", str(tmp_path / "remote.git"))
    return tmp_path / "remote.git"


def work(project: Project, name: str, parent: str | None = None) -> str:
    tree = project.edited(name, {f"{name}.txt": "x\n"})
    head = git(project.root, "rev-parse", "HEAD")
    return write_commit(project.repository, tree, parents=(parent or head,), message=name, signature=SIGNED)


def test_a_branch_is_created_locally_and_pushed(project: Project, remote: Path) -> None:
    commit = work(project, "one")

    assert publish(project.repository, commit, "ai/1", remote="origin") == Published("ai/1", "origin")
    assert git(project.root, "rev-parse", "ai/1") == git(remote, "rev-parse", "ai/1") == commit
    assert publish(project.repository, commit, "ai/1", remote="origin") == Published("ai/1", "origin")
    more = work(project, "two", parent=commit)
    assert publish(project.repository, more, "ai/1", remote="origin") == Published("ai/1", "origin")
    assert git(project.root, "status", "--porcelain") == ""


def test_a_remote_can_be_a_path_relative_to_the_project(project: Project, remote: Path) -> None:
    near = Path(os.path.relpath(remote, project.root))
    git(project.root, "remote", "add", "near", str(near))
    commit = work(project, "one")

    assert publish(project.repository, commit, "ai/1", remote="near") == Published("ai/1", "near")
    assert git(remote, "rev-parse", "ai/1") == commit


def test_without_a_remote_only_the_local_branch_is_created(project: Project) -> None:
    commit = work(project, "one")

    assert publish(project.repository, commit, "ai/1") == Published("ai/1", None)
    assert git(project.root, "rev-parse", "ai/1") == commit


def test_other_work_on_the_branch_is_never_overwritten(project: Project, remote: Path) -> None:
    first = work(project, "one")
    publish(project.repository, first, "ai/1", remote="origin")
    result = publish(project.repository, work(project, "two"), "ai/1", remote="origin")

    assert isinstance(result, Unpublished)
    assert "other work" in result.why
    assert git(project.root, "rev-parse", "ai/1") == git(remote, "rev-parse", "ai/1") == first


def test_a_push_to_a_remote_that_is_ahead_fails(project: Project, remote: Path) -> None:
    first = work(project, "one")
    publish(project.repository, first, "ai/1", remote="origin")
    git(project.root, "branch", "-D", "ai/1")
    result = publish(project.repository, work(project, "two"), "ai/1", remote="origin")

    assert isinstance(result, Unpublished)
    assert git(remote, "rev-parse", "ai/1") == first


def test_a_checked_out_branch_is_not_published(project: Project) -> None:
    result = publish(project.repository, work(project, "one"), "main")

    assert isinstance(result, Unpublished)
    assert "checked out" in result.why


def test_a_lock_on_the_branch_is_reported(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    put(project.root, {".git/refs/heads/ai": "broken"})
    result = publish(project.repository, work(project, "one"), "ai/1")

    assert isinstance(result, Unpublished)


@pytest.mark.parametrize("remote", ["ext::sh -c true", "--upload-pack=x", "nowhere", "/tmp/x"])
def test_only_a_configured_remote_is_pushed_to(project: Project, remote: str) -> None:
    with pytest.raises(ConfigurationError, match="not found"):
        publish(project.repository, work(project, "one"), "ai/1", remote=remote)


def test_hooks_of_the_user_do_not_run_when_pushing(project: Project, remote: Path, tmp_path: Path) -> None:
    put(project.root, {".git/hooks/pre-push": f"#!/bin/sh\ntouch {tmp_path}/canary\n"})
    (project.root / ".git/hooks/pre-push").chmod(0o755)

    publish(project.repository, work(project, "one"), "ai/1", remote="origin")

    assert not (tmp_path / "canary").exists()


def at(seconds: int) -> Signature:
    return Signature(Person("a", "a@b"), Person("a", "a@b"), seconds)


def test_runs_are_listed_oldest_first_and_whether_they_landed(project: Project) -> None:
    """X9: cleaning up deletes only what was listed."""
    assert list_runs(project.repository) == ()
    for run, seconds in (("young.1", 2000), ("old/2", 1000)):
        commit = write_commit(
            project.repository, project.tree(), parents=(), message=run, signature=at(seconds)
        )
        keep(project.repository, attempt_ref(run, "a", 1), commit)
        keep(project.repository, attempt_ref(run, "b", 1), commit)
    request = landing(project, project.edited("w", {"x": "1\n"}), run="young.1")
    assert isinstance(land(project.repository, prepared(project, request)), Landed)

    runs = list_runs(project.repository)

    assert [(each.run, len(each.refs), each.landed) for each in runs] == [
        ("old/2", 2, False),
        # Its two attempts, the landed commit, and the previous tip.
        ("young.1", 4, True),
    ]
    assert [each.run for each in preview(runs, before_s=1500)] == ["old/2"]
    assert preview(runs, before_s=1500, keep={"old/2"}) == ()
    assert delete(project.repository, preview(runs, before_s=1500)) == 2
    assert [each.run for each in list_runs(project.repository)] == ["young.1"]
    assert delete(project.repository, ()) == 0
    assert isinstance(prepare(project.repository, request), Landed)


def test_a_ref_that_has_moved_since_it_was_listed_prevents_the_deletion(project: Project) -> None:
    one, two = work(project, "one"), work(project, "two")
    keep(project.repository, attempt_ref("r", "a", 1), one)
    keep(project.repository, attempt_ref("r", "b", 1), one)
    runs = list_runs(project.repository)
    keep(project.repository, attempt_ref("r", "b", 1), two)

    with pytest.raises(GitError):
        delete(project.repository, runs)
    assert len(list_runs(project.repository)[0].refs) == 2
