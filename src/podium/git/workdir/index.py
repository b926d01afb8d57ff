"""Writes the index of a checkout from the stats that were recorded when its files were written.

Git would have to read every file again to learn that the checkout is unchanged. The format is git's own, version 2
(gitformat-index); a stat that does not fit only makes git read that file.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Final

from podium.fast_dataclass import dataclass
from podium.git.trees.listing import FOLDER, Entry, Folder
from podium.git.trees.objects import HashName
from podium.git.trees.snapshot import Snapshot, Stat

_HEAD: Final = struct.Struct(">4sLL")
_STATS: Final = struct.Struct(">10L")
_LONGEST_NAME: Final = 0xFFF
_LOW: Final = 0xFFFFFFFF
_SECOND: Final = 1_000_000_000
_UNKNOWN: Final[Stat] = (0, 0, 0, 0, 0)


@dataclass(slots=True)
class IndexLines:
    """The lines of an index by folder, kept from one checkout in a folder to the next."""

    folders: dict[str, tuple[Folder, Mapping[str, Stat], list[tuple[bytes, bytes]]]] = field(
        default_factory=dict
    )

    def of(
        self, root: os.stat_result, path: str, entries: Folder, stats: Mapping[str, Stat]
    ) -> list[tuple[bytes, bytes]]:
        """Path and line of each file of a folder."""
        cached = self.folders.get(path)
        if cached is None or cached[0] is not entries or cached[1] != stats:
            prefix = os.fsencode(path) + b"/" if path else b""
            lines = [
                _line(root, prefix + os.fsencode(name), entry, stats.get(name, _UNKNOWN))
                for name, entry in entries.items()
                if entry.mode != FOLDER
            ]
            cached = self.folders[path] = (entries, stats, lines)
        return cached[2]


def write_index(
    target: Path, root: Path, snapshot: Snapshot, hash_name: HashName, cache: IndexLines | None = None
) -> None:
    """Create the index file, which must not exist."""
    cache = cache or IndexLines()
    status = root.stat()
    lines: list[tuple[bytes, bytes]] = []
    for path, entries in snapshot.listing.items():
        lines += cache.of(status, path, entries, snapshot.stats.get(path, {}))
    lines.sort()
    content = b"".join((_HEAD.pack(b"DIRC", 2, len(lines)), *(line for _, line in lines)))
    digest = hashlib.new(hash_name, content, usedforsecurity=False).digest()
    target.write_bytes(content + digest)


def _line(root: os.stat_result, path: bytes, entry: Entry, recorded: Stat) -> tuple[bytes, bytes]:
    _, size, inode, mtime, ctime = recorded
    stats = _STATS.pack(
        ctime // _SECOND,
        ctime % _SECOND,
        mtime // _SECOND,
        mtime % _SECOND,
        root.st_dev & _LOW,
        inode & _LOW,
        int(entry.mode, 8),
        root.st_uid,
        root.st_gid,
        size & _LOW,
    )
    flags = min(len(path), _LONGEST_NAME).to_bytes(2, "big")
    line = stats + bytes.fromhex(entry.name) + flags + path
    # At least one zero byte ends the path, and every line has a multiple of eight bytes.
    return path, line + bytes(8 - len(line) % 8)
