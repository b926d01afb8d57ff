"""A landing never deletes files that git does not list: submodules and ignored files."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.core.types import Tree
from podium.git.branches.land import InTheWay, Landed, land
from tests.git.branches.test_land import landing, prepared
from tests.git.kit import Project, git, new_project, put


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with a checked-out submodule `sub` and an ignored file type."""
    inner = new_project(tmp_path / "inner", {"x": "1\n"})
    project = new_project(tmp_path / "outer", {"a.txt": "1\n", ".gitignore": "*.log\n/cache\n"})
    git(
        project.root,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(inner.root),
        "sub",
    )
    project.commit({}, "with a submodule")
    return project


def without_submodule(project: Project, files: dict[str, str]) -> Tree:
    folder, snapshot = project.checkout("work")
    (folder / "sub").rmdir()
    tree = project.taken(folder, snapshot)
    return project.edited("work2", files, tree) if files else tree


def landed(project: Project, tree: Tree) -> object:
    return land(project.repository, prepared(project, landing(project, tree)))


@pytest.mark.req("R178", "X8")
@pytest.mark.parametrize("files", [{"sub": "a file\n"}, {"sub/y/z": "a folder\n"}])
@pytest.mark.parametrize("mess", [{}, {"sub/x": "edited\n"}, {"sub/new": "untracked\n"}])
def test_a_checked_out_submodule_is_not_replaced(
    project: Project, files: dict[str, str], mess: dict[str, str]
) -> None:
    """Not even a clean one, because its ignored files and its own history would be lost."""
    tree = without_submodule(project, files)
    put(project.root, mess)
    before = git(project.root, "rev-parse", "main")

    assert landed(project, tree) == InTheWay(("sub/",))
    assert git(project.root, "rev-parse", "main") == before
    for name, text in {"sub/x": "1\n", **mess}.items():
        assert (project.root / name).read_text("utf-8") == text


def test_a_removed_submodule_keeps_its_folder(project: Project) -> None:
    tree = without_submodule(project, {})
    put(project.root, {"sub/new": "untracked\n"})

    assert isinstance(landed(project, tree), Landed)
    assert (project.root / "sub/new").read_text("utf-8") == "untracked\n"


def test_a_submodule_that_is_not_checked_out_can_become_a_file(project: Project) -> None:
    tree = without_submodule(project, {"sub": "a file\n"})
    git(project.root, "submodule", "--quiet", "deinit", "sub")

    assert isinstance(landed(project, tree), Landed)
    assert (project.root / "sub").read_text("utf-8") == "a file\n"


def _of_other_rules(project: Project, files: dict[str, str]) -> Tree:
    """A tree that tracks a file which the user's rules ignore."""
    folder, snapshot = project.checkout("work")
    put(folder, {".gitignore": "\n"})
    return project.edited("work2", files, project.taken(folder, snapshot))


def test_an_ignored_file_where_a_folder_is_needed_is_in_the_way(project: Project) -> None:
    put(project.root, {"cache": "precious\n"})
    tree = _of_other_rules(project, {"cache/x": "1\n"})

    assert landed(project, tree) == InTheWay(("cache",))
    assert (project.root / "cache").read_text("utf-8") == "precious\n"


def test_an_ignored_link_where_a_folder_is_needed_is_in_the_way(project: Project, tmp_path: Path) -> None:
    (project.root / "cache").symlink_to(tmp_path)
    tree = _of_other_rules(project, {"cache/x": "1\n"})

    assert landed(project, tree) == InTheWay(("cache",))
    assert (project.root / "cache").is_symlink()


def test_an_ignored_link_in_a_folder_that_becomes_a_file_is_in_the_way(
    project: Project, tmp_path: Path
) -> None:
    (project.root / "new").mkdir()
    (project.root / "new/to.log").symlink_to(tmp_path)

    assert landed(project, project.edited("work", {"new": "a file\n"})) == InTheWay(("new/to.log",))
    assert (project.root / "new/to.log").is_symlink()


def test_a_nested_repository_is_listed_as_its_folder(project: Project) -> None:
    git(project.root, "init", "-q", "nested")
    put(project.root, {"nested/x": "1\n"})

    assert landed(project, project.edited("work", {"nested": "a file\n"})) == InTheWay(("nested/",))
