"""Work lands on the user's branch once, only as a fast-forward, and never over the user's changes (R176, R178, X4, X8)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podium.core.types import Tree
from podium.errors import ConfigurationError
from podium.git.branches.land import (
    BranchClash,
    InTheWay,
    Landed,
    Landing,
    Moved,
    Nothing,
    Piece,
    Prepared,
    land,
    prepare,
)
from podium.git.repository import Person, Signature, find, read_head, tree_with_uncommitted
from tests.git.kit import SIGNED, Project, git, new_project, put


def landing(project: Project, tree: Tree, **more: Any) -> Landing:
    head = read_head(project.repository)
    fields: dict[str, Any] = {
        "run": "run-1", "id": "run-1.land", "branch": "main", "base": head.commit, "start": head.tree, "tree": tree,
        "how": "squash", "message": "Do the work", "signature": SIGNED,
    }  # fmt: skip
    return Landing(**{**fields, **more})


def prepared(project: Project, request: Landing) -> Prepared:
    result = prepare(project.repository, request)
    assert isinstance(result, Prepared), result
    return result


def status(project: Project) -> str:
    return git(project.root, "status", "--porcelain")


def test_a_squash_moves_branch_index_and_files(project: Project) -> None:
    base = git(project.root, "rev-parse", "HEAD")
    tree = project.edited("work", {"src/app.py": "done\n", "new/x.py": "x\n"})
    request = landing(
        project, tree, signature=Signature(Person("Ann", "a@b"), Person("Podium", "p@b"), 1_700_000_000)
    )
    ready = prepared(project, request)

    assert git(project.root, "rev-parse", "HEAD") == base
    assert (ready.moved, ready.same_patch, ready.tree) == (False, True, tree)
    assert land(project.repository, ready) == Landed(ready.commit)
    assert git(project.root, "rev-parse", "main", "main^") == f"{ready.commit}\n{base}"
    assert git(project.root, "log", "-1", "--format=%an %cn") == "Ann Podium"
    assert (project.root / "new/x.py").read_text("utf-8") == "x\n"
    assert status(project) == ""
    assert "podium: land run-1.land" in git(project.root, "reflog", "-1")


@pytest.mark.req("R156")
def test_a_landing_moves_the_branch_once_even_if_repeated(project: Project) -> None:
    """The promise of design 6: the user's branch receives each change at most once."""
    tree = project.edited("work", {"a.txt": "1\n"})
    request = landing(project, tree)
    ready = prepared(project, request)
    assert land(project.repository, ready) == Landed(ready.commit)

    assert land(project.repository, ready) == Landed(ready.commit, already_landed=True)
    assert prepare(project.repository, request) == Landed(ready.commit, already_landed=True)
    project.commit({"later.txt": "by the user\n"})
    assert land(project.repository, ready) == Landed(ready.commit, already_landed=True)
    assert (project.root / "later.txt").exists()


def test_after_a_crash_the_landed_commit_is_found_by_its_trailer(project: Project) -> None:
    request = landing(project, project.edited("work", {"a.txt": "1\n"}))
    ready = prepared(project, request)
    git(project.root, "update-ref", "refs/heads/main", ready.commit)

    assert prepare(project.repository, request) == Landed(ready.commit, already_landed=True)
    assert land(project.repository, ready) == Landed(ready.commit, already_landed=True)
    assert status(project) == ""
    assert (project.root / "a.txt").exists()


def test_a_trailer_in_an_agents_message_does_not_fake_a_landing(project: Project) -> None:
    first = landing(project, project.edited("a", {"a": "1"}), id="one", message="x\n\nPodium-Landing: two\n")
    assert isinstance(land(project.repository, prepared(project, first)), Landed)
    second = landing(project, project.edited("b", {"b": "1"}), id="two")

    assert isinstance(prepare(project.repository, second), Prepared)
    longer = landing(project, project.edited("c", {"c": "1"}), id="on", base=first.base, start=first.start)
    assert isinstance(prepare(project.repository, longer), Prepared)


def test_work_is_merged_onto_a_branch_that_has_moved(project: Project) -> None:
    request = landing(project, project.edited("work", {"src/app.py": "done\n"}))
    tip = project.commit({"README.md": "hello\nfrom the user\n"})

    ready = prepared(project, request)

    assert (ready.moved, ready.same_patch, ready.tip) == (True, True, tip)
    assert land(project.repository, ready) == Landed(ready.commit)
    assert (project.root / "README.md").read_text("utf-8") == "hello\nfrom the user\n"
    assert (project.root / "src/app.py").read_text("utf-8") == "done\n"
    assert status(project) == ""


