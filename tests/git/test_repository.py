"""The user's repository is found and read without being changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podium.errors import ConfigurationError
from podium.git.command import Git, GitError
from podium.git.repository import (
    Person,
    Signature,
    attempt_ref,
    clear_locks,
    commit_of,
    component,
    find,
    keep,
    read_head,
    read_person,
    read_uncommitted,
    refs,
    tree_of,
    tree_with_uncommitted,
    write_commit,
)
from podium.git.workdir.checkout import checkout
from tests.git.kit import SIGNED, Project, git, new_project, put


def test_a_repository_is_found_from_any_folder_in_it(project: Project, tmp_path: Path) -> None:
    assert find(project.root / "src/deep", tmp_path / "store") == project.repository
    assert project.repository.git_dir == project.root / ".git"


def test_outside_git_there_is_no_repository(tmp_path: Path) -> None:
    assert find(tmp_path, tmp_path / "store") is None


def test_a_repository_without_a_work_tree_is_refused(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "bare")
    with pytest.raises(ConfigurationError, match="without a work tree"):
        find(tmp_path / "bare", tmp_path / "store")


def test_a_broken_repository_is_an_error_with_gits_message(project: Project, tmp_path: Path) -> None:
    put(project.root, {".git/config": "[core\n"})
    with pytest.raises(GitError, match="bad config"):
        find(project.root, tmp_path / "store")


def test_a_line_break_in_the_path_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "new\nline"
    root.mkdir()
    git(root, "init", "-q")
    with pytest.raises(ConfigurationError, match="line break"):
        find(root, tmp_path / "store")


def test_the_head_has_its_branch_commit_and_tree(project: Project) -> None:
    head = read_head(project.repository)

    assert head.branch == "main"
    assert head.commit == git(project.root, "rev-parse", "HEAD")
    assert head.tree == git(project.root, "rev-parse", "HEAD^{tree}")
    git(project.root, "checkout", "-q", "--detach")
    assert read_head(project.repository).branch is None


def test_a_branch_without_commits_has_the_empty_tree(tmp_path: Path) -> None:
    project = new_project(tmp_path)
    head = read_head(project.repository)

    assert (head.branch, head.commit) == ("main", None)
    assert project.files(head.tree) == []
    put(project.root, {"a.txt": "x"})
    assert project.files(tree_with_uncommitted(project.repository)) == ["a.txt"]


def test_an_edit_at_the_moment_the_index_was_written_is_included(project: Project) -> None:
    """Its size and time equal those of the committed file; only the time of the index shows the difference."""
    git(project.root, "config", "core.trustctime", "false")
    at = 1_700_000_000 * 10**9
    os.utime(project.root / "README.md", ns=(at, at))
    git(project.root, "update-index", "--refresh")
    put(project.root, {"README.md": "HELLO\n"})
    for name in ("README.md", ".git/index"):
        os.utime(project.root / name, ns=(at, at))
    assert read_uncommitted(project.repository) == ("README.md",)

    tree = tree_with_uncommitted(project.repository)

    assert git(project.root, "show", f"{tree}:README.md") == "HELLO"


def test_a_repository_with_sha256_works_the_same(tmp_path: Path) -> None:
    project = new_project(tmp_path, {"a": "1"}, "--object-format=sha256")
    tree = project.edited("work", {"b/c": "2"})

    assert len(tree) == 64
    assert project.files(tree) == ["a", "b/c"]


def test_uncommitted_files_are_listed_without_podiums_own(project: Project) -> None:
    """The list is shown as a warning before a run starts from HEAD."""
    assert read_uncommitted(project.repository) == ()
    put(project.root, {"README.md": "changed", "new/file name": "", ".podium/podium.db": "", "x.log": ""})
    (project.root / "run.sh").unlink()

    assert sorted(read_uncommitted(project.repository)) == ["README.md", "new/file name", "run.sh"]


def test_the_dirty_tree_includes_uncommitted_files_and_changes_nothing(project: Project) -> None:
    (project.root / "run.sh").unlink()
    put(
        project.root,
        {"README.md": "changed\n", "new.txt": "new\n", "run.sh/inside": "", "src/staged.py": "1\n"},
    )
    git(project.root, "add", "src/staged.py")
    put(project.root, {"src/staged.py": "2\n"})
    (project.root / "src/app.py").unlink()
    git(project.root, "init", "-q", "nested")
    put(project.root, {"nested/x": ""})
    status = git(project.root, "status", "--porcelain")
    index = (project.root / ".git/index").read_bytes()

    tree = tree_with_uncommitted(project.repository)

    assert project.files(tree) == [
        ".gitignore", "README.md", "new.txt", "run.sh/inside", "src/deep/er/thing.py", "src/staged.py",
    ]  # fmt: skip
    assert git(project.root, "show", f"{tree}:src/staged.py") == "2"
    assert (project.root / ".git/index").read_bytes() == index
    assert git(project.root, "status", "--porcelain") == status


def test_the_dirty_tree_of_a_clean_project_is_its_head(project: Project) -> None:
    assert tree_with_uncommitted(project.repository) == project.tree()


def test_every_attempt_has_its_own_ref_that_survives_a_gc(project: Project) -> None:
    """R175: the work of a failed attempt is not lost."""
    tree = project.edited("work", {"failed.txt": "but kept\n"})
    commit = write_commit(project.repository, tree, parents=(), message="attempt", signature=SIGNED)
    ref = attempt_ref("run-1", "build[2]/fix~3", 1)

    keep(project.repository, ref, commit)
    keep(project.repository, ref, commit)

    assert commit_of(refs(project.repository), ref) == commit
    git(project.root, "gc", "-q", "--prune=now")
    assert git(project.root, "show", f"{ref}:failed.txt") == "but kept"


@pytest.mark.parametrize(
    "name",
    ["a", "a/b", "each[3]/test", "x~2", "x#2/!exhausted", "a..b", ".a", "a.lock", "@", "a@{b", "x y", "é", "/", "a:b^?*\\",
     "\x7f", "-x", "n" * 500],
)  # fmt: skip
def test_any_step_address_becomes_one_component_of_a_ref(project: Project, name: str) -> None:
    commit = git(project.root, "rev-parse", "HEAD")
    ref = attempt_ref("r", name, 1)

    assert ref.count("/") == 4
    keep(project.repository, ref, commit)
    assert commit_of(refs(project.repository), ref) == commit


def test_different_long_addresses_stay_different() -> None:
    assert component("n" * 500 + "a") != component("n" * 500 + "b")


def test_a_step_and_its_child_have_refs_that_do_not_conflict(project: Project) -> None:
    commit = git(project.root, "rev-parse", "HEAD")
    keep(project.repository, attempt_ref("r", "a", 1), commit)
    keep(project.repository, attempt_ref("r", "a/1", 2), commit)


def test_locks_that_a_killed_git_left_on_a_runs_refs_are_cleared(project: Project) -> None:
    """One of 126 killed runs could not be resumed because of such a lock (facts/security.md 0.8)."""
    commit = git(project.root, "rev-parse", "HEAD")
    ref = attempt_ref("r", "a", 1)
    lock = project.root / ".git" / f"{ref}.lock"
    put(project.root, {f".git/{ref}.lock": "", ".git/refs/heads/main.lock": ""})

    assert clear_locks(project.repository, "r") == (lock,)
    keep(project.repository, ref, commit)
    assert (project.root / ".git/refs/heads/main.lock").exists()


def test_commits_have_the_given_author_and_names_cannot_inject_headers(project: Project) -> None:
    signature = Signature(Person("A <x>\nB", "a@b>"), Person("", "c@d"), 1_700_000_000)
    commit = write_commit(
        project.repository, project.tree(), parents=(), message="Größe\0\n\n", signature=signature
    )

    assert git(project.root, "log", "-1", "--format=%an|%ae|%cn|%ce|%ct|%B", commit).strip() == (
        "A xB|a@b|unknown|c@d|1700000000|Größe"
    )
    git(project.root, "fsck", "--strict", commit)


def test_the_user_is_read_from_the_git_configuration(project: Project) -> None:
    assert read_person(project.repository) is None
    git(project.root, "config", "user.name", "Zoë")
    git(project.root, "config", "user.email", "zoe@example.com")
    assert read_person(project.repository) == Person("Zoë", "zoe@example.com")


def test_the_users_settings_and_hooks_do_not_affect_trees(project: Project, tmp_path: Path) -> None:
    """Although the user's filters are trusted, a gate must see the bytes that land."""
    put(tmp_path, {"evil.sh": f"#!/bin/sh\ntouch {tmp_path}/canary\ncat\n"})
    (tmp_path / "evil.sh").chmod(0o755)
    for key in ("filter.x.clean", "filter.x.smudge", "core.fsmonitor", "diff.external", "merge.x.driver"):
        git(project.root, "config", key, str(tmp_path / "evil.sh"))
    for name in ("reference-transaction", "post-checkout", "post-index-change"):
        put(project.root, {f".git/hooks/{name}": f"#!/bin/sh\ntouch {tmp_path}/canary\n"})
        (project.root / ".git/hooks" / name).chmod(0o755)
    put(project.root, {".git/info/attributes": "* filter=x merge=x\n"})

    tree = project.edited("work", {"src/app.py": "x\n"})
    commit = write_commit(project.repository, tree, parents=(), message="m", signature=SIGNED)
    keep(project.repository, attempt_ref("r", "a", 1), commit)
    checkout(project.repository, tree, project.spare / "gate")

    assert not (tmp_path / "canary").exists()


def test_a_failed_command_includes_gits_message(project: Project) -> None:
    with pytest.raises(GitError, match=r"git rev-parse failed in .*Needed a single revision"):
        tree_of(project.repository, "no-such-commit")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="does not exist"):
        commit_of(Git(tmp_path / "gone/too"), "HEAD")


def test_without_git_the_message_says_what_to_install(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(GitError) as raised:
        read_head(project.repository)
    assert "install git" in (raised.value.hint or "")


def test_the_callers_git_variables_are_ignored(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Podium may run in a git hook, which sets GIT_DIR and GIT_INDEX_FILE."""
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")

    assert find(project.root, tmp_path / "store") == project.repository
    assert read_uncommitted(project.repository) == ()
    assert not os.path.lexists(tmp_path / "index")
