"""`podium watch` as its own process: it runs at once, again after a change, and once per new file (R206, R228, C12)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from podium.app.run.watch import (
    WatchedProject,
    arrived,
    changed,
    inbox,
    list_files,
    wait_for_files,
    watched_project,
    without_news,
)
from podium.errors import ConfigurationError
from tests.engine.kit import Project, git

pytestmark = pytest.mark.slow

FLOW = (
    "podium: 1\nname: flow\nvars: {note: none}\nsteps:\n  say: {run: [cat, READ], output: {file: said.txt}}\n"
)
TASK = "podium: 1\nname: task\ninputs: {task: path}\nsteps:\n  say: {run: [cat, '${{ inputs.task }}'], output: {file: said.txt}}\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    for name in ("cache", "config"):
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(tmp_path / name))
    made = Project(tmp_path / "project")
    yield made
    made.facade.close()


def watch(project: Project, *args: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "podium", "watch", *args, "--sandbox", "none"]
    return subprocess.Popen(command, cwd=project.root, stderr=subprocess.PIPE, text=True)


def wait_for(process: subprocess.Popen[str], words: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return
    pytest.fail(f"it ended without saying {words}")


def said(project: Project) -> list[str]:
    heads = sorted(project.store.heads(), key=lambda head: head.run)
    return [(project.facade.paths.run_dir(head.run) / "artifacts/say/said.txt").read_text() for head in heads]


@pytest.mark.req("R226", "R228", "C12")
def test_it_runs_at_once_and_again_after_a_change(project: Project) -> None:
    project.write("data.txt", "one")
    project.write("flow.yaml", FLOW.replace("READ", "data.txt"))
    project.commit()
    with watch(project, "flow.yaml", "--runs", "2") as process:
        wait_for(process, "watching")
        project.write("data.txt", "two")
        process.communicate(timeout=240)
    assert process.returncode == 0
    assert sorted(said(project)) == ["one", "two"]


@pytest.mark.req("R228")
def test_a_mistake_in_the_file_is_told_and_the_next_save_runs_again(project: Project) -> None:
    project.write("data.txt", "one")
    good = FLOW.replace("READ", "data.txt")
    project.write("flow.yaml", good)
    project.commit()
    with watch(project, "flow.yaml", "--runs", "2") as process:
        wait_for(process, "watching")
        project.write("flow.yaml", good.replace("steps:", "stepz:"))
        wait_for(process, 'has an unknown key "stepz"')
        wait_for(process, "watching")
        (project.root / "flow.yaml").unlink()
        wait_for(process, "changed: flow.yaml")
        wait_for(process, "watching")
        project.write("flow.yaml", good)
        process.communicate(timeout=240)
    assert process.returncode == 0
    assert said(project) == ["one", "one"]


@pytest.mark.req("R228")
@pytest.mark.parametrize("noise", ["node_modules/lib/x.js", "build/deep/x", "app.log"])
def test_a_write_to_an_ignored_file_starts_nothing_and_one_to_a_tracked_file_one_run(
    project: Project, noise: str
) -> None:
    project.write("data.txt", "one")
    project.write("node_modules/lib/y.js", "")
    project.write(".gitignore", ".podium/\nnode_modules/\n/build\n*.log\n")
    project.write("flow.yaml", FLOW.replace("READ", "data.txt"))
    project.commit()
    with watch(project, "flow.yaml", "--runs", "2") as process:
        wait_for(process, "watching")
        project.write(noise, "noise")
        project.write("data.txt", "two")
        _, told = process.communicate(timeout=240)
    assert "changed: data.txt\n" in told
    assert sorted(said(project)) == ["one", "two"]


@pytest.mark.req("R228")
def test_a_tracked_file_in_an_ignored_folder_starts_a_run(project: Project) -> None:
    project.write("build/data.txt", "one")
    project.write("flow.yaml", FLOW.replace("READ", "build/data.txt"))
    project.commit()
    project.write(".gitignore", ".podium/\nbuild/\n")
    project.commit()
    with watch(project, "flow.yaml", "--runs", "2") as process:
        wait_for(process, "watching")
        project.write("build/other.txt", "noise")
        project.write("build/data.txt", "two")
        _, told = process.communicate(timeout=240)
    assert "changed: build/data.txt\n" in told
    assert sorted(said(project)) == ["one", "two"]


@pytest.mark.req("R228")
def test_what_somebody_saves_during_a_run_starts_the_next(project: Project) -> None:
    """A command that waits for a file tells that the run has begun, and holds it until the edit is made."""
    ends = project.root.parent / "ends"
    os.mkfifo(ends)
    project.write("data.txt", "one")
    project.write(
        "flow.yaml",
        "podium: 1\nname: flow\nsteps:\n"
        f"  hold: {{run: [cat, {ends}]}}\n"
        "  say: {run: [cat, data.txt], output: {file: said.txt}}\n",
    )
    project.commit()
    with watch(project, "flow.yaml", "--runs", "2") as process:
        with ends.open("w"):
            project.write("data.txt", "two")
        wait_for(process, "changed: data.txt")
        ends.open("w").close()
        process.communicate(timeout=240)
    assert process.returncode == 0
    assert sorted(said(project)) == ["one", "two"]


@pytest.mark.req("R228")
def test_what_a_run_lands_or_does_in_the_project_itself_is_no_news() -> None:
    before = {"kept": (1, 1), "edited": (1, 1), "landed": (1, 1), "removed": (1, 1)}
    after = {"kept": (1, 1), "edited": (2, 1), "landed": (2, 1), "added": (2, 1)}
    own = frozenset({"landed", "added", "removed"})
    assert changed(without_news(before, after, own), after) == ("edited",)
    assert changed(without_news(before, after, None), after) == ()


STEPS = """\
podium: 1
name: flow
agents: {w: {type: scripted, script: cast.yaml}}
steps:
  one: {agent: w, prompt: one.md, touches: []}
  two: {agent: w, prompt: two.md, touches: []}
