"""Where the paths inside a sandbox are on the host, and who may have written what is there.

Rule: what an agent wrote never decides what the host mounts. Links and first lines of scripts are followed only in the
host's own folders and in lent toolchains; everything else is looked up inside the sandbox, by the kernel.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Final, Literal, TypeAlias

from podium.ports.sandbox import Mount, Origin

Look: TypeAlias = Literal["program", "not executable", "missing", "unclear"]


@lru_cache(maxsize=64)
def layout_of(mounts: tuple[Mount, ...]) -> Layout:
    """The layout of these mounts; the launches of one step after another usually have the same."""
    return Layout(mounts)


class Layout:
    """The mounts of a launch. Paths are strings, because this runs for every launch.

    Answers that depend on the mounts alone are remembered; what is on the disk is looked up each time.
    """

    def __init__(self, mounts: Iterable[Mount]) -> None:
        self.on_host: Final = cache(self._on_host)
        """The path on the host of a path in the sandbox, by the deepest mount that contains it."""
        self.covers: Final = cache(self._covers)
        """Whether a mount decides what is at a path in the sandbox."""
        self.origin: Final = cache(self._origin)
        """Who may have written what is at a path in the sandbox."""
        listed = [(str(mount.target), str(mount.source), mount.origin) for mount in mounts]
        self._by_target: Final = _deepest_first(listed)
        self._by_source: Final = _deepest_first((source, target, origin) for target, source, origin in listed)

    def _on_host(self, path: str) -> str:
        for target, source, _ in self._by_target:
            if is_below(path, target):
                return f"{source}/{path[len(target) :].lstrip('/')}" if path != target else source
        return path

    def _covers(self, path: str) -> bool:
        return any(is_below(path, target) for target, _, _ in self._by_target)

    def _origin(self, path: str) -> Origin:
        return _origin(self._by_target, path)

    def origin_on_host(self, path: str) -> Origin:
        """Who may have written what is at this path on the host, which the sandbox may show elsewhere or replace."""
        origins = {_origin(self._by_source, path), _origin(self._by_target, path)}
        return "agent" if "agent" in origins else "lent" if "lent" in origins else "host"

    def look(self, path: str) -> Look:
        """What is at a path that an agent may have written to, without following a link out of its mount."""
        target, source, _ = next(entry for entry in self._by_target if is_below(path, entry[0]))
        place, mode = source, stat.S_IFDIR
        for name in (part for part in path[len(target) :].split("/") if part):
            place = f"{place}/{name}"
            try:
                mode = os.lstat(place).st_mode
            except (FileNotFoundError, NotADirectoryError):
                return "missing"
            except OSError:
                return "unclear"
            if stat.S_ISLNK(mode):
                return "unclear"
        if not stat.S_ISREG(mode):
            return "missing"
        return "program" if os.access(place, os.X_OK) else "not executable"


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder or something in it; both are absolute and without `..`."""
    return path == folder or path.startswith(folder if folder.endswith("/") else f"{folder}/")


_Entries: TypeAlias = tuple[tuple[str, str, Origin], ...]


def _deepest_first(entries: Iterable[tuple[str, str, Origin]]) -> _Entries:
    return tuple(sorted(entries, key=lambda entry: -entry[0].count("/")))


def _origin(entries: _Entries, path: str) -> Origin:
    return next((origin for folder, _, origin in entries if is_below(path, folder)), "host")
