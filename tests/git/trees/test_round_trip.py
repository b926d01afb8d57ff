"""For random trees and edits, a capture is the tree that git makes of a trusted copy of the same files."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.core.types import Tree
from podium.git.repository import trees
from podium.git.trees.listing import Entry, Listing, _read_whole, read_listing
from podium.git.trees.names import fold_name, is_git_folder, is_module_file, name_fault
from podium.git.workdir.checkout import update
from tests.git.kit import Project, git, new_project, tree_by_git

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class File:
    content: bytes
    program: bool = False


@dataclass(frozen=True)
class Link:
    target: str


Node = File | Link

_SIGNS = st.sampled_from("ab AB.-_~\n\t\\:*?[]!#'\"$%é\u200cß漢\U0001f600\udcff0")
NAMES = st.text(_SIGNS, min_size=1, max_size=5).filter(
    lambda name: name not in (".", "..") and not is_git_folder(name) and not is_module_file(name)
)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
CONTENTS = st.binary(max_size=40) | st.sampled_from([b"1\n2\n3\n", b"1\r\n2\r\n", b"\xef\xbb\xbf$Id$\n"])
FILES = st.builds(File, CONTENTS, st.booleans())
# Targets without dots cannot escape; test_links covers those that can.
LINKS = st.builds(Link, st.lists(st.sampled_from(["a", "b", "x y"]), min_size=1, max_size=3).map("/".join))
TREES = st.dictionaries(PATHS, FILES | FILES | LINKS, max_size=12)


def fitting(nodes: Mapping[str, Node]) -> dict[str, Node]:
    """Drop paths that need a folder where another path is a file."""
    kept: dict[str, Node] = {}
    for path, node in sorted(nodes.items()):
        names = path.split("/")
        if not any("/".join(names[:at]) in kept for at in range(1, len(names))):
            kept[path] = node
    return kept


def welcome(before: Mapping[str, Node], fresh: Mapping[str, Node]) -> dict[str, Node]:
    """Keep only new paths that an agent may add: no forbidden name, no first link, no name that differs only in case."""
    has_links = any(isinstance(node, Link) for node in before.values())
    places = {"/".join(names[:at]) for names in _split(before) for at in range(1, len(names) + 1)}
    kept: dict[str, Node] = {}
    for path, node in fresh.items():
        names = path.split("/")
        own = ["/".join(names[:at]) for at in range(1, len(names) + 1)]
        others = {_fold(place) for place in places if place not in own}
        if any(map(name_fault, names)) or (isinstance(node, Link) and not has_links):
            continue
        if not any(_fold(place) in others and place not in places for place in own):
            kept[path] = node
            places.update(own)
    return kept


def _split(nodes: Mapping[str, Node]) -> list[list[str]]:
    return [path.split("/") for path in nodes]


def _fold(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return f"{folder}/{fold_name(name)}"


def make(folder: Path, nodes: Mapping[str, Node]) -> None:
    for path, node in nodes.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(node, Link):
            place.symlink_to(node.target)
        else:
            place.write_bytes(node.content)
            place.chmod(0o755 if node.program else 0o644)


def become(folder: Path, old: Mapping[str, Node], new: Mapping[str, Node]) -> None:
    """Edit the folder like a person: change only what differs."""
    for path in old.keys() - new.keys() | {
        path for path in old.keys() & new.keys() if old[path] != new[path]
    }:
        (folder / path).unlink()
    for inner in sorted(
        (path for path in folder.rglob("*") if path.is_dir() and not path.is_symlink()), reverse=True
    ):
        if not any(inner.iterdir()):
            inner.rmdir()
    make(folder, {path: node for path, node in new.items() if old.get(path) != node})


def by_git(nodes: Mapping[str, Node], scratch: Path) -> str:
    trusted = Path(tempfile.mkdtemp(dir=scratch))
    make(trusted, nodes)
    return tree_by_git(trusted, trusted.with_suffix(".git"))


@settings(max_examples=int(os.environ.get("PODIUM_TREES", "20")))
@given(TREES.map(fitting), TREES.map(fitting), st.data())
def test_a_capture_is_the_tree_that_git_makes_of_the_same_files(
    before: dict[str, Node], fresh: dict[str, Node], data: st.DataObject
) -> None:
    """R175, C13, X4: a verdict is about a tree, so the tree must be exactly the files."""
    kept = data.draw(st.sets(st.sampled_from(sorted(before)))) if before else set()
    after = fitting({path: before[path] for path in kept} | welcome(before, fresh))
    scratch = Path(tempfile.mkdtemp())
    try:
        project = new_project(scratch / "p")
        first = _import(project, before)
        assert first == by_git(before, scratch)
        folder, snapshot = project.checkout("work", first)
        assert project.taken(folder, snapshot) == first
        become(folder, before, after)

        tree = project.taken(folder, snapshot)

        assert tree == by_git(after, scratch)
        moved = update(project.repository, snapshot, folder, first)
        assert project.taken(folder, moved) == first
        again = update(project.repository, moved, folder, tree)
        assert project.taken(folder, again) == tree
        for each in (first, tree):
            assert in_order(read_listing(trees(project.repository), each)) == in_order(
                _read_whole(trees(project.repository), each)
            )
        git(project.root, "fsck", "--full", "--strict", "--no-dangling")
    finally:
        shutil.rmtree(scratch)


def in_order(listing: Listing) -> list[tuple[str, list[tuple[str, Entry]]]]:
    return [(folder, list(entries.items())) for folder, entries in listing.items()]


def _import(project: Project, nodes: Mapping[str, Node]) -> Tree:
    """Write the start tree with plain git, with any names that git allows."""
    make(project.root, nodes)
    git(project.root, "add", "-A", "-f", ".")
    return Tree(git(project.root, "write-tree"))


def test_the_strategy_draws_unusual_names() -> None:
    """Without unusual names the property above would show little."""
    assert fitting({"a": File(b""), "a/b": File(b""), "c": Link("a")}) == {"a": File(b""), "c": Link("a")}
    assert os.fsencode("\udcff") == b"\xff"