def test_a_patch_that_changes_in_the_merge_is_reported(project: Project) -> None:
    """Reviews and approvals stay valid only for an unchanged patch."""
    project.commit({"f": "1\n2\n3\n4\n5\n6\n7\n8\n"})
    request = landing(project, project.edited("work", {"f": "1\n2\n3\nfour\n5\n6\n7\n8\n", "g": "same\n"}))
    project.commit({"f": "1\ntwo\n3\n4\n5\n6\n7\n8\n"})

    assert prepared(project, request).same_patch is False


def test_a_branch_that_moves_after_preparing_is_not_changed(project: Project) -> None:
    ready = prepared(project, landing(project, project.edited("work", {"a": "1\n"})))
    tip = project.commit({"b": "user\n"})

    assert land(project.repository, ready) == Moved(tip)
    assert git(project.root, "rev-parse", "main") == tip


def test_of_two_landings_prepared_on_one_tip_only_one_lands(project: Project) -> None:
    one = prepared(project, landing(project, project.edited("a", {"a": "1\n"}), id="one"))
    two_request = landing(project, project.edited("b", {"b": "2\n"}), id="two", run="run-2")
    two = prepared(project, two_request)

    assert land(project.repository, one) == Landed(one.commit)
    assert land(project.repository, two) == Moved(one.commit)
    again = prepared(project, two_request)
    assert again.moved
    assert land(project.repository, again) == Landed(again.commit)
    assert git(project.root, "rev-list", "--count", "main") == "3"


