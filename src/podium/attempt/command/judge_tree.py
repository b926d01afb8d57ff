"""Trees that judges see: protected files as they were before the work, and no instructions for a reviewer.

The verdict is still about the captured tree. An agent that could change a gate's tests or settings would change what
the gate proves; a reviewer that finds agent instructions in the tree would follow those of the author under review.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from podium.core.globs import protects
from podium.core.types import Tree
from podium.git.repository import Repository, trees
from podium.git.trees.diff import changed_paths
from podium.git.trees.listing import FOLDER, Entry, ListingDraft, build, files, read_listing

STEERING: Final = frozenset({
    ".claude", ".codex", ".gemini", ".cursor", ".mcp.json",
    "claude.md", "claude.local.md", "agents.md", "agents.override.md", "gemini.md",
})  # fmt: skip
"""File names, in any case and any folder, that agents read as settings or instructions; also names that start with `.env`."""


def restore_files(repository: Repository, tree: Tree, before: Tree | None, globs: Iterable[str]) -> Tree:
    """The tree with all matching files as they were before; matching files that are new are removed."""
    patterns = tuple(globs)
    if before is None or before == tree or not patterns:
        return tree
    changed = changed_paths(repository, before, tree)
    paths = [path for path in changed if any(protects(pattern, path) for pattern in patterns)]
    return with_paths(repository, tree, before, paths)


def with_paths(repository: Repository, tree: Tree, other: Tree, paths: Iterable[str]) -> Tree:
    """The tree with these paths as another tree has them."""
    selected = tuple(paths)
    if not selected:
        return tree
    listing = read_listing(trees(repository), other)
    return _edited(repository, tree, {path: _entry(listing, path) for path in selected})


def strip_agent_instructions(repository: Repository, tree: Tree) -> Tree:
    """The tree without files that an agent would read as its own settings or instructions."""
    listing = read_listing(trees(repository), tree)
    gone = {
        path: None for path, _ in files(listing) if any(is_steering_name(name) for name in path.split("/"))
    }
    return _edited(repository, tree, gone) if gone else tree


def is_steering_name(name: str) -> bool:
    return name.casefold() in STEERING or name.casefold().startswith(".env")


def _entry(listing: Mapping[str, Mapping[str, Entry]], path: str) -> Entry | None:
    folder, _, name = path.rpartition("/")
    entry = listing.get(folder, {}).get(name)
    return None if entry is None or entry.mode == FOLDER else entry


def _edited(repository: Repository, tree: Tree, entries: Mapping[str, Entry | None]) -> Tree:
    listing = ListingDraft(read_listing(trees(repository), tree))
    for path, entry in entries.items():
        folder, _, name = path.rpartition("/")
        if entry is not None:
            _make_room(listing, path)
            listing.of(folder)[name] = entry
        elif (current := listing.of(folder).get(name)) is not None and current.mode != FOLDER:
            del listing.of(folder)[name]
    # A folder that was replaced by a file is removed with its content.
    put = [path for path, entry in entries.items() if entry is not None]
    gone = {
        folder for folder in listing.changed() if any(f"{folder}/".startswith(f"{path}/") for path in put)
    }
    return build(repository.objects, listing, listing.changed() - gone)


def _make_room(listing: ListingDraft, path: str) -> None:
    """Remove files and links where the path needs a folder."""
    folder = ""
    for part in path.split("/")[:-1]:
        current = listing.of(folder).get(part)
        if current is not None and current.mode != FOLDER:
            del listing.of(folder)[part]
        folder = f"{folder}/{part}" if folder else part
