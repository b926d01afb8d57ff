"""Agents and commands share the folders of a run; each gets exactly its tree, and the history is packed once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import anyio
import pytest

from podium.attempt.workspace import folder_pool
from podium.attempt.workspace.workspace import Workspace
from podium.git.workdir import clone as clones
from tests.attempt.runs import Bench, bench
from tests.attempt.test_workspace import FLOW, visit
from tests.git.kit import Project, git, put, tree_by_git


@pytest.fixture
def packed(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """The commits whose history was packed."""
    commits: list[str | None] = []
    pack = clones.pack_history

    def noting(repository: object, commit: str | None, *args: object) -> object:
        commits.append(commit)
        return pack(repository, commit, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(folder_pool, "pack_history", noting)
    return commits


def test_agents_and_commands_use_one_folder(
    project: Project, tmp_path: Path, packed: list[str | None]
) -> None:
    bench_ = bench(project, tmp_path, FLOW)
    other = project.edited("other", {"src/app.py": "x = 9\n"})
    seen: list[tuple[Path, str, bool]] = []

    def look(workspace: Workspace) -> None:
        has_git = (workspace.folder / ".git").exists()
        if has_git:
            assert git(workspace.folder, "status", "--porcelain") == ""
            git(workspace.folder, "fsck", "--full", "--strict")
        tree = tree_by_git(workspace.folder, tmp_path / f"scratch{len(seen)}")
        seen.append((workspace.folder, tree, has_git))
        put(workspace.folder, {"left.log": "x"})

    kinds: tuple[Literal["clone", "checkout"], ...] = ("clone", "checkout", "clone", "clone")
    for kind, tree in zip(kinds, (project.tree(), other, other, project.tree()), strict=True):
        visit(bench_, tree, look, kind=kind)

    assert len({folder for folder, _, _ in seen}) == 1
    assert [tree for _, tree, _ in seen] == [project.tree(), other, other, project.tree()]
    assert [has_git for _, _, has_git in seen] == [True, False, True, True]
    assert len(packed) == 1


@pytest.mark.parametrize("is_packed", [False, True], ids=["loose", "packed"])
def test_a_clone_has_the_objects_of_the_work_so_far(
    project: Project, tmp_path: Path, packed: list[str | None], *, is_packed: bool
) -> None:
    """They are copied; if git has packed them in the meantime, git packs them for the clone."""
    bench_ = bench(project, tmp_path, FLOW)
    so_far = visit(
        bench_,
        project.tree(),
        lambda workspace: put(workspace.folder, {"a/b/new.py": "1", "src/app.py": "2"}),
    )
    if is_packed:
        git(project.root, "gc", "-q", "--prune=now")

    def look(workspace: Workspace) -> None:
        git(workspace.folder, "fsck", "--full", "--strict")
        assert git(workspace.folder, "status", "--porcelain") == ""
        assert git(workspace.folder, "rev-parse", "HEAD^{tree}") == so_far.tree

    visit(bench_, so_far.tree, look)

    assert len(packed) == 1


def test_a_large_change_is_packed(project: Project, tmp_path: Path) -> None:
    bench_ = bench(project, tmp_path, FLOW)
    many = {f"many/{number}": str(number) for number in range(400)}
    so_far = visit(bench_, project.tree(), lambda workspace: put(workspace.folder, many))

    visit(bench_, so_far.tree, lambda workspace: git(workspace.folder, "fsck", "--full", "--strict"))


def spoil_pack(workspace: Workspace) -> None:
    pack = next((workspace.folder / ".git/objects/pack").glob("*.pack"))
    before = pack.stat()
    pack.chmod(0o644)
    with pack.open("r+b") as file:
        file.seek(30)
        file.write(b"!!")
    pack.chmod(0o444)
    os.utime(pack, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_changed_pack_is_not_used_again(project: Project, tmp_path: Path, packed: list[str | None]) -> None:
    bench_ = bench(project, tmp_path, FLOW)

    visit(bench_, project.tree(), spoil_pack)
    visit(bench_, project.tree(), lambda workspace: git(workspace.folder, "fsck", "--full"))

    assert len(packed) == 2


def test_a_folder_whose_clone_failed_is_used_again(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench_ = bench(project, tmp_path, FLOW)

    def failing(*_: object) -> None:
        raise OSError(5, "disk")

    with monkeypatch.context() as patch:
        patch.setattr(clones, "write_index", failing)
        with pytest.raises(OSError, match="disk"):
            visit(bench_, project.tree(), lambda _: None)

    visit(bench_, project.tree(), lambda workspace: git(workspace.folder, "fsck", "--full"))
    assert len(list((tmp_path / "work").glob("c????????"))) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has several owners")
def test_a_folder_is_used_again_only_by_the_same_user(project: Project, tmp_path: Path) -> None:
    repository, parent, tree = project.repository, tmp_path / "work", project.tree()
    pool = folder_pool.FolderPool()

    async def go() -> list[Path]:
        paths = []
        for owner in (None, (65534, 65534), None):
            folder = await pool.take(repository, parent, tree, owner)
            paths.append(folder.path)
            await pool.give_back(folder)
        return paths

    first, second, third = anyio.run(go)

    assert first == third != second


def test_clearing_removes_folders_and_histories(project: Project, tmp_path: Path) -> None:
    bench_: Bench = bench(project, tmp_path, FLOW)
    visit(bench_, project.tree(), lambda _: None)

    anyio.run(bench_.host.folders.clear)

    assert list((tmp_path / "work").iterdir()) == []
