"""Reads the files that an attempt starts from without a workspace: from a tree, or from the project folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Final

from podium.attempt.host import Host
from podium.core.globs import glob_matches
from podium.core.types import Tree
from podium.fast_dataclass import dataclass
from podium.files.project_paths import STATE_DIR
from podium.git.repository import Repository, trees
from podium.git.trees.listing import FILE, PROGRAM, files, read_listing
from podium.git.trees.snapshot import read_blobs

OWN: Final = frozenset({".git", STATE_DIR})
MAX_FILE_BYTES: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class TreeFiles:
    """`blobs` maps the path of each regular file to its blob, or to "" outside of git."""

    blobs: Mapping[str, str]
    repository: Repository | None
    folder: Path
    folders: frozenset[str] = field(default_factory=frozenset)

    def matching(self, globs: Iterable[str]) -> tuple[str, ...]:
        """Matching paths without duplicates, in the order of the globs, then sorted."""
        matches = (path for glob in globs for path in sorted(self.blobs) if glob_matches(glob, path))
        return tuple(dict.fromkeys(matches))

    def exists(self, path: str) -> bool:
        plain = path.removeprefix("./").rstrip("/")
        return plain in self.blobs or plain in self.folders

    def read(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        selected = list(paths)
        if self.repository is None:
            yield from ((path, _content(self.folder / path)) for path in selected)
        else:
            names = [self.blobs[path] for path in selected]
            contents = read_blobs(trees(self.repository), names, most=MAX_FILE_BYTES)
            yield from zip(selected, contents, strict=True)

    def read_small(self, path: str, most: int) -> bytes | None:
        """The content of a file in the project folder; None for one with more bytes than `most`."""
        content = _content(self.folder / path)
        return content if len(content) <= most else None

    def fact(self, query: tuple[str, str]) -> Any:
        """The value of `exists` or `glob` in a prompt."""
        function, argument = query
        return self.exists(argument) if function == "exists" else self.matching((argument,))


def _content(path: Path) -> bytes:
    """Bounded, because a sparse file takes no room on the disk, but all of its size in memory."""
    with path.open("rb") as file:
        return file.read(MAX_FILE_BYTES)


def files_of(host: Host, tree: Tree | None) -> TreeFiles:
    if host.repository is None or tree is None:
        blobs = dict.fromkeys(_in_folder(host.project), "")
        return TreeFiles(blobs, None, host.project, _above(blobs))
    listing = read_listing(trees(host.repository), tree)
    blobs = {path: entry.name for path, entry in files(listing) if entry.mode in (FILE, PROGRAM)}
    return TreeFiles(blobs, host.repository, host.project, frozenset(listing))


def _in_folder(folder: Path) -> Iterator[str]:
    for top, names, plain in os.walk(folder):
        names[:] = sorted(name for name in names if name not in OWN)
        for name in sorted(plain):
            path = Path(top) / name
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(folder).as_posix()


def _above(paths: Iterable[str]) -> frozenset[str]:
    return frozenset(parent.as_posix() for path in paths for parent in Path(path).parents)
