"""An agent's clone is a usable repository without any connection to the user's repository."""

from __future__ import annotations

from pathlib import Path

from podium.git.repository import find
from podium.git.workdir.clone import clone
from tests.git.kit import Project, git, new_project, put


def test_a_clone_shares_nothing_with_the_users_repository(project: Project) -> None:
    """R175, C13: never a linked work tree, no hard links, no alternates, no remote."""
    for number in range(5):
        project.commit({"n.txt": f"{number}\n"}, f"commit {number}")
    commit = git(project.root, "rev-parse", "HEAD")
    folder = project.spare / "work"

    snapshot = clone(project.repository, commit, folder, history=3)

    assert git(folder, "status", "--porcelain") == ""
    assert git(folder, "log", "--format=%s") == "commit 4\ncommit 3\ncommit 2"
    assert git(folder, "diff-index", "HEAD") == ""
    assert git(folder, "remote") == ""
    git(folder, "fsck", "--full")
    assert not (folder / ".git/objects/info/alternates").exists()
    assert all(path.stat().st_nlink == 1 for path in folder.rglob("*") if path.is_file())
    assert project.taken(folder, snapshot) == project.tree()


def test_an_agent_can_commit_and_only_its_files_are_captured(project: Project) -> None:
    commit = git(project.root, "rev-parse", "HEAD")
    folder = project.spare / "work"
    snapshot = clone(project.repository, commit, folder)
    put(folder, {"made.txt": "by the agent\n", "src/app.py": "changed\n"})
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "mine")
    git(folder, "checkout", "-q", "-b", "elsewhere")
    put(folder, {"later.txt": ""})

    tree = project.taken(folder, snapshot)

    assert {"made.txt", "later.txt"} <= set(project.files(tree))
    assert git(project.root, "rev-parse", "HEAD") == commit
    assert git(project.root, "branch", "--list", "elsewhere") == ""


def test_a_clone_of_a_shallow_repository_is_shallow(project: Project, tmp_path: Path) -> None:
    project.commit({"a": "1"})
    project.commit({"a": "2"})
    git(tmp_path, "clone", "-q", "--depth=2", f"file://{project.root}", "shallow")
    repository = find(tmp_path / "shallow", tmp_path / "other-store")
    assert repository is not None

    clone(repository, git(tmp_path / "shallow", "rev-parse", "HEAD"), tmp_path / "work")

    assert git(tmp_path / "work", "log", "--format=%s") == "more\nmore"
    git(tmp_path / "work", "fsck", "--full")


def test_a_clone_of_a_sha256_repository_works(tmp_path: Path) -> None:
    project = new_project(tmp_path, {"a": "1"}, "--object-format=sha256")
    (project.root / ".git/info/exclude").unlink()
    folder = project.spare / "work"

    clone(project.repository, git(project.root, "rev-parse", "HEAD"), folder)

    assert git(folder, "status", "--porcelain") == ""
    assert git(folder, "log", "--format=%s") == "first"
