"""What a walk of a folder comes upon, and how much it may come upon."""

from __future__ import annotations

import os
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Bounds:
    """More than this is refused, not cut: half a tree is not what the agent made."""

    files: int = 200_000
    """Files and folders beside those that the tree had already."""
    file_bytes: int = 100 << 20
    new_bytes: int = 1 << 30
    """All new or changed files together."""
    depth: int = 100
    path_bytes: int = 3_000
    faults: int = 50
    """After so many the walk ends; the list is for a reader."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A path that may not be captured, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A file whose content must be looked at."""

    name: str
    status: os.stat_result


@dataclass(slots=True)
class Found:
    """Filled while the walk goes."""

    gone: dict[str, set[str]] = field(default_factory=dict)
    """Folder to the names of the snapshot that are no longer there, or no longer of their kind."""
    readings: dict[str, list[Reading]] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    """New or changed links and where they lead."""
    left_out: list[str] = field(default_factory=list)
    """Ignored names, and what stands in the place of submodules; folders end with a slash."""
    faults: list[Fault] = field(default_factory=list)
    entries: int = 0
    new_bytes: int = 0
