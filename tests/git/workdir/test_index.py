"""The index of a clone is the one that git itself would write, so that git need not read the files again."""

from __future__ import annotations

from pathlib import Path

from podium.git.workdir.clone import clone
from tests.git.kit import Project, git, new_project


def entries(folder: Path, index: str) -> str:
    return git(folder, "ls-files", "--stage", "--debug", env={"GIT_INDEX_FILE": str(folder / ".git" / index)})


def refreshed(folder: Path) -> str:
    """The entries of an index that git has made of the same files."""
    env = {"GIT_INDEX_FILE": str(folder / ".git/other")}
    git(folder, "read-tree", "HEAD", env=env)
    git(folder, "update-index", "-q", "--refresh", env=env)
    return entries(folder, "other")


def test_the_index_is_gits_own(project: Project) -> None:
    project.link()
    (project.root / "README.md").chmod(0o755)
    project.commit({"src.txt": "sorts before src/", "a/b/c/d": "", "src/ä ö": "name"})
    folder = project.spare / "work"

    clone(project.repository, git(project.root, "rev-parse", "HEAD"), folder)

    # Before any command that would refresh it.
    assert git(folder, "diff-files", "--name-only") == ""
    assert entries(folder, "index") == refreshed(folder)


def test_the_index_of_a_sha256_repository(tmp_path: Path) -> None:
    project = new_project(tmp_path, {"a": "1", "b/c": "2"}, "--object-format=sha256")
    folder = project.spare / "work"

    clone(project.repository, git(project.root, "rev-parse", "HEAD"), folder)

    assert entries(folder, "index") == refreshed(folder)


def test_a_submodule_is_in_the_index(project: Project) -> None:
    commit = git(project.root, "rev-parse", "HEAD")
    git(project.root, "update-index", "--add", "--cacheinfo", f"160000,{commit},lib")
    git(project.root, "commit", "-q", "-m", "module")
    folder = project.spare / "work"

    clone(project.repository, git(project.root, "rev-parse", "HEAD"), folder)

    assert git(folder, "ls-files", "--stage", "lib").startswith(f"160000 {commit}")
    assert git(folder, "status", "--porcelain") == ""
