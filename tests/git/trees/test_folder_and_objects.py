"""Folders of any depth are removed without following links, and objects are written completely or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from podium.core.types import Tree
from podium.git.repository import trees
from podium.git.trees import listing as listings
from podium.git.trees.listing import FILE, LINK, Entry, _read_whole, read_listing, write_folder
from podium.git.trees.names import is_git_folder, is_module_file
from podium.git.trees.objects import FileChanged, Objects, name_of, write, write_file
from podium.git.workdir.capture import Refused, capture
from podium.git.workdir.folder import copy_file, discard, make_folder, write_entry
from tests.git.kit import Project, git, ordinary_user, put
from tests.security.trees.plants import deep


def test_a_folder_of_three_thousand_levels_is_removed(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    deep(root, tmp_path)

    discard(root)
    discard(root)

    assert not root.exists()


def test_removing_follows_no_link_and_needs_no_write_permission(tmp_path: Path) -> None:
    put(tmp_path, {"outside/keep": "", "work/a/b/c": ""})
    (tmp_path / "work/a/link").symlink_to(tmp_path / "outside")
    (tmp_path / "work/a/b").chmod(0)
    (tmp_path / "work/a").chmod(0o500)
    tmp_path.chmod(0o777)

    with ordinary_user(tmp_path / "work"):
        discard(tmp_path / "work")

    assert (tmp_path / "outside/keep").exists()
    assert not (tmp_path / "work").exists()


def test_a_folder_is_created_only_through_folders(tmp_path: Path) -> None:
    put(tmp_path, {"outside/keep": "", "root/x": ""})
    (tmp_path / "root/link").symlink_to(tmp_path / "outside")

    with (
        pytest.raises(OSError, match=r"Not a directory|Too many levels"),
        make_folder(tmp_path / "root", "link/sub"),
    ):
        pass
    with make_folder(tmp_path / "root", "a/b") as fd:
        write_entry(fd, "l", Entry(LINK, ""), b"target")
    assert (tmp_path / "root/a/b/l").readlink() == Path("target")
    assert not (tmp_path / "outside/sub").exists()


def test_git_reads_the_objects_we_write(project: Project) -> None:
    objects = project.repository.objects
    for kind, content in (("blob", b"hello\n"), ("blob", b""), ("tree", b"")):
        name = write(objects, kind, content)  # type: ignore[arg-type]  # the table's texts are kinds
        assert name == write(objects, kind, content) == name_of(objects, kind, content)  # type: ignore[arg-type]
        assert git(project.root, "cat-file", "-t", name) == kind
    assert git(project.root, "hash-object", "--stdin", stdin=b"hello\n") == write(objects, "blob", b"hello\n")


@pytest.mark.parametrize("promised", [3, 9, 2 << 20])
def test_a_file_that_grows_or_shrinks_while_it_is_read_is_refused(
    project: Project, tmp_path: Path, promised: int
) -> None:
    put(tmp_path, {"f": "12345"})
    fd = os.open(tmp_path / "f", os.O_RDONLY)
    before = sorted(project.repository.objects.folder.rglob("*"))
    try:
        with pytest.raises(FileChanged):
            write_file(project.repository.objects, fd, promised)
    finally:
        os.close(fd)
    assert sorted(project.repository.objects.folder.rglob("*")) == before


def test_a_file_that_changes_after_the_walk_is_refused(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, snapshot = project.checkout()
    put(folder, {"src/app.py": "first\n"})

    def change_first(*args: object) -> object:
        monkeypatch.undo()
        put(folder, {"src/app.py": "then another\n"})
        return []

    monkeypatch.setattr("podium.git.workdir.capture._link_faults", change_first)
    refused = capture(project.repository.objects, folder, snapshot)

    assert isinstance(refused, Refused)
    assert refused.faults[0].why == "changed during the capture"


def test_old_group_writable_modes_are_read_as_files(project: Project) -> None:
    blob = git(project.root, "hash-object", "-w", "--stdin", stdin=b"x")
    raw = b"100664 old\0" + bytes.fromhex(blob)
    tree = git(project.root, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=raw)

    listing = read_listing(trees(project.repository), tree)  # type: ignore[arg-type]  # a tree by another name

    assert listing[""]["old"].mode == "100644"


@pytest.mark.parametrize("name", ["git", ".gitx", "x.git", ".gi", "git~2", ".git x", "..git", ""])
def test_names_that_only_resemble_dot_git_are_allowed(name: str) -> None:
    assert not is_git_folder(name)


def test_all_spellings_of_gitmodules_are_recognized() -> None:
    assert all(
        map(is_module_file, [".gitmodules", ".GITMODULES", "gitmod~1", ".gitmodules ", ".gitmodules::$DATA"])
    )
    assert not is_module_file(".gitmodule")


def test_objects_of_another_hash_have_other_ids(tmp_path: Path) -> None:
    assert len(name_of(Objects(tmp_path, "sha256"), "blob", b"")) == 64


def test_a_listing_is_read_from_that_of_another_tree(project: Project) -> None:
    """In the order of git, whatever was read before."""
    project.commit({"a/b/c": "1", "x/y": "1", "x.txt": "1"})
    before = read_listing(trees(project.repository), project.tree())
    (project.root / "x.txt").unlink()
    git(project.root, "rm", "-rq", "a")
    project.commit({"a": "a file now", "x.txt/in": "a folder now", "b/new/er": "1", "x/y": "2"})

    listing = read_listing(trees(project.repository), project.tree())

    whole = _read_whole(trees(project.repository), project.tree())
    assert [(path, list(names.items())) for path, names in listing.items()] == [
        (path, list(names.items())) for path, names in whole.items()
    ]
    assert listing["src"] is before["src"]


def test_a_listing_does_not_need_the_trees_read_before(project: Project) -> None:
    """Git prunes a tree that nothing refers to."""
    lost = Tree(git(project.root, "mktree", stdin=b""))
    lost_tree = write_folder(
        project.repository.objects, {"n": Entry(FILE, write(project.repository.objects, "blob", b"n"))}
    )
    read_listing(trees(project.repository), Tree(lost_tree))
    (project.repository.objects.folder / lost_tree[:2] / lost_tree[2:]).unlink()

    assert set(read_listing(trees(project.repository), project.tree())) >= {"", "src"}
    assert read_listing(trees(project.repository), lost) == {"": {}}


def test_the_cache_of_listings_is_bounded(project: Project) -> None:
    for number in range(12):
        project.commit({"n": str(number)})
        read_listing(trees(project.repository), project.tree())

    assert len(listings._CACHE) <= listings._CACHE_SIZE


def test_a_file_is_copied_also_where_the_kernel_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, {"from": "content", "to/x": ""})

    def refused(*_: object) -> int:
        raise OSError(errno.EXDEV, "across file systems")

    with make_folder(tmp_path, "to") as fd:
        copy_file(tmp_path / "from", fd, "first", 0o444)
        monkeypatch.setattr(os, "copy_file_range", refused)
        copy_file(tmp_path / "from", fd, "second", 0o755)

    assert [(tmp_path / "to" / name).read_text() for name in ("first", "second")] == ["content"] * 2
    assert [(tmp_path / "to" / name).stat().st_mode & 0o777 for name in ("first", "second")] == [0o444, 0o755]


def test_a_copy_that_fails_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, {"from": "content", "to/x": ""})

    def failing(*_: object) -> int:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "copy_file_range", failing)
    with make_folder(tmp_path, "to") as fd, pytest.raises(OSError, match="full"):
        copy_file(tmp_path / "from", fd, "first", 0o444)
