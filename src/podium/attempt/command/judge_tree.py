"""Trees as a judge gets to see them: protected files from before the work, and nothing that steers a reviewer.

What is judged stays the captured tree. A worker that may change a gate's tests or settings changes what is proven; a
reviewer that finds its own instructions in the tree it judges follows those of whoever wrote it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from podium.core.globs import glob_matches
from podium.core.types import Tree
from podium.git.repository import Repository, trees
from podium.git.trees.diff import changed_paths
from podium.git.trees.listing import FOLDER, Entry, ListingDraft, build, files, read_listing

STEERING: Final = frozenset({
    ".claude", ".codex", ".gemini", ".cursor", ".mcp.json",
    "claude.md", "claude.local.md", "agents.md", "agents.override.md", "gemini.md",
})  # fmt: skip
"""Names, in any case, of what agents read as settings or instructions wherever it lies; also all that begins as `.env`."""


def restore_files(repository: Repository, tree: Tree, before: Tree | None, globs: Iterable[str]) -> Tree:
    """The tree with everything that matches as it was before: also gone again, if it was not there."""
    patterns = tuple(globs)
    if before is None or before == tree or not patterns:
        return tree
    changed = changed_paths(repository, before, tree)
    paths = [path for path in changed if any(glob_matches(pattern, path) for pattern in patterns)]
    return with_paths(repository, tree, before, paths)


def with_paths(repository: Repository, tree: Tree, other: Tree, paths: Iterable[str]) -> Tree:
    """The tree with these paths as another tree has them."""
    wanted = tuple(paths)
    if not wanted:
        return tree
    there = read_listing(trees(repository), other)
    return _edited(repository, tree, {path: _entry(there, path) for path in wanted})


def strip_agent_instructions(repository: Repository, tree: Tree) -> Tree:
    """The tree without what an agent would take for its own settings or instructions."""
    listing = read_listing(trees(repository), tree)
    gone = {path: None for path, _ in files(listing) if any(_steers(name) for name in path.split("/"))}
    return _edited(repository, tree, gone) if gone else tree


def _steers(name: str) -> bool:
    return name.casefold() in STEERING or name.casefold().startswith(".env")


def _entry(listing: Mapping[str, Mapping[str, Entry]], path: str) -> Entry | None:
    folder, _, name = path.rpartition("/")
    found = listing.get(folder, {}).get(name)
    return None if found is None or found.mode == FOLDER else found


def _edited(repository: Repository, tree: Tree, entries: Mapping[str, Entry | None]) -> Tree:
    listing = ListingDraft(read_listing(trees(repository), tree))
    for path, entry in entries.items():
        folder, _, name = path.rpartition("/")
        if entry is not None:
            _make_room(listing, path)
            listing.of(folder)[name] = entry
        elif (there := listing.of(folder).get(name)) is not None and there.mode != FOLDER:
            del listing.of(folder)[name]
    # Folders in the place of what is a file again are gone with all that was in them.
    put = [path for path, entry in entries.items() if entry is not None]
    gone = {
        folder for folder in listing.changed() if any(f"{folder}/".startswith(f"{path}/") for path in put)
    }
    return build(repository.objects, listing, listing.changed() - gone)


def _make_room(listing: ListingDraft, path: str) -> None:
    """Folders down to the path, in whose place a file or a link may stand by now."""
    folder = ""
    for part in path.split("/")[:-1]:
        there = listing.of(folder).get(part)
        if there is not None and there.mode != FOLDER:
            del listing.of(folder)[part]
        folder = f"{folder}/{part}" if folder else part