"""


@pytest.mark.req("C12")
@pytest.mark.parametrize(("name", "taken_over"), [("two.md", ["one"]), ("README.md", [])])
def test_an_edit_of_the_definition_repeats_only_what_it_affects(
    project: Project, name: str, taken_over: list[str]
) -> None:
    for file, text in {
        "flow.yaml": STEPS,
        "cast.yaml": "[]\n",
        "one.md": "First.",
        "two.md": "Second.",
    }.items():
        project.write(file, text)
    project.commit()
    with watch(project, "flow.yaml", "--mode", "affected", "--runs", "2") as process:
        wait_for(process, "watching")
        project.write(name, "Otherwise.")
        _, told = process.communicate(timeout=240)
    assert process.returncode == 0
    first, second = sorted(head.run for head in project.store.heads())
    assert [(row.path, row.reused) for row in project.view(second).steps] == [
        ("one", first if "one" in taken_over else ""),
        ("two", ""),
    ]
    assert ("reused       1 ($0.00 not paid again): one" in told) is bool(taken_over), "it is told beforehand"


@pytest.mark.req("R206", "C12")
def test_each_new_file_becomes_a_run(project: Project) -> None:
    project.write("todo/first.md", "first")
    project.write("task.yaml", TASK)
    project.commit()
    with watch(project, "task.yaml", "--mode", "enqueue", "--folder", "todo", "--runs", "2") as process:
        wait_for(process, "watching")
        project.write("todo/second.md", "second")
        process.communicate(timeout=240)
    assert process.returncode == 0
    assert sorted(said(project)) == ["first", "second"]


@pytest.mark.req("R206", "C12")
def test_each_new_file_becomes_a_run_also_in_a_folder_that_git_ignores(project: Project) -> None:
    project.write(".gitignore", ".podium/\ntodo/\n")
    project.write("task.yaml", TASK.replace("cat, '${{ inputs.task }}'", "echo, '${{ inputs.task }}'"))
    project.commit()
    (project.root / "todo").mkdir()
    with watch(project, "task.yaml", "--mode", "enqueue", "--folder", "todo", "--runs", "1") as process:
        wait_for(process, "watching")
        project.write("todo/first.md", "first")
        process.communicate(timeout=240)
    assert process.returncode == 0
    assert said(project) == ["todo/first.md\n"]


@pytest.mark.req("R206", "C12")
def test_a_file_whose_run_cannot_begin_is_taken_once_it_can(project: Project) -> None:
    project.write("todo/first.md", "first")
    project.write("task.yaml", TASK)
    project.commit()
    with watch(project, "task.yaml", "--mode", "enqueue", "--folder", "todo", "--runs", "2") as process:
        wait_for(process, "watching")
        project.write("task.yaml", TASK.replace("steps:", "stepz:"))
        project.write("todo/second.md", "second")
        wait_for(process, 'has an unknown key "stepz"')
        wait_for(process, "watching")
        project.write("task.yaml", TASK)
        process.communicate(timeout=240)
    assert process.returncode == 0
    assert sorted(said(project)) == ["first", "second"]


def test_it_names_what_is_missing_before_it_waits(project: Project) -> None:
    project.write("flow.yaml", FLOW.replace("READ", "README.md"))
    project.write("todo/x", "")
    project.commit()
    with watch(project, "flow.yaml", "--mode", "enqueue", "--folder", "todo") as process:
        process.communicate(timeout=240)
    assert process.returncode == 2


@pytest.mark.req("R228")
def test_new_changed_and_lost_files_are_told_apart(tmp_path: Path) -> None:
    for name in ("a", "b", "d", "same"):
        (tmp_path / name).write_text("1")
    before = list_files(WatchedProject(tmp_path, None)).files
    (tmp_path / "a").unlink()
    (tmp_path / "b").write_text("22")
    (tmp_path / "c").touch()
    os.utime(tmp_path / "d", (1, 1))
    for own in (".git", ".podium"):
        (tmp_path / own).mkdir()
        (tmp_path / own / "x").touch()
    after = list_files(WatchedProject(tmp_path, None)).files
    assert changed(before, after) == ("a", "b", "c", "d")
    assert arrived(before, after) == ("c",)


@pytest.mark.req("R228")
def test_what_people_write_into_the_own_folder_is_looked_at_and_records_are_not(tmp_path: Path) -> None:
    written = ("config.yaml", "partials/task.md", "roles/trader.yaml", "templates/ours.yaml")
    for name in (*written, "podium.db", "runs/1/state.json", "runs/config.yaml"):
        path = tmp_path / ".podium" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    project = WatchedProject(tmp_path, None)
    assert tuple(list_files(project).files) == tuple(f".podium/{name}" for name in written)


@pytest.mark.req("R228")
def test_files_count_by_the_rules_of_git_and_podiums_own_folder_by_its_own(project: Project) -> None:
    project.write(".gitignore", ".podium/*\n*.log\nbuild/\n!kept.log\n")
    project.write("build/tracked", "")
    git(project.root, "add", "--force", "build/tracked")
    for name in (
        "build/x",
        "src/a.log",
        "src/kept.log",
        ".podium/config.yaml",
        ".podium/runs/x",
        "new/only.log",
    ):
        project.write(name, "")
    found = list_files(watched_project(project.facade))
    assert set(found.files) == {
        ".gitignore",
        ".podium/config.yaml",
        "README.md",
        "build/tracked",
        "src/kept.log",
    }
    assert str(project.root / "new") in found.folders, "another file may come into it"


@pytest.mark.req("R228")
@pytest.mark.parametrize("name", [b"new/deep/file", b"caf\xe9", b"caf\xe9/file"])
def test_a_file_in_a_new_folder_or_with_a_name_that_is_not_utf_8_is_noticed(
    tmp_path: Path, name: bytes
) -> None:
    """The second file comes when the first has been noticed, so that a new folder must be watched as well."""
    project = WatchedProject(tmp_path, None)
    before = list_files(project).files
    for path in (name, name + b"2"):
        with ThreadPoolExecutor(1) as pool:
            after = pool.submit(wait_for_files, project, before)
            place = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + path))
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
            assert changed(before, after.result(60)) == (os.fsdecode(path),)
        before = after.result()


@pytest.mark.req("R228")
def test_a_folder_that_is_removed_while_it_is_watched_takes_its_files_along(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old/file").touch()
    project = WatchedProject(tmp_path, None)
    before = list_files(project).files
    with ThreadPoolExecutor(1) as pool:
        after = pool.submit(wait_for_files, project, before)
        shutil.rmtree(tmp_path / "old")
        assert after.result(60) == {}


@pytest.mark.parametrize(("folder", "why"), [("../x", "leaves the project"), ("nowhere", "is not a folder")])
def test_an_inbox_is_a_folder_of_the_project(tmp_path: Path, folder: str, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        inbox(tmp_path, Path(folder))
