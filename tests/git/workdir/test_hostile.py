"""Whatever an agent leaves in its folder executes nothing on the host and accesses nothing outside.

Every case plants a trap and is captured; if the capture is accepted, it is checked out, compared, merged and landed. A
canary file would appear if anything planted had run (R175, C13, C14).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podium.git.branches.land import Landed, Landing, Prepared, land, prepare
from podium.git.repository import read_head
from podium.git.trees.diff import changes, diff
from podium.git.trees.merge import Joined, join
from podium.git.workdir.capture import Captured, Refused
from podium.git.workdir.checkout import update
from podium.git.workdir.clone import clone
from podium.git.workdir.folder import discard
from tests.git.kit import SIGNED, Project, git, put
from tests.security.trees.plants import REFUSED, TAKEN, Plant, git_file, git_link, inner_links

pytestmark = pytest.mark.slow


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    program = tmp_path / "evil/run.sh"
    put(
        tmp_path, {"evil/run.sh": f"#!/bin/sh\ntouch {tmp_path}/canary\ncat\n", "evil/secret.txt": "SECRET\n"}
    )
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("plant", TAKEN, ids=lambda plant: plant.__name__)
def test_planted_code_never_runs_on_the_way_to_the_branch(
    project: Project, tmp_path: Path, evil: Path, plant: Plant
) -> None:
    if plant is inner_links:
        project.link()
    head = read_head(project.repository)
    assert head.commit is not None
    folder = project.spare / "work"
    snapshot = clone(project.repository, head.commit, folder)
    put(folder, {"src/app.py": "work\n"})
    plant(folder, evil)

    captured = project.capture(folder, snapshot)
    assert isinstance(captured, Captured), captured
    tree = captured.tree
    gate, gate_snapshot = project.checkout("gate", tree)
    assert project.taken(gate, gate_snapshot) == tree
    if plant not in (git_file, git_link, inner_links):
        plant(gate, evil)
    update(project.repository, gate_snapshot, gate, head.tree)
    update(project.repository, gate_snapshot, gate, tree)
    assert changes(project.repository, head.tree, tree)
    assert diff(project.repository, head.tree, tree, renames=True).text
    other = project.edited("other", {"src/other.py": "x\n"})
    joined = join(project.repository, fork=head.tree, onto=other, tree=tree)
    assert isinstance(joined, Joined)
    landing = Landing(
        run="r1", id="l1", branch="main", base=head.commit, start=head.tree, tree=joined.tree, how="squash",
        message="work", signature=SIGNED,
    )  # fmt: skip
    prepared = prepare(project.repository, landing)
    assert isinstance(prepared, Prepared)
    assert land(project.repository, prepared) == Landed(prepared.commit)
    assert (project.root / "src/app.py").read_text("utf-8") == "work\n"

    assert not (tmp_path / "canary").exists()
    assert not any(path == ".git" or path.startswith(".git/") for path in project.files(tree))
    assert git(project.root, "fsck", "--no-dangling") == ""
    for leftover in (folder, gate):
        discard(leftover)
        assert not leftover.exists()
    assert evil.exists()


@pytest.mark.parametrize("plant", REFUSED, ids=lambda plant: plant.__name__)
def test_links_to_the_outside_and_nested_repositories_are_refused(
    project: Project, tmp_path: Path, evil: Path, plant: Plant
) -> None:
    """R183, C14. The message names the path, because it is feedback for the agent."""
    project.link()
    folder, snapshot = project.checkout()
    plant(folder, evil)
    before = git(project.root, "count-objects")

    refused = project.capture(folder, snapshot)

    assert isinstance(refused, Refused)
    assert len(refused.faults) == 1
    assert "changed during" not in refused.faults[0].why
    assert git(project.root, "count-objects") == before
    assert not (tmp_path / "canary").exists()
    update(project.repository, snapshot, folder, project.tree())
    assert sorted(path.name for path in folder.iterdir()) == [
        ".gitignore",
        "README.md",
        "current",
        "run.sh",
        "src",
    ]
    assert (evil.parent / "secret.txt").read_text("utf-8") == "SECRET\n"


def test_ignored_files_are_not_checked(project: Project, evil: Path) -> None:
    """A virtual environment is full of links to the outside and hard links; it is ignored, so it is harmless."""
    folder, snapshot = project.checkout()
    put(folder, {"build/.git/config": "", "x.log": ""})
    (folder / "build/python").symlink_to("/usr/bin/python3")
    os.mkfifo(folder / "build/pipe")
    (folder / "y.log").hardlink_to(evil)

    assert project.capture(folder, snapshot) == Captured(project.tree(), ("build/", "x.log", "y.log"))


def test_an_escaping_link_of_the_user_is_accepted(project: Project) -> None:
    (project.root / "cfg").symlink_to("/etc/app.conf")
    project.commit({})
    folder, snapshot = project.checkout()
    put(folder, {"README.md": "more\n"})
    assert isinstance(project.capture(folder, snapshot), Captured)

    (folder / "cfg").unlink()
    (folder / "cfg").symlink_to("/etc/passwd")
    assert isinstance(project.capture(folder, snapshot), Refused)

    (folder / "cfg").unlink()
    put(folder, {"cfg": "a file\n"})
    assert isinstance(project.capture(folder, snapshot), Captured)


def test_a_new_link_in_a_project_without_links_is_refused(project: Project) -> None:
    folder, snapshot = project.checkout()
    (folder / "a").symlink_to("README.md")

    refused = project.capture(folder, snapshot)

    assert isinstance(refused, Refused)
    assert refused.faults[0].path == "a"
    assert "this project has none" in refused.faults[0].why


def test_names_of_the_users_files_are_accepted(project: Project) -> None:
    """The rules about names apply only to files that an agent adds."""
    project.commit({"new\nline": "1", "readme.md": "2", "a\\b": "3"})
    folder, snapshot = project.checkout()
    put(folder, {"new\nline": "more", "readme.md": "more", "src/x": ""})

    assert isinstance(project.capture(folder, snapshot), Captured)


def test_links_of_a_removed_folder_are_removed(project: Project) -> None:
    (project.root / "src/out").symlink_to("/etc/app.conf")
    project.commit({})
    folder, snapshot = project.checkout()
    discard(folder / "src")
    (folder / "src").symlink_to("run.sh")

    assert isinstance(project.capture(folder, snapshot), Captured)


def test_two_links_that_together_lead_outside_conflict(project: Project) -> None:
    project.link()
    start = project.tree()
    folder, snapshot = project.checkout("a")
    (folder / "e").mkdir()
    (folder / "e/up").symlink_to("..")
    one = project.taken(folder, snapshot)
    folder, snapshot = project.checkout("b")
    (folder / "y").symlink_to("e/up/../evil")
    two = project.taken(folder, snapshot)

    joined = join(project.repository, fork=start, onto=one, tree=two)

    assert not isinstance(joined, Joined)
    assert joined.clashes[0].path == "y"


def test_a_tree_with_a_git_folder_is_not_checked_out(project: Project) -> None:
    blob = git(project.root, "hash-object", "-w", "--stdin", stdin=b"x")
    inner = git(project.root, "mktree", stdin=f"100644 blob {blob}\tconfig\n".encode())
    tree = git(project.root, "mktree", stdin=f"040000 tree {inner}\t.git\n".encode())

    with pytest.raises(Exception, match="git would treat as its own folder"):
        project.checkout("bad", tree)  # type: ignore[arg-type]  # a tree by any other name
    assert not (project.spare / "bad").exists()
