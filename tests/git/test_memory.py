"""Stored memories: three-way merges per file, compare-and-swap, and each run at most once."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from podium.core.types import Tree
from podium.git.branches.gc import list_runs
from podium.git.memory import (
    StoredMemory,
    blobs_of,
    contents_of,
    delete_memory,
    list_memories,
    memory_ref,
    merge_run,
    merge_trees,
    read_memory,
    replace_memory,
    write_tree,
)
from podium.git.repository import Repository
from tests.git.kit import Project, git


def tree(project: Project, files: Mapping[str, str]) -> Tree:
    return write_tree(project.repository, {path: text.encode() for path, text in files.items()})


def texts(repository: Repository, at: Tree) -> dict[str, str]:
    return {path: content.decode() for path, content in contents_of(repository, at).items()}


def merged(
    project: Project, base: Mapping[str, str], stored: Mapping[str, str], ours: Mapping[str, str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    at, conflicts = merge_trees(
        project.repository,
        base=tree(project, base),
        stored=tree(project, stored),
        ours=tree(project, ours),
        label="R2",
    )
    return texts(project.repository, at), conflicts


def test_changes_of_different_files_are_joined(project: Project) -> None:
    result, conflicts = merged(project, {"a": "1\n"}, {"a": "1\n", "b": "theirs\n"}, {"a": "2\n"})
    assert result == {"a": "2\n", "b": "theirs\n"}
    assert conflicts == ()


def test_changes_of_different_lines_are_joined(project: Project) -> None:
    lines = [f"{number}\n" for number in range(9)]
    before, theirs, ours = (
        "".join(lines),
        "".join(["first\n", *lines[1:]]),
        "".join([*lines[:-1], "last\n"]),
    )
    result, conflicts = merged(project, {"a": before}, {"a": theirs}, {"a": ours})
    assert result == {"a": "".join(["first\n", *lines[1:-1], "last\n"])}
    assert conflicts == ()


def test_the_stored_side_of_a_conflict_stays_and_ours_is_beside_it(project: Project) -> None:
    result, conflicts = merged(project, {"a": "1\n"}, {"a": "theirs\n"}, {"a": "ours\n"})
    assert result == {"a": "theirs\n", "a.conflict-R2": "ours\n"}
    assert conflicts == ("a.conflict-R2",)


def test_two_new_files_of_one_name_conflict(project: Project) -> None:
    result, _ = merged(project, {}, {"d/a": "theirs\n"}, {"d/a": "ours\n"})
    assert result == {"d/a": "theirs\n", "d/a.conflict-R2": "ours\n"}


def test_a_deletion_loses_against_a_change_and_a_change_against_a_deletion_is_kept(project: Project) -> None:
    assert merged(project, {"a": "1\n"}, {"a": "theirs\n"}, {}) == ({"a": "theirs\n"}, ())
    result, conflicts = merged(project, {"a": "1\n", "b": "\n"}, {"b": "\n"}, {"a": "ours\n", "b": "\n"})
    assert result == {"b": "\n", "a.conflict-R2": "ours\n"}
    assert conflicts == ("a.conflict-R2",)


def test_both_sides_may_delete_or_write_the_same(project: Project) -> None:
    assert merged(project, {"a": "1\n", "b": "1\n"}, {"b": "2\n"}, {"b": "2\n"}) == ({"b": "2\n"}, ())


def test_a_file_where_the_other_side_has_a_folder_is_a_conflict(project: Project) -> None:
    result, _ = merged(project, {}, {"a": "file\n"}, {"a/b": "ours\n"})
    assert result == {"a": "file\n", "a.conflict-R2/b": "ours\n"}
    result, _ = merged(project, {}, {"a/b": "theirs\n"}, {"a": "ours\n"})
    assert result == {"a/b": "theirs\n", "a.conflict-R2": "ours\n"}


def test_a_name_that_is_taken_gets_a_number(project: Project) -> None:
    stored = {"a": "theirs\n", "a.conflict-R2": "older\n"}
    result, conflicts = merged(project, {"a": "1\n", "a.conflict-R2": "older\n"}, stored, {
        "a": "ours\n", "a.conflict-R2": "older\n",
    })  # fmt: skip
    assert result == {**stored, "a.conflict-R2-2": "ours\n"}
    assert conflicts == ("a.conflict-R2-2",)


def test_only_regular_files_are_part_of_a_memory(project: Project) -> None:
    """Whoever can write refs can store anything; none of it is followed."""
    blob = git(project.root, "hash-object", "-w", "--stdin", stdin=b"/etc/passwd")
    entries = f"120000 blob {blob}\tlink\n100755 blob {blob}\tprogram\n100644 blob {blob}\ttext\n"
    poisoned = Tree(git(project.root, "mktree", stdin=entries.encode()))
    assert list(blobs_of(project.repository, poisoned)) == ["text"]


def store(project: Project, files: Mapping[str, str], run: str, base: StoredMemory | None = None) -> str:
    pinned = read_memory(project.repository, "lessons") if base is None else base
    return merge_run(
        project.repository,
        "lessons",
        pinned=pinned,
        ours=tree(project, files),
        run_id=run,
        at_s=1_700_000_000,
    ).commit


def test_a_run_is_merged_once_however_often_it_is_tried(project: Project) -> None:
    """A process that was killed after the merge and before its event asks again."""
    pinned = read_memory(project.repository, "lessons")
    first = store(project, {"a": "1\n"}, "R1", pinned)
    store(project, {"a": "1\n", "b": "2\n"}, "R2")
    assert store(project, {"a": "1\n"}, "R1", pinned) == first
    assert texts(project.repository, read_memory(project.repository, "lessons").tree) == {
        "a": "1\n",
        "b": "2\n",
    }
    assert git(project.root, "rev-list", "--count", memory_ref("lessons")) == "2"


def test_a_conflict_is_reported_again_by_a_repeated_merge(project: Project) -> None:
    pinned = read_memory(project.repository, "lessons")
    store(project, {"a": "1\n"}, "R1", pinned)
    store(project, {"a": "2\n"}, "R2", pinned)
    again = merge_run(
        project.repository, "lessons", pinned=pinned, ours=tree(project, {"a": "2\n"}), run_id="R2", at_s=0
    )
    assert again.conflicts == ("a.conflict-R2",)


def test_a_deleted_memory_comes_back_with_our_side_only(project: Project) -> None:
    store(project, {"a": "1\n", "b": "1\n"}, "R1")
    pinned = read_memory(project.repository, "lessons")
    assert delete_memory(project.repository, pinned)
    store(project, {"a": "2\n", "b": "1\n"}, "R2", pinned)
    assert texts(project.repository, read_memory(project.repository, "lessons").tree) == {
        "a.conflict-R2": "2\n"
    }


def test_an_edit_is_refused_if_the_memory_has_moved(project: Project) -> None:
    store(project, {"a": "1\n"}, "R1")
    before = read_memory(project.repository, "lessons")
    store(project, {"a": "2\n"}, "R2")
    assert replace_memory(project.repository, before, {"a": b"mine\n"}, 0) is None
    assert not delete_memory(project.repository, before)
    now = read_memory(project.repository, "lessons")
    assert replace_memory(project.repository, now, {"a": b"mine\n"}, 0) is not None
    assert [memory.name for memory in list_memories(project.repository)] == ["lessons"]


def test_the_lock_of_a_killed_git_does_not_stop_later_runs(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(project, {"a": "1\n"}, "R1")
    lock = project.repository.common_dir / f"{memory_ref('lessons')}.lock"
    lock.write_text("")
    monkeypatch.setattr("podium.git.memory._STALE_S", 0.0)
    store(project, {"a": "2\n"}, "R2")
    assert not lock.exists()


def test_memories_belong_to_no_run_and_are_not_cleaned_up(project: Project) -> None:
    store(project, {"a": "1\n"}, "R1")
    assert list_runs(project.repository) == ()


RUNS = int(os.environ.get("PODIUM_MEMORY_RUNS", "24"))
SEED = os.environ.get("PODIUM_SEED", "1")


@pytest.mark.slow
def test_nothing_that_overlapping_runs_write_is_lost(project: Project) -> None:
    """Every run pins one of the earlier versions, appends to shared files and adds its own; threads merge at once."""
    rng = random.Random(f"memory {SEED}")
    start = read_memory(project.repository, "lessons")
    written: dict[str, list[str]] = {}

    def work(number: int) -> None:
        run = f"R{number}"
        pinned = start if number % 3 else read_memory(project.repository, "lessons")
        files = texts(project.repository, pinned.tree) if pinned.commit else {}
        lines = [f"{run} learned {word}\n" for word in plans[number]]
        written[run] = lines
        for line, name in zip(lines, ("shared.md", f"topics/{number % 7}.md", f"own/{run}.md"), strict=True):
            files[name] = files.get(name, "") + line
        for _ in range(2 if number % 5 == 0 else 1):
            store(project, files, run, pinned)

    plans = {number: [f"{rng.random():.6f}" for _ in range(3)] for number in range(RUNS)}
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(RUNS)))

    stored = read_memory(project.repository, "lessons")
    everything = "".join(texts(project.repository, stored.tree).values())
    lost = [line for lines in written.values() for line in lines if line not in everything]
    assert lost == []
    assert git(project.root, "rev-list", "--count", stored.commit) == str(RUNS)
