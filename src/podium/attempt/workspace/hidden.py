"""Files that a worker may not see: missing from its workspace, unchanged in what is captured.

Rule: the clone of such a worker has one commit without parents, of the tree without these files, and no other objects.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from podium.core.globs import glob_matches
from podium.core.types import Tree
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass
from podium.git.repository import Repository, tree_of, trees
from podium.git.trees.listing import files, read_listing

ISOLATED: Final = ("bubblewrap", "container")
"""The sandboxes in which a process cannot read the project itself."""


@dataclass(frozen=True, slots=True)
class HiddenFiles:
    globs: tuple[str, ...]
    """What `workspace.hide` names, without words."""
    paths: frozenset[str]
    """The files that exist, by globs and by words."""

    def covers(self, path: str) -> bool:
        """Whether a file at this path would be in the place of a hidden one, or of a folder of one."""
        return (
            path in self.paths
            or any(glob_matches(glob, path) for glob in self.globs)
            or any(hidden.startswith(f"{path}/") or path.startswith(f"{hidden}/") for hidden in self.paths)
        )


@dataclass(frozen=True, slots=True)
class HiddenStart:
    """What was hidden, and the whole tree that the attempt starts from."""

    files: HiddenFiles
    tree: Tree


def check_isolation(level: str, *, has_tree: bool) -> None:
    """Raises ConfigurationError where the processes of the agent could read the project beside the workspace."""
    if not has_tree:
        raise ConfigurationError(
            "workspace.hide needs a git repository: outside of git the agent works in the project itself",
            hint="run git init and commit, or remove workspace.hide",
        )
    if level not in ISOLATED:
        raise ConfigurationError(
            f"workspace.hide needs sandbox bubblewrap or container; at {level} the agent can read the project itself",
            hint="run it with --sandbox bubblewrap, or remove workspace.hide",
        )


def tree_without(repository: Repository, tree: Tree, hidden: HiddenFiles) -> Tree:
    """The tree without the hidden files."""
    # Imported here and below: few steps hide files.
    from podium.attempt.command.judge_tree import with_paths

    return with_paths(repository, tree, tree_of(repository, None), sorted(hidden.paths))


def put_back(repository: Repository, captured: Tree, start: HiddenStart) -> tuple[Tree, tuple[str, ...]]:
    """The captured tree with the hidden files as they were, and the files that were created in their place."""
    from podium.attempt.command.judge_tree import with_paths

    listing = read_listing(trees(repository), captured)
    created = tuple(path for path, _ in files(listing) if start.files.covers(path))
    whole = with_paths(repository, captured, tree_of(repository, None), created)
    return with_paths(repository, whole, start.tree, sorted(start.files.paths)), created


def hidden_by(globs: Iterable[str], paths: Iterable[str], internals: Iterable[str]) -> HiddenFiles:
    patterns = tuple(globs)
    by_globs = (path for path in paths if any(glob_matches(glob, path) for glob in patterns))
    return HiddenFiles(patterns, frozenset((*by_globs, *internals)))
