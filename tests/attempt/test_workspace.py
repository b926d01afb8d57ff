"""Workspaces: what a worker finds there, what is taken from it, what is refused, and that nothing is left."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest

from podium.attempt.workspace.workspace import (
    CapturedChange,
    CaptureRefused,
    Workspace,
    capture_change,
    clear,
    open_workspace,
)
from podium.core.events import AttemptStarted
from podium.core.model import Agent, Step
from podium.core.payloads import Amounts
from podium.core.step_settings import StepSettings, WorkspaceSettings
from podium.core.types import Address, Millis, Tree
from tests.attempt.runs import Bench, bench
from tests.git.kit import Project, git, new_project, put, tree_by_git

FLOW = "steps:\n  it: {run: [ls]}\n"


def asked(tree: Tree | None, attempt: int = 1) -> AttemptStarted:
    return AttemptStarted(Millis(1_700_000_000_000), Address("it"), attempt, Amounts(), base=tree, start=tree)


def step(**workspace: Any) -> Step:
    return Step("it", Agent(), settings=StepSettings(workspace=WorkspaceSettings(**workspace)))


def visit(
    bench_: Bench,
    tree: Tree | None,
    do: Any,
    *,
    kind: Literal["clone", "checkout"] = "clone",
    of: Step | None = None,
    attempt: int = 1,
) -> Any:
    async def go() -> Any:
        started = asked(tree, attempt)
        async with open_workspace(bench_.host, started, of or step(), kind=kind) as workspace:
            do(workspace)
            return await capture_change(bench_.host, workspace, started)

    return anyio.run(go)


@pytest.mark.req("R175", "C13")
def test_a_clone_is_a_repository_of_its_own_with_a_home(project: Project, tmp_path: Path) -> None:
    bench_ = bench(project, tmp_path, FLOW)

    def do(workspace: Workspace) -> None:
        assert workspace.kind == "clone"
        assert git(workspace.folder, "status", "--porcelain") == ""
        assert git(workspace.folder, "rev-parse", "HEAD") == git(project.root, "rev-parse", "HEAD")
        assert list(workspace.home.iterdir()) == []
        assert workspace.home.stat().st_mode & 0o777 == 0o700
        put(workspace.folder, {"src/new.py": "y = 1\n"})

    taken = visit(bench_, project.tree(), do)

    assert isinstance(taken, CapturedChange)
    assert taken.files == ("src/new.py",)
    assert taken.change == {"files": 1, "added": 1, "removed": 0, "paths": ["src/new.py"]}
    assert list((tmp_path / "work").glob("w*")) == []


def test_a_clone_starts_from_the_work_so_far(project: Project, tmp_path: Path) -> None:
    so_far = project.edited("before", {"src/app.py": "x = 5\n"})
    bench_ = bench(project, tmp_path, FLOW)

    def do(workspace: Workspace) -> None:
        assert (workspace.folder / "src" / "app.py").read_text() == "x = 5\n"
        assert git(workspace.folder, "log", "--format=%s") == "Work so far\nfirst"

    assert visit(bench_, so_far, do).tree == so_far


@pytest.mark.parametrize("kind", ["clone", "checkout"])
@pytest.mark.req("C32")
def test_published_artifacts_can_be_read_and_are_not_captured(
    project: Project, tmp_path: Path, kind: Literal["clone", "checkout"]
) -> None:
    bench_ = bench(project, tmp_path, FLOW)
    put(bench_.host.artifacts_dir, {"plan/plan.md": "the plan", "draft/claude/d.md": "d"})

    def do(workspace: Workspace) -> None:
        path = workspace.folder / ".podium" / "artifacts" / "plan" / "plan.md"
        assert path.read_text() == "the plan"
        assert path.stat().st_mode & 0o222 == 0
        assert (workspace.folder / ".podium/artifacts/draft/claude/d.md").exists()

    assert visit(bench_, project.tree(), do, kind=kind).files == ()


@pytest.mark.req("C14")
def test_a_folder_that_may_not_become_a_tree_is_refused_with_every_reason(
    project: Project, tmp_path: Path
) -> None:
    bench_ = bench(project, tmp_path, FLOW)

    def do(workspace: Workspace) -> None:
        (workspace.folder / "out").symlink_to("/etc")
        os.mkfifo(workspace.folder / "pipe")

    spoiled = visit(bench_, project.tree(), do)

    assert isinstance(spoiled, CaptureRefused)
    assert spoiled.reason == "capture"
    assert "pipe is neither a file" in spoiled.message


def test_a_folder_that_was_locked_is_replaced(project: Project, tmp_path: Path) -> None:
    bench_ = bench(project, tmp_path, FLOW)
    seen: list[Path] = []

    def lock(workspace: Workspace) -> None:
        seen.append(workspace.folder)
        put(workspace.folder, {"deep/er/file": "x"})
        (workspace.folder / "deep").chmod(0)
        workspace.folder.chmod(0)

    visit(bench_, project.tree(), lock)
    visit(bench_, project.tree(), lambda workspace: seen.append(workspace.folder))

    first, second = seen
    assert first != second
    assert not first.exists()


def test_every_attempt_has_a_ref_that_names_it(project: Project, tmp_path: Path) -> None:
    bench_ = bench(project, tmp_path, FLOW)

    for attempt in (1, 2):
        visit(
            bench_,
            project.tree(),
            lambda workspace, n=attempt: put(workspace.folder, {"n": str(n)}),
            attempt=attempt,
        )

    refs = git(project.root, "for-each-ref", "--format=%(refname)", "refs/podium").splitlines()
    assert refs == ["refs/podium/20260101-a/it/1", "refs/podium/20260101-a/it/2"]
    message = git(project.root, "log", "-1", "--format=%B", refs[0])
    assert "20260101-a" in message and "it" in message


def test_checkouts_are_used_again_and_hold_exactly_the_tree(project: Project, tmp_path: Path) -> None:
    bench_ = bench(project, tmp_path, FLOW)
    other = project.edited("other", {"src/app.py": "x = 9\n", "more/file": "m"})
    seen: list[Path] = []

    def dirty(workspace: Workspace) -> None:
        seen.append(workspace.folder)
        put(workspace.folder, {"junk/deep/file": "j", "src/app.py": "spoiled"})
        (workspace.folder / "README.md").unlink()

    def check(workspace: Workspace) -> None:
        seen.append(workspace.folder)
        assert tree_by_git(workspace.folder, tmp_path / "scratch") == other

    visit(bench_, other, dirty, kind="checkout")
    visit(bench_, project.tree(), dirty, kind="checkout")
    visit(bench_, other, dirty, kind="checkout")
    visit(bench_, other, check, kind="checkout")

    assert len(set(seen)) == 1


def test_a_checkout_that_cannot_be_brought_back_is_replaced(project: Project, tmp_path: Path) -> None:
    bench_ = bench(project, tmp_path, FLOW)
    seen: list[Path] = []

    def wreck(workspace: Workspace) -> None:
        seen.append(workspace.folder)
        workspace.folder.rename(workspace.folder.with_name("moved"))
        workspace.folder.write_text("not a folder any more")

    def check(workspace: Workspace) -> None:
        seen.append(workspace.folder)
        assert (workspace.folder / "README.md").read_text() == "hello\n"

    visit(bench_, project.tree(), wreck, kind="checkout")
    visit(bench_, project.tree(), check, kind="checkout")

    assert seen[0] != seen[1]


def test_what_a_crash_left_is_swept(project: Project, tmp_path: Path) -> None:
    bench_ = bench(project, tmp_path, FLOW)
    put(tmp_path / "work", {"w0000/tree/file": "x", "c1111/file": "y"})
    visit(bench_, project.tree(), lambda _: None, kind="checkout")

    anyio.run(clear, bench_.host)

    assert not (tmp_path / "work").exists()


def test_a_cancelled_attempt_leaves_no_home(project: Project, tmp_path: Path) -> None:
    bench_ = bench(project, tmp_path, FLOW)
    started = asked(project.tree())

    async def go() -> None:
        with anyio.CancelScope() as scope:
            async with open_workspace(bench_.host, started, step(), kind="clone"):
                scope.cancel()
                await anyio.sleep_forever()

    anyio.run(go)

    assert list((tmp_path / "work").glob("w*")) == []


@pytest.mark.req("X9")
def test_copies_are_there_and_are_nobodys_work(project: Project, tmp_path: Path) -> None:
    put(project.root, {".env.test": "A=1\n", "cache/big.bin": "b", "other.txt": "o"})
    bench_ = bench(project, tmp_path, FLOW)

    def do(workspace: Workspace) -> None:
        assert (workspace.folder / ".env.test").read_text() == "A=1\n"
        assert (workspace.folder / "cache" / "big.bin").exists()
        assert not (workspace.folder / "other.txt").exists()
        put(workspace.folder, {"mine": "m"})

    taken = visit(bench_, project.tree(), do, of=step(copy=(".env.test", "cache/**")))

    assert taken.files == ("mine",)


@pytest.mark.req("X9")
def test_set_up_runs_before_and_tear_down_after(project: Project, tmp_path: Path) -> None:
    bench_ = bench(project, tmp_path, FLOW)
    mark = tmp_path / "torn"
    own = step(setup=(("mkdir", "deps"), ("touch", "deps/done")), teardown=(("touch", str(mark)),))

    def do(workspace: Workspace) -> None:
        assert (workspace.folder / "deps" / "done").exists()
        assert not mark.exists()

    taken = visit(bench_, project.tree(), do, of=own)

    assert (taken.files, mark.exists()) == ((), True)


def test_a_tear_down_that_fails_changes_nothing_and_is_told(project: Project, tmp_path: Path) -> None:
    told: list[str] = []
    text = "steps:\n  it: {run: [ls], workspace: {teardown: [[cat, no_such_file]]}}\n"
    bench_ = bench(project, tmp_path, text, on_progress=lambda _, progress: told.append(progress.text))

    assert bench_.play().ending("it").outcome == "passed"
    assert any("no_such_file" in text for text in told)


def test_a_set_up_that_fails_is_an_error(project: Project, tmp_path: Path) -> None:
    text = "steps:\n  it: {run: [ls], workspace: {setup: [[cat, no_such_file]]}}\n"

    played = bench(project, tmp_path, text).play()

    assert (played.answer("it").kind, played.answer("it").reason) == ("error", "setup")
    assert "no_such_file" in played.result("it")["message"]


@pytest.mark.req("X9")
def test_ports_are_free_and_told_by_the_environment(project: Project, tmp_path: Path) -> None:
    text = "steps:\n  it: {run: [printenv, PODIUM_PORT_1, PODIUM_PORT_2], workspace: {ports: 2}}\n"

    first, second = bench(project, tmp_path, text).play().result("it")["output"].split()

    assert first != second
    assert all(1024 <= int(port) < 65536 for port in (first, second))


def test_an_empty_repository_is_a_place_to_start_from(tmp_path: Path) -> None:
    project = new_project(tmp_path)
    bench_ = bench(project, tmp_path, FLOW)

    taken = visit(bench_, None, lambda workspace: put(workspace.folder, {"a": "1"}))

    assert taken.files == ("a",)


def test_a_link_in_the_place_of_the_artifacts_is_not_followed(project: Project, tmp_path: Path) -> None:
    (project.root / ".podium").symlink_to("src")
    git(project.root, "add", "-f", ".podium")
    git(project.root, "commit", "-q", "-m", "a link")
    bench_ = bench(project, tmp_path, FLOW).given(state_dir=tmp_path / "state")
    put(bench_.host.artifacts_dir, {"plan/plan.md": "the plan"})

    played = bench_.play()

    assert (played.answer("it").kind, played.answer("it").reason) == ("error", "path")
    assert ".podium/artifacts" in played.result("it")["message"]


def test_more_idle_checkouts_than_are_of_use_are_removed(project: Project, tmp_path: Path) -> None:
    bench_ = bench(project, tmp_path, FLOW)
    started = asked(project.tree())

    async def use() -> None:
        async with open_workspace(bench_.host, started, step(), kind="checkout"):
            inside.append(1)
            if len(inside) == 6:
                all_there.set()
            await all_there.wait()

    async def go() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(6):
                group.start_soon(use)

    inside: list[int] = []
    all_there = anyio.Event()
    anyio.run(go)

    assert len(list((tmp_path / "work").glob("c*"))) == 4
