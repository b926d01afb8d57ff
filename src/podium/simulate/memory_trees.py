"""Trees of files in memory, which a scripted world uses in place of git."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping

from podium.core.globs import glob_matches
from podium.core.types import Tree


class MemoryTrees:
    """Keeps every tree by the hash of its content."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._trees: dict[Tree, Mapping[str, str]] = {}
        self.base = self._add(files)

    def _add(self, files: Mapping[str, str]) -> Tree:
        text = json.dumps(sorted(files.items()))
        tree = Tree(hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:12])
        self._trees[tree] = dict(files)
        return tree

    def files(self, tree: Tree | None) -> Mapping[str, str]:
        return self._trees.get(self.base if tree is None else tree, {})

    def change(self, tree: Tree | None, write: Mapping[str, str], delete: Iterable[str]) -> Tree:
        deleted = set(delete)
        remaining = {path: text for path, text in self.files(tree).items() if path not in deleted}
        return self._add({**remaining, **write})

    def changed(self, base: Tree | None, tree: Tree | None) -> list[str]:
        before, after = self.files(base), self.files(tree)
        return sorted(p for p in {*before, *after} if before.get(p) != after.get(p))

    def exists(self, tree: Tree | None, path: str) -> bool:
        target = path.rstrip("/")
        return any(p == target or p.startswith(target + "/") for p in self.files(tree))

    def glob(self, tree: Tree | None, pattern: str) -> list[str]:
        return sorted(path for path in self.files(tree) if glob_matches(pattern, path))

    def merge(self, fork: Tree | None, onto: Tree, tree: Tree) -> Tree | list[str]:
        """A three-way merge by file: the merged tree, or the paths that both sides changed differently."""
        base, ours, theirs = self.files(fork), self.files(onto), self.files(tree)
        merged, conflicts = dict(ours), []
        for path in self.changed(fork, tree):
            if ours.get(path) != base.get(path) and ours.get(path) != theirs.get(path):
                conflicts.append(path)
            elif path in theirs:
                merged[path] = theirs[path]
            else:
                merged.pop(path, None)
        return conflicts or self._add(merged)
