"""After a crash between moving the branch and updating the files, the files are updated later, once."""

from __future__ import annotations

from podium.git.branches.land import Landed, Landing, Piece, follow, land
from tests.git.branches.test_land import landing, prepared, status
from tests.git.kit import Project, git, put


def killed_before_the_files_followed(project: Project, request: Landing) -> str:
    """Land, then reset index and files to the state before; returns the commit."""
    ready = prepared(project, request)
    assert land(project.repository, ready) == Landed(ready.commit)
    git(project.root, "read-tree", "--reset", "-u", str(ready.tip))
    return ready.commit


def test_files_that_a_crash_left_behind_are_updated_later(project: Project) -> None:
    """Also after several commits, because the previous tip is recorded."""
    one = project.edited("one", {"a.txt": "1\n"})
    two = project.edited("two", {"a.txt": "1\n", "b.txt": "2\n"})
    request = landing(project, two, how="commits", pieces=(Piece(one, "One"),))
    commit = killed_before_the_files_followed(project, request)
    (project.root / "mine.txt").write_text("untracked", "utf-8")

    for _ in range(2):
        assert follow(project.repository, request, commit) is None
        assert status(project) == "?? mine.txt"
        assert (project.root / "b.txt").exists()


def test_files_are_not_updated_if_the_branch_has_moved_further(project: Project) -> None:
    request = landing(project, project.edited("work", {"a.txt": "1\n"}))
    ready = prepared(project, request)
    land(project.repository, ready)
    project.commit({"later.txt": "by the user\n"})

    assert follow(project.repository, request, ready.commit) is None
    assert status(project) == ""


def test_files_of_a_branch_that_is_not_checked_out_are_not_updated(project: Project) -> None:
    request = landing(project, project.edited("work", {"a.txt": "1\n"}), branch="other")
    ready = prepared(project, request)
    land(project.repository, ready)

    assert follow(project.repository, request, ready.commit) is None
    assert not (project.root / "a.txt").exists()


def test_files_that_the_user_added_after_a_crash_are_not_overwritten(project: Project) -> None:
    """Not even ignored ones, which git considers expendable."""
    request = landing(project, project.edited("work", {"new/x": "1\n", "src/app.py": "done\n"}))
    commit = killed_before_the_files_followed(project, request)
    put(project.root, {"new/x": "mine\n", ".git/info/exclude": "new\n"})

    assert "new/x would be overwritten" in (follow(project.repository, request, commit) or "")
    assert (project.root / "new/x").read_text("utf-8") == "mine\n"
    assert (project.root / "src/app.py").read_text("utf-8") != "done\n"
