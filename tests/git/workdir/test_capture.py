"""A capture gives the tree that git itself would make of the folder, and costs little for few changes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podium.git.repository import trees
from podium.git.trees.snapshot import read_snapshot
from podium.git.workdir.capture import Captured, Refused
from podium.git.workdir.checkout import checkout, update
from podium.git.workdir.walk import Bounds, WalkFault
from tests.git.kit import Project, git, new_project, ordinary_user, put, tree_by_git


def test_capturing_an_unchanged_checkout_gives_the_same_tree(project: Project) -> None:
    folder, snapshot = project.checkout()

    assert project.taken(folder, snapshot) == project.tree()


def test_a_capture_without_stats_gives_the_same_tree(project: Project) -> None:
    folder, snapshot = project.checkout()
    cold = read_snapshot(trees(project.repository), snapshot.tree)

    assert project.taken(folder, cold) == project.tree()
    put(folder, {"src/app.py": "changed\n"})
    assert project.taken(folder, cold) == project.taken(folder, snapshot) != project.tree()


def test_edits_new_files_deletions_modes_and_links_are_captured(project: Project, tmp_path: Path) -> None:
    """R175: the result of a step is its files and not its claims."""
    project.link()
    folder, snapshot = project.checkout()
    put(folder, {"src/app.py": "other\n", "new/a b.txt": "x", "src/$(id)": "y", "-dash": b"\0\xff"})
    (folder / "README.md").unlink()
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("src/app.py")
    (folder / "empty/er").mkdir(parents=True)

    tree = project.taken(folder, snapshot)

    assert tree == tree_by_git(folder, tmp_path / "scratch")
    assert git(project.root, "ls-tree", tree, "run.sh").startswith("100755")
    git(project.root, "fsck", "--strict", tree)


def test_a_file_can_become_a_folder_and_a_folder_a_file_or_link(project: Project, tmp_path: Path) -> None:
    project.link()
    folder, snapshot = project.checkout()
    (folder / "README.md").unlink()
    put(folder, {"README.md/now.txt": "a folder"})
    for name in ("src/deep/er/thing.py",):
        (folder / name).unlink()
    (folder / "src/deep/er").rmdir()
    (folder / "src/deep/er").symlink_to("../app.py")
    (folder / "run.sh").unlink()
    (folder / "run.sh").symlink_to("src")

    assert project.taken(folder, snapshot) == tree_by_git(folder, tmp_path / "scratch")


def test_emptying_the_folder_gives_the_empty_tree(project: Project) -> None:
    folder, snapshot = project.checkout()
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()

    assert project.files(project.taken(folder, snapshot)) == []


def test_new_ignored_files_are_excluded_and_tracked_ones_are_included(tmp_path: Path) -> None:
    project = new_project(tmp_path, {".gitignore": "build/\n", "src/x": ""})
    put(project.root, {"build/kept.txt": "tracked although ignored\n"})
    git(project.root, "add", "-f", "build/kept.txt")
    git(project.root, "commit", "-qm", "kept")
    folder, snapshot = project.checkout()
    put(
        folder,
        {"build/kept.txt": "changed\n", "build/out.bin": "no", "build/sub/out": "no", "src/build/z": "no"},
    )

    captured = project.capture(folder, snapshot)

    assert isinstance(captured, Captured)
    assert captured.left_out == ("build/out.bin", "build/sub/", "src/build/")
    assert project.files(captured.tree) == [".gitignore", "build/kept.txt", "src/x"]
    assert git(project.root, "show", f"{captured.tree}:build/kept.txt") == "changed"


def test_an_agent_can_add_ignore_rules_but_not_remove_any(project: Project) -> None:
    """New rules apply to a new project's files; deleting a rule does not expose a secret that the user ignores."""
    folder, snapshot = project.checkout()
    put(
        folder,
        {".gitignore": "dist/\n", ".env": "KEY=1", "dist/a": "", "x.log": "", "web/node_modules/y": ""},
    )
    put(folder, {"web/.gitignore": "node_modules\n"})

    captured = project.capture(folder, snapshot)

    assert isinstance(captured, Captured)
    assert captured.left_out == (".env", "dist/", "web/node_modules/", "x.log")
    assert "web/.gitignore" in project.files(captured.tree)


def test_a_gitignore_that_is_not_a_file_has_no_effect(project: Project) -> None:
    project.link()
    folder, snapshot = project.checkout()
    (folder / "a").mkdir()
    (folder / "a/.gitignore").symlink_to("../.gitignore")
    put(folder, {"a/b": "", "c/.gitignore/d": ""})
    (folder / ".gitignore").unlink()

    assert {"a/b", "a/.gitignore", "c/.gitignore/d"} <= set(project.files(project.taken(folder, snapshot)))