def test_a_branch_that_moves_just_before_the_swap_is_not_changed(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The branch moves between our check and our swap."""
    ready = prepared(project, landing(project, project.edited("work", {"a": "1\n"})))

    def move_meanwhile(*_: object) -> None:
        project.commit({"b": "user\n"})

    monkeypatch.setattr("podium.git.branches.land.worktree_of", move_meanwhile)

    assert land(project.repository, ready) == Moved(git(project.root, "rev-parse", "main"))
    assert not (project.root / "a").exists()


def test_a_conflict_with_the_branch_is_a_value(project: Project) -> None:
    request = landing(project, project.edited("work", {"src/app.py": "ours\n"}))
    project.commit({"src/app.py": "users\n"})

    clashed = prepare(project.repository, request)

    assert isinstance(clashed, BranchClash)
    assert clashed.clashes[0].path == "src/app.py"


def test_work_that_the_branch_already_has_is_nothing_to_land(project: Project) -> None:
    request = landing(project, project.edited("work", {"src/app.py": "same\n"}))
    project.commit({"src/app.py": "same\n"})

    assert prepare(project.repository, request) == Nothing()


@pytest.mark.parametrize(
    ("mess", "named"),
    [
        ({"src/app.py": "the user's own\n"}, ("src/app.py",)),
        ({"new/x.py": "untracked\n"}, ("new/x.py",)),
        ({"new": "a file where a folder is needed\n"}, ("new",)),
        ({"made.log": "ignored, and in the way\n"}, ("made.log",)),
        ({"folder.txt/inside": "untracked\n"}, ("folder.txt/inside",)),
        ({"folder.txt/inside.log": "ignored\n"}, ("folder.txt/inside.log",)),
    ],
)
def test_the_users_own_changes_are_never_overwritten(
    project: Project, mess: dict[str, str], named: tuple[str, ...]
) -> None:
    tree = _with_log(project, {"src/app.py": "done\n", "new/x.py": "x\n", "folder.txt": "f\n"})
    put(project.root, mess)
    base, before = git(project.root, "rev-parse", "HEAD"), status(project)

    assert land(project.repository, prepared(project, landing(project, tree))) == InTheWay(named)
    assert git(project.root, "rev-parse", "HEAD") == base
    assert status(project) == before
    for name, text in mess.items():
        assert (project.root / name).read_text("utf-8") == text


def _with_log(project: Project, files: dict[str, str]) -> Tree:
    """A tree that also tracks a file that the user's rules ignore."""
    folder, snapshot = project.checkout("work")
    put(folder, {**files, ".gitignore": "build/\n"})
    tree = project.taken(folder, snapshot)
    folder, snapshot = project.checkout("work2", tree)
    put(folder, {"made.log": "made\n"})
    return project.taken(folder, snapshot)


def test_the_users_changes_to_other_files_are_kept(project: Project) -> None:
    tree = project.edited("work", {"src/app.py": "done\n"})
    put(project.root, {"README.md": "unsaved thoughts\n", "notes.txt": "untracked\n"})
    put(project.root, {"staged.txt": "staged\n"})
    git(project.root, "add", "staged.txt")

    result = land(project.repository, prepared(project, landing(project, tree)))

    assert isinstance(result, Landed)
    assert result.left_behind is None
    assert status(project).split("\n") == [" M README.md", "A  staged.txt", "?? notes.txt"]
    assert (project.root / "src/app.py").read_text("utf-8") == "done\n"


def test_a_touched_but_unchanged_file_is_not_in_the_way(project: Project) -> None:
    tree = project.edited("work", {"src/app.py": "done\n"})
    (project.root / "src/app.py").touch()

    assert isinstance(land(project.repository, prepared(project, landing(project, tree))), Landed)


def test_work_based_on_uncommitted_files_lands_without_them(project: Project) -> None:
    """`--dirty` includes the user's uncommitted files in the base; committing them is up to the user."""
    put(project.root, {"README.md": "half done\n"})
    start = tree_with_uncommitted(project.repository)
    tree = project.edited("work", {"src/app.py": "done\n"}, start)

    ready = prepared(project, landing(project, tree, start=start))

    assert isinstance(land(project.repository, ready), Landed)
    assert git(project.root, "show", "--name-only", "--format=", "HEAD") == "src/app.py"
    assert status(project) == " M README.md"


def test_landing_on_a_branch_that_is_not_checked_out_changes_no_files(project: Project) -> None:
    git(project.root, "branch", "side")
    tree = project.edited("work", {"src/app.py": "done\n"})
    put(project.root, {"src/app.py": "the user's own\n"})

    ready = prepared(project, landing(project, tree, branch="side"))

    assert land(project.repository, ready) == Landed(ready.commit)
    assert (project.root / "src/app.py").read_text("utf-8") == "the user's own\n"
    assert git(project.root, "rev-parse", "side") == ready.commit


def test_a_branch_in_a_linked_work_tree_is_updated_there(project: Project) -> None:
    git(project.root, "worktree", "add", "-q", "-b", "side", str(project.spare / "linked"))
    git(project.root, "worktree", "add", "-q", "-b", "third", str(project.spare / "gone"))
    tree = project.edited("work", {"src/app.py": "done\n"})

    ready = prepared(project, landing(project, tree, branch="side"))

    assert land(project.repository, ready) == Landed(ready.commit)
    assert (project.spare / "linked/src/app.py").read_text("utf-8") == "done\n"
    assert git(project.spare / "linked", "status", "--porcelain") == ""
    assert status(project) == ""


def test_podium_can_run_in_a_linked_work_tree(project: Project, tmp_path: Path) -> None:
    git(project.root, "worktree", "add", "-q", "-b", "side", str(project.spare / "linked"))
    repository = find(project.spare / "linked", tmp_path / "store2")
    assert repository is not None
    there = Project(repository, project.spare)
    assert read_head(repository).branch == "side"

    ready = prepared(there, landing(there, there.edited("work", {"a": "1\n"}), branch="side"))

    assert land(repository, ready) == Landed(ready.commit)
    assert (project.spare / "linked/a").exists()


def test_a_new_branch_starts_at_the_base(project: Project) -> None:
    """R177: a branch pattern such as ai/{task_id}-{description}."""
    ready = prepared(project, landing(project, project.edited("work", {"a": "1\n"}), branch="ai/7-add-a"))

    assert ready.tip is None
    assert land(project.repository, ready) == Landed(ready.commit)
    assert git(project.root, "rev-parse", "ai/7-add-a^") == git(project.root, "rev-parse", "main")


@pytest.mark.parametrize("how", ["squash", "merge", "commits"])
def test_an_empty_repository_gets_its_first_commit(tmp_path: Path, how: str) -> None:
    project = new_project(tmp_path)
    ready = prepared(project, landing(project, project.edited("work", {"a": "1\n"}), how=how))

    assert land(project.repository, ready) == Landed(ready.commit)
    assert (project.root / "a").exists()
    assert status(project) == ""


def test_a_merge_keeps_the_work_as_a_branch_of_history(project: Project) -> None:
    base = git(project.root, "rev-parse", "HEAD")
    request = landing(project, project.edited("work", {"src/app.py": "done\n"}), how="merge")
    tip = project.commit({"README.md": "moved\n"})

    ready = prepared(project, request)
    assert land(project.repository, ready) == Landed(ready.commit)

    first, second = git(project.root, "rev-parse", "HEAD^1", "HEAD^2").split("\n")
    assert first == tip
    assert git(project.root, "rev-parse", f"{second}^") == base
    assert status(project) == ""


def test_steps_land_as_separate_commits_and_unchanged_ones_as_none(project: Project) -> None:
    one = project.edited("a", {"one": "1\n"})
    two = project.edited("b", {"two": "2\n"}, one)
    pieces = (Piece(one, "Step one"), Piece(one, "Step nothing"), Piece(two, "Step two"))
    last = project.edited("c", {"three": "3\n"}, two)
    request = landing(project, last, how="commits", pieces=pieces)
    project.commit({"README.md": "moved\n"}, "user")

    ready = prepared(project, request)

    assert land(project.repository, ready) == Landed(ready.commit)
    subjects = git(project.root, "log", "--format=%s").split("\n")
    assert subjects == ["Do the work", "Step two", "Step one", "user", "first"]
    assert git(project.root, "show", "--name-only", "--format=", "HEAD~1") == "two"


def test_a_conflict_in_an_intermediate_step_is_a_conflict(project: Project) -> None:
    one = project.edited("a", {"README.md": "detour\n"})
    back = project.edited("b", {"README.md": "hello\n", "x": "1\n"}, one)
    request = landing(project, back, how="commits", pieces=(Piece(one, "Step one"),))
    project.commit({"README.md": "users\n"})

    assert isinstance(prepare(project.repository, request), BranchClash)


@pytest.mark.parametrize("branch", ["", "a..b", "-x", "a b", "x.lock", "/x"])
def test_an_invalid_branch_name_is_refused(project: Project, branch: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a valid branch name"):
        prepare(project.repository, landing(project, project.tree(), branch=branch))


def test_files_that_cannot_be_updated_are_reported(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user saves a file between our check and the update: the branch moves, but the user's file is kept."""
    ready = prepared(project, landing(project, project.edited("work", {"src/app.py": "done\n"})))
    monkeypatch.setattr("podium.git.branches.land.paths_in_the_way", lambda *_: ())
    put(project.root, {"src/app.py": "the user's own\n"})

    result = land(project.repository, ready)

    assert isinstance(result, Landed)
    assert "src/app.py" in (result.left_behind or "")
    assert (project.root / "src/app.py").read_text("utf-8") == "the user's own\n"


def test_the_users_own_filters_apply_to_their_own_files(project: Project) -> None:
    """As with `git pull`, because both the settings and the work tree are the user's."""
    git(project.root, "config", "filter.shout.smudge", "tr a-z A-Z")
    git(project.root, "config", "filter.shout.clean", "tr A-Z a-z")
    project.commit({".gitattributes": "*.loud filter=shout\n"})
    tree = project.edited("work", {"x.loud": "quiet\n"})

    assert isinstance(land(project.repository, prepared(project, landing(project, tree))), Landed)
    assert (project.root / "x.loud").read_text("utf-8") == "QUIET\n"
    assert status(project) == ""


def test_a_file_that_only_git_refuses_to_overwrite_is_in_the_way(project: Project) -> None:
    """Git's dry run detects what our list misses, such as a change that the user hides from status."""
    tree = project.edited("work", {"src/app.py": "done\n"})
    ready = prepared(project, landing(project, tree))
    git(project.root, "update-index", "--assume-unchanged", "src/app.py")
    put(project.root, {"src/app.py": "hidden change\n"})
    result = land(project.repository, ready)

    assert isinstance(result, InTheWay)
    assert "src/app.py" in result.paths[0]
    assert (project.root / "src/app.py").read_text("utf-8") == "hidden change\n"


def test_a_folder_can_become_a_file_in_the_users_work_tree(project: Project) -> None:
    folder, snapshot = project.checkout()
    (folder / "src/deep/er/thing.py").unlink()
    (folder / "src/deep/er").rmdir()
    put(folder, {"src/deep/er": "a file\n"})

    ready = prepared(project, landing(project, project.taken(folder, snapshot)))

    assert land(project.repository, ready) == Landed(ready.commit)
    assert (project.root / "src/deep/er").read_text("utf-8") == "a file\n"
