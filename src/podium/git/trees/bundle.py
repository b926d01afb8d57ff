"""Writes trees into a git bundle, each as a commit without parents under a ref named after the tree."""

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
_SIGNATURE: Final = "Podium <podium@localhost> 0 +0000"
_SHA256_DIGITS: Final = 64


def complete_trees(repository: Repository, names: Iterable[Tree]) -> tuple[Tree, ...]:
    """The trees that the repository has completely."""
    return tuple(name for name in names if _is_complete(trees(repository), name))


def write_bundle(repository: Repository, names: Iterable[Tree], target: Path) -> None:
    with _scratch(repository.objects.hash) as git:
        (git.git_dir / "objects/info").mkdir()
        (git.git_dir / "objects/info/alternates").write_text(f"{repository.objects.folder}\n", "utf-8")
        for name in names:
            commit = f"tree {name}\nauthor {_SIGNATURE}\ncommitter {_SIGNATURE}\n\nTree {name}\n".encode()
            commit_id = text(git, "hash-object", "-t", "commit", "-w", "--stdin", stdin=commit)
            run(git, "update-ref", f"{NAMES}/{name}", commit_id)
        run(git, "bundle", "create", "--quiet", str(target.absolute()), "--all")


def missing_trees(bundle: Path, names: Iterable[Tree]) -> tuple[Tree, ...]:
    """The trees that a bundle does not contain completely; git computes every id from the content, so none can be forged."""
    required = tuple(names)
    hash_name: HashName = "sha256" if any(len(name) == _SHA256_DIGITS for name in required) else "sha1"
    with _scratch(hash_name) as git:
        try:
            run(git, "bundle", "unbundle", str(bundle.absolute()))
        except GitError:
            return required
        return tuple(name for name in required if not _is_complete(git, name))


def _is_complete(git: Git, tree: Tree) -> bool:
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
