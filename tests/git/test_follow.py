"""After a crash between the move of the branch and that of the files: the files come along later, once."""

from __future__ import annotations

from podium.git.branches.land import Landed, Landing, Piece, follow, land
from tests.git.kit import Project, git, put
from tests.git.test_land import landing, prepared, status


def killed_before_the_files_followed(project: Project, request: Landing) -> str:
    """Lands, then puts index and files back to where they were; returns the commit."""
    ready = prepared(project, request)
    assert land(project.repository, ready) == Landed(ready.commit)
    git(project.root, "read-tree", "--reset", "-u", str(ready.tip))
    return ready.commit


def test_files_that_a_crash_left_behind_follow_later(project: Project) -> None:
    """Also behind several commits: where the branch came from is remembered."""
    one = project.edited("one", {"a.txt": "1\n"})
    two = project.edited("two", {"a.txt": "1\n", "b.txt": "2\n"})
    request = landing(project, two, how="commits", pieces=(Piece(one, "One"),))
    commit = killed_before_the_files_followed(project, request)
    (project.root / "mine.txt").write_text("untracked", "utf-8")

    for _ in range(2):
        assert follow(project.repository, request, commit) is None
        assert status(project) == "?? mine.txt"
        assert (project.root / "b.txt").exists()


def test_files_do_not_follow_a_branch_that_has_been_moved_on(project: Project) -> None:
    request = landing(project, project.edited("work", {"a.txt": "1\n"}))
    ready = prepared(project, request)
    land(project.repository, ready)
    project.commit({"later.txt": "by the user\n"})

    assert follow(project.repository, request, ready.commit) is None
    assert status(project) == ""


def test_files_of_a_branch_that_is_not_checked_out_need_not_follow(project: Project) -> None:
    request = landing(project, project.edited("work", {"a.txt": "1\n"}), branch="other")
    ready = prepared(project, request)
    land(project.repository, ready)

    assert follow(project.repository, request, ready.commit) is None
    assert not (project.root / "a.txt").exists()


def test_files_that_the_user_has_put_there_since_a_crash_are_not_overwritten(project: Project) -> None:
    """Ignored ones too, which git takes for worthless."""
    request = landing(project, project.edited("work", {"new/x": "1\n", "src/app.py": "done\n"}))
    commit = killed_before_the_files_followed(project, request)
    put(project.root, {"new/x": "mine\n", ".git/info/exclude": "new\n"})

    assert "new/x would be overwritten" in (follow(project.repository, request, commit) or "")
    assert (project.root / "new/x").read_text("utf-8") == "mine\n"
    assert (project.root / "src/app.py").read_text("utf-8") != "done\n"
