"""Git runs with closed settings, from a thread or without an event loop, and with a deadline."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from podium.git import command
from podium.git.command import Git, GitError, run, text
from podium.git.repository import personal, read_head, refs, trees
from podium.git.trees.snapshot import read_blobs
from tests.git.kit import Project, git, put


def test_git_can_run_in_a_worker_thread_of_an_event_loop(project: Project) -> None:
    async def main() -> object:
        return await to_thread.run_sync(read_head, project.repository)

    assert anyio.run(main) == read_head(project.repository)


def test_closed_settings_ignore_the_users_configuration(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    put(tmp_path, {".gitconfig": "[podium]\n\tprobe = seen\n"})

    assert run(refs(project.repository), "config", "podium.probe", codes=(1,)).out == b""
    assert text(personal(project.repository), "config", "podium.probe") == "seen"


def test_closed_settings_allow_no_other_repository(project: Project) -> None:
    with pytest.raises(GitError, match="not allowed"):
        run(refs(project.repository), "ls-remote", f"file://{project.root}")


def test_output_beyond_the_limit_is_truncated_and_marked(project: Project) -> None:
    project.commit({"big.txt": "x" * 10_000})
    answer = run(trees(project.repository), "cat-file", "blob", f"{project.tree()}:big.txt", limit=100)

    assert (answer.out, answer.cut) == (b"x" * 100, True)


def test_a_git_that_does_not_end_is_stopped(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "DEADLINE_S", 0.2)
    git(project.root, "config", "alias.hang", "!sleep 60")

    with pytest.raises(GitError, match="did not end"):
        run(refs(project.repository), "hang")


def test_a_missing_object_is_reported_with_a_hint(project: Project) -> None:
    with pytest.raises(GitError, match="is missing"):
        list(read_blobs(trees(project.repository), ["0" * 40]))


def test_contents_are_read_in_bounded_batches_and_in_order(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("podium.git.trees.snapshot.BATCH_BYTES", 10)
    contents = [b"12345678", b"", b"abc\n", b"x" * 50, b"end"]
    names = [git(project.root, "hash-object", "-w", "--stdin", stdin=content) for content in contents]

    assert list(read_blobs(trees(project.repository), names)) == contents


def test_a_git_dir_that_is_a_file_runs_in_its_parent(project: Project) -> None:
    git(project.root, "worktree", "add", "-q", str(project.spare / "linked"))

    assert text(Git(project.spare / "linked/.git"), "rev-parse", "--abbrev-ref", "HEAD") == "linked"
