"""Trees in one file that git alone can read: every one as a commit without parents, under a name that says which it is."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from podium.core.types import Tree
from podium.git.command import Git, GitError, run, text
from podium.git.repository import Repository, make_store, trees
from podium.git.trees.objects import HashName

NAMES: Final = "refs/podium/trees"
_NOBODY: Final = "Podium <podium@localhost> 0 +0000"
_SHA256_DIGITS: Final = 64


def known_trees(repository: Repository, names: Iterable[Tree]) -> tuple[Tree, ...]:
    """Those that the repository has whole."""
    return tuple(name for name in names if _is_whole(trees(repository), name))


def write_bundle(repository: Repository, names: Iterable[Tree], target: Path) -> None:
    with _scratch(repository.objects.hash) as git:
        (git.git_dir / "objects/info").mkdir()
        (git.git_dir / "objects/info/alternates").write_text(f"{repository.objects.folder}\n", "utf-8")
        for name in names:
            commit = f"tree {name}\nauthor {_NOBODY}\ncommitter {_NOBODY}\n\nTree {name}\n".encode()
            made = text(git, "hash-object", "-t", "commit", "-w", "--stdin", stdin=commit)
            run(git, "update-ref", f"{NAMES}/{name}", made)
        run(git, "bundle", "create", "--quiet", str(target.absolute()), "--all")


def lacking_trees(bundle: Path, names: Iterable[Tree]) -> tuple[Tree, ...]:
    """Those that are not whole in a bundle. Git works every name out from what it names, so none can be forged."""
    wanted = tuple(names)
    hash_name: HashName = "sha256" if any(len(name) == _SHA256_DIGITS for name in wanted) else "sha1"
    with _scratch(hash_name) as git:
        try:
            run(git, "bundle", "unbundle", str(bundle.absolute()))
        except GitError:
            return wanted
        return tuple(name for name in wanted if not _is_whole(git, name))


def _is_whole(git: Git, tree: Tree) -> bool:
    kind = run(git, "cat-file", "-t", tree, codes=(0, 128))
    if kind.code or kind.out.strip() != b"tree":
        return False
    return run(git, "rev-list", "--objects", "--quiet", tree, codes=(0, 128)).code == 0


@contextmanager
def _scratch(hash_name: HashName) -> Iterator[Git]:
    with tempfile.TemporaryDirectory(prefix="podium-") as folder:
        store = Path(folder) / "git"
        make_store(store, hash_name)
        yield Git(store)
