"""A used checkout is reset to exactly a tree, and an agent's changes to folders themselves do not stay."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from podium.core.types import Tree
from podium.git.workdir import checkout as checkouts
from podium.git.workdir.checkout import checkout, is_exact, update
from podium.git.workdir.reset import CannotReset
from tests.git.kit import NOBODY, Project, git, put, tree_by_git


def mark(path: Path) -> None:
    try:
        os.setxattr(path, "user.note", b"left behind")
    except OSError:
        pytest.skip("this file system keeps no attributes")


@pytest.mark.parametrize(
    "change",
    [lambda path: path.chmod(0o777), lambda path: path.chmod(0), mark],
    ids=["more rights", "no rights", "attribute"],
)
def test_a_changed_folder_is_written_again(
    change: Callable[[Path], None], project: Project, tmp_path: Path
) -> None:
    folder, snapshot = project.checkout()
    inode = (folder / "src").stat().st_ino
    change(folder / "src")

    again = update(project.repository, snapshot, folder, project.tree())

    status = (folder / "src").stat()
    assert (status.st_mode & 0o7777, os.listxattr(folder / "src")) == (0o755, [])
    assert status.st_ino != inode or os.listxattr(folder / "src") == []
    assert tree_by_git(folder, tmp_path / "scratch") == project.tree()
    assert project.taken(folder, again) == project.tree()


def test_a_folder_that_only_lost_and_got_names_stays(project: Project) -> None:
    folder, snapshot = project.checkout()
    put(folder, {"src/new.py": "x"})
    before = (folder / "src").stat().st_ino

    update(project.repository, snapshot, folder, project.tree())

    assert (folder / "src").stat().st_ino == before
    assert not (folder / "src/new.py").exists()


@pytest.mark.parametrize("change", [lambda path: path.chmod(0o700), mark], ids=["rights", "attribute"])
def test_a_changed_top_folder_cannot_be_reset(change: Callable[[Path], None], project: Project) -> None:
    folder, snapshot = project.checkout()
    change(folder)

    with pytest.raises(CannotReset):
        update(project.repository, snapshot, folder, project.tree())


def test_a_link_in_place_of_a_folder_is_not_entered(project: Project, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    put(outside, {"app.py": "mine"})
    folder, snapshot = project.checkout()
    (folder / "src").rename(tmp_path / "moved")
    (folder / "src").symlink_to(outside)

    update(project.repository, snapshot, folder, project.tree())

    assert (outside / "app.py").read_text() == "mine"
    assert (folder / "src").is_dir()
    assert not (folder / "src").is_symlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_everything_belongs_to_the_owner(project: Project) -> None:
    owner = (NOBODY, NOBODY)
    project.link()
    folder = project.spare / "work"

    snapshot = checkout(project.repository, project.tree(), folder, owner)
    put(folder, {"src/app.py": "changed"})
    (folder / "current").unlink()
    update(project.repository, snapshot, folder, project.tree(), owner)

    paths = [folder, *folder.rglob("*")]
    assert {(path.lstat().st_uid, path.lstat().st_gid) for path in paths} == {owner}


def test_many_files_are_written_in_shares(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkouts, "SHARE_FILES", 7)
    project.commit({f"many/d{number % 9}/f{number}": f"{number}\n" for number in range(60)})

    folder, snapshot = project.checkout()

    assert tree_by_git(folder, tmp_path / "scratch") == project.tree()
    assert project.taken(folder, snapshot) == project.tree()
    assert git(project.root, "status", "--porcelain") == ""


def test_a_tree_with_an_empty_folder_is_checked_out(project: Project) -> None:
    """Git writes no such tree, but others do."""
    empty = git(project.root, "mktree", stdin=b"")
    blob = git(project.root, "hash-object", "-w", "--stdin", stdin=b"x")
    tree = Tree(
        git(project.root, "mktree", stdin=f"040000 tree {empty}\tnone\n100644 blob {blob}\tx\n".encode())
    )

    folder, snapshot = project.checkout("work", tree)
    update(project.repository, snapshot, folder, tree)

    assert [path.name for path in folder.iterdir()] == ["x"]


def test_a_checkout_is_exact_until_something_is_done_to_it(project: Project) -> None:
    folder, snapshot = project.checkout()
    assert is_exact(folder, snapshot)

    (folder / "src").chmod(0o755)

    assert not is_exact(folder, snapshot)
    (folder / "src").rename(folder / "moved")
    assert not is_exact(folder, snapshot)