def test_the_users_private_excludes_and_podiums_folder_are_excluded(project: Project) -> None:
    put(project.root, {".git/info/exclude": "notes.txt\n"})
    folder, snapshot = project.checkout()
    put(folder, {"notes.txt": "", ".podium/podium.db": "", "src/.podium/x": ""})

    captured = project.capture(folder, snapshot)

    assert isinstance(captured, Captured)
    assert captured.left_out == (".podium/", "notes.txt")


def test_a_changed_file_with_its_old_size_and_time_is_detected(project: Project) -> None:
    """The modification time can be set, the change time cannot."""
    folder, snapshot = project.checkout()
    path = folder / "README.md"
    before = path.stat()
    path.write_text("jello\n", "utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert project.taken(folder, snapshot) != project.tree()


def test_a_new_name_in_a_folder_with_its_old_time_is_detected(project: Project, tmp_path: Path) -> None:
    """An unchanged folder is not listed again; resetting its time also changes it."""
    folder, snapshot = project.checkout()
    place = folder / "src"
    before = place.stat()
    put(folder, {"src/new.py": "x"})
    (place / "app.py").rename(place / "moved.py")
    os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert project.taken(folder, snapshot) == tree_by_git(folder, tmp_path / "scratch") != project.tree()


def test_a_submodule_keeps_its_entry_and_its_content_is_excluded(project: Project) -> None:
    commit = git(project.root, "rev-parse", "HEAD")
    git(project.root, "update-index", "--add", "--cacheinfo", f"160000,{commit},lib/sub")
    git(project.root, "commit", "-qm", "sub")
    folder, snapshot = project.checkout()
    assert (folder / "lib/sub").is_dir()
    assert project.taken(folder, snapshot) == project.tree()

    put(folder, {"lib/sub/evil.py": ""})
    captured = project.capture(folder, snapshot)
    assert captured == Captured(project.tree(), ("lib/sub/",))

    (folder / "lib/sub/evil.py").unlink()
    (folder / "lib/sub").rmdir()
    assert "lib/sub" not in project.files(project.taken(folder, snapshot))


@pytest.mark.parametrize(
    ("bounds", "why"),
    [
        (Bounds(files=1), "to more than 1"),
        (Bounds(file_bytes=10), "larger than 10 bytes"),
        (Bounds(new_bytes=30), "exceed 30 bytes"),
        (Bounds(depth=3), "more than 3 folders deep"),
        (Bounds(path_bytes=5), "path of more than 5 bytes"),
    ],
)
def test_a_folder_beyond_the_bounds_is_refused_as_a_whole(project: Project, bounds: Bounds, why: str) -> None:
    folder, snapshot = project.checkout()
    put(folder, {"a.txt": "x" * 20, "b.txt": "y" * 20})

    refused = project.capture(folder, snapshot, bounds)

    assert isinstance(refused, Refused)
    assert any(why in fault.why for fault in refused.faults)


def test_the_list_of_faults_is_bounded_and_sorted(project: Project) -> None:
    folder, snapshot = project.checkout()
    for number in range(30):
        (folder / f"f{number:02}").mkdir()
        os.mkfifo(folder / f"f{number:02}/pipe")

    refused = project.capture(folder, snapshot, Bounds(faults=3))

    assert isinstance(refused, Refused)
    assert len(refused.faults) == 3
    assert list(refused.faults) == sorted(refused.faults, key=lambda fault: fault.path)


def test_a_refused_folder_leaves_no_objects(project: Project) -> None:
    folder, snapshot = project.checkout()
    put(folder, {"big.txt": "new content\n"})
    os.mkfifo(folder / "pipe")
    before = git(project.root, "count-objects")

    assert project.capture(folder, snapshot) == Refused(
        (WalkFault("pipe", "is neither a file nor a folder nor a link"),)
    )
    assert git(project.root, "count-objects") == before


def test_large_files_are_streamed_and_known_ones_are_not_written_again(project: Project) -> None:
    content = os.urandom(3 << 20)
    tree = project.edited("one", {"big.bin": content})
    assert git(project.root, "cat-file", "-s", f"{tree}:big.bin") == str(len(content))

    folder, snapshot = project.checkout("two")
    put(folder, {"big.bin": content})
    assert project.taken(folder, snapshot) == tree


@pytest.mark.parametrize(("mode", "word"), [(0, "opened"), (0o400, "read")])
def test_a_folder_without_permission_is_refused(project: Project, mode: int, word: str) -> None:
    folder, snapshot = project.checkout()
    put(folder, {"locked/x": ""})
    (folder / "locked").chmod(mode)

    with ordinary_user(folder):
        refused = project.capture(folder, snapshot)

    assert refused == Refused((WalkFault("locked", f"cannot be {word}: Permission denied"),))


def test_a_used_checkout_can_be_reset_to_any_tree(project: Project, tmp_path: Path) -> None:
    """Gates reuse a checkout; nothing that one gate wrote is there for the next."""
    folder, snapshot = project.checkout()
    other = project.edited("other", {"src/app.py": "two\n", "src/new/x.py": "", "README.md": "hello\n"})
    put(folder, {"README.md": "scribble", "junk/a/b": "", "src/cache.pyc": "", "build/ignored": ""})
    (folder / "src/deep/er/thing.py").unlink()

    moved = update(project.repository, snapshot, folder, other)

    assert tree_by_git(folder, tmp_path / "s1") == other
    assert project.taken(folder, moved) == other
    back = update(project.repository, moved, folder, project.tree())
    assert tree_by_git(folder, tmp_path / "s2") == project.tree()
    assert project.taken(folder, back) == project.tree()


def test_an_update_writes_only_what_differs(project: Project) -> None:
    folder, snapshot = project.checkout()
    other = project.edited("other", {"src/app.py": "two\n"})
    inode = (folder / "README.md").stat().st_ino

    update(project.repository, snapshot, folder, other)

    assert (folder / "README.md").stat().st_ino == inode
    assert (folder / "src/app.py").read_text("utf-8") == "two\n"


def test_an_update_never_follows_a_link_that_a_gate_left(project: Project, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    put(outside, {"app.py": "the user's own\n", "deep/er/thing.py": "too\n"})
    folder, snapshot = project.checkout()
    (folder / "src").rename(folder / "moved")
    (folder / "src").symlink_to(outside)
    (folder / "README.md").unlink()
    (folder / "README.md").symlink_to(outside / "app.py")

    update(project.repository, snapshot, folder, project.tree())

    assert (outside / "app.py").read_text("utf-8") == "the user's own\n"
    assert (outside / "deep/er/thing.py").exists()
    assert not (folder / "src").is_symlink()
    assert (folder / "README.md").read_text("utf-8") == "hello\n"


def test_large_files_and_links_are_recognized_without_stats(project: Project) -> None:
    project.link()
    folder, snapshot = project.checkout("one")
    put(folder, {"big.bin": os.urandom(3 << 20)})
    (folder / "link").symlink_to("src/app.py")
    tree = project.taken(folder, snapshot)
    cold = read_snapshot(trees(project.repository), tree)

    assert project.taken(folder, cold) == tree
    with (folder / "big.bin").open("ab") as file:
        file.write(b"x")
    assert project.taken(folder, cold) != tree


def test_a_checkout_needs_a_new_folder(project: Project) -> None:
    project.checkout()
    with pytest.raises(FileExistsError):
        checkout(project.repository, project.tree(), project.spare / "work")


def test_attributes_do_not_change_files_in_checkout_or_capture(tmp_path: Path) -> None:
    """Otherwise a gate would see other bytes than those that land."""
    attributes = "*.txt text eol=crlf\n*.id ident\n*.u working-tree-encoding=UTF-16\n*.f filter=evil\n*.x export-ignore\n"
    project = new_project(
        tmp_path, {"a.x": "", "b.id": "$Id$\n", "c.txt": "1\n2\n", "d.f": "raw\n", "e.u": "ascii\n"}
    )
    before = project.edited("attributes", {".gitattributes": attributes})

    folder, snapshot = project.checkout(tree=before)

    assert project.taken(folder, snapshot) == before
    assert (folder / "c.txt").read_bytes() == b"1\n2\n"
    assert (folder / "b.id").read_bytes() == b"$Id$\n"
    put(folder, {"c.txt": b"1\r\n2\r\n"})
    assert project.taken(folder, snapshot) != before


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "a" * 64 + "\nsize 12\n"


def test_files_managed_by_git_lfs_stay_pointers(tmp_path: Path) -> None:
    """Real content there would be a blob that LFS should keep out, written without having seen the old content."""
    project = new_project(
        tmp_path,
        {
            ".gitattributes": "*.png filter=lfs diff=lfs -text\nicons/*.png !filter\n",
            "a.png": POINTER,
            "b": "x",
        },
    )
    folder, snapshot = project.checkout()
    put(folder, {"b": "y", "c.png": POINTER.replace("12", "13"), "icons/d.png": "small"})
    assert isinstance(project.capture(folder, snapshot), Captured)

    put(folder, {"a.png": b"\x89PNG"})
    before = git(project.root, "count-objects")
    refused = project.capture(folder, snapshot)

    assert isinstance(refused, Refused)
    assert refused.faults[0].path == "a.png"
    assert "Git LFS" in refused.faults[0].why
    assert git(project.root, "count-objects") == before


def test_a_tree_larger_than_the_bounds_can_be_edited(project: Project) -> None:
    """The bounds apply to what an agent adds, not to the size of the project."""
    folder, snapshot = project.checkout()
    put(folder, {"README.md": "more\n"})

    assert isinstance(project.capture(folder, snapshot, Bounds(files=0)), Captured)


def test_empty_folders_count_against_the_bounds(project: Project) -> None:
    folder, snapshot = project.checkout()
    for number in range(20):
        (folder / f"f{number}").mkdir()

    refused = project.capture(folder, snapshot, Bounds(files=10))

    assert isinstance(refused, Refused)
