"""Trees in memory behave like git trees."""

from __future__ import annotations

from podium.core.types import Tree
from podium.simulate.memory_trees import MemoryTrees

FILES = {"a.txt": "1", "dir/b.txt": "2"}


def test_equal_contents_are_the_same_tree() -> None:
    forest = MemoryTrees(FILES)

    assert forest.change(forest.base, {"a.txt": "1"}, ()) == forest.base
    assert forest.change(forest.base, {"a.txt": "3"}, ()) != forest.base


def test_files_and_folders_are_found_by_path_and_glob() -> None:
    forest = MemoryTrees(FILES)

    assert forest.exists(forest.base, "dir/b.txt")
    assert forest.exists(None, "dir/")
    assert not forest.exists(forest.base, "di")
    assert forest.glob(forest.base, "**/*.txt") == ["a.txt", "dir/b.txt"]


def test_changes_of_two_sides_are_merged_file_by_file() -> None:
    forest = MemoryTrees(FILES)
    ours = forest.change(forest.base, {"a.txt": "ours"}, ())
    theirs = forest.change(forest.base, {"new.txt": "theirs"}, ["dir/b.txt"])

    merged = forest.merge(forest.base, ours, theirs)

    assert isinstance(merged, str)
    assert forest.files(Tree(merged)) == {"a.txt": "ours", "new.txt": "theirs"}


def test_a_file_that_both_sides_changed_differently_is_a_conflict() -> None:
    forest = MemoryTrees(FILES)
    ours = forest.change(forest.base, {"a.txt": "ours"}, ())
    theirs = forest.change(forest.base, {"a.txt": "theirs"}, ())

    assert forest.merge(forest.base, ours, theirs) == ["a.txt"]
    assert forest.merge(forest.base, ours, ours) == ours
