"""Limits a whole tree of processes with control groups, if this process may create them.

A delegated group of the unified hierarchy (v2) is preferred, then the old hierarchies (v1). If neither is available,
only limits per process apply (limits.py), and callers can see that.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

PERIOD_US: Final = 100_000
REMOVAL_S: Final = 1.0
SELF: Final = Path("/proc/self/cgroup")
MOUNTS: Final = Path("/proc/self/mountinfo")


@dataclass(frozen=True, slots=True)
class Parents:
    """The groups below which groups with memory and CPU limits can be created; None if there is none."""

    version: int = 0
    memory: Path | None = None
    cpu: Path | None = None


@contextmanager
def group(*, memory_bytes: int | None, cpus: float | None, parents: Parents) -> Iterator[tuple[Path, ...]]:
    """Create groups with these limits, as far as possible; they limit every process that joins them."""
    name = f"podium-{secrets.token_hex(6)}"
    groups: list[Path] = []
    try:
        if memory_bytes is not None and parents.memory is not None:
            groups.append(_make(parents.memory / name, _memory(memory_bytes, parents.version)))
        if cpus is not None and parents.cpu is not None:
            groups.append(_make(parents.cpu / name, _cpu(cpus, parents.version)))
        yield tuple(dict.fromkeys(groups))
    finally:
        for folder in dict.fromkeys(groups):
            _remove(folder)


@cache
def find(own: Path = SELF, mounts: Path = MOUNTS) -> Parents:
    """The parent groups that this process may use, tested by creating a group."""
    own_groups, mount_points = _groups(own), _mount_points(mounts)
    unified = _unified(own_groups, mount_points)
    if unified is not None:
        return Parents(2, unified, unified)
    old = {name: _old_hierarchy(name, own_groups, mount_points) for name in ("memory", "cpu")}
    return Parents(1, old["memory"], old["cpu"]) if any(old.values()) else Parents()


def _make(folder: Path, bounds: dict[str, str]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, value in bounds.items():
        (folder / name).write_text(value)
    return folder


def _memory(size: int, version: int) -> dict[str, str]:
    return {"memory.max": str(size)} if version == 2 else {"memory.limit_in_bytes": str(size)}


def _cpu(cpus: float, version: int) -> dict[str, str]:
    quota = max(1000, round(cpus * PERIOD_US))
    if version == 2:
        return {"cpu.max": f"{quota} {PERIOD_US}"}
    return {"cpu.cfs_period_us": str(PERIOD_US), "cpu.cfs_quota_us": str(quota)}


def _remove(folder: Path) -> None:
    """Remove an empty group; the kernel may need a moment after its last process has ended."""
    deadline = time.monotonic() + REMOVAL_S
    while time.monotonic() < deadline:
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.002)
        else:
            return


def _groups(own: Path) -> dict[str, str]:
    """The group of this process by controller; "" is the unified hierarchy."""
    groups = {}
    with suppress(OSError):
        for line in own.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            groups.update(dict.fromkeys(controllers.split(","), path))
    return groups


def _mount_points(mounts: Path) -> dict[str, Path]:
    """The mount point of each controller's hierarchy."""
    mount_points: dict[str, Path] = {}
    with suppress(OSError):
        for line in mounts.read_text().splitlines():
            before, _, after = line.partition(" - ")
            kind, _, options = after.split(" ", 2)
            if kind == "cgroup2":
                mount_points[""] = Path(before.split(" ")[4])
            elif kind == "cgroup":
                mount_points.update(dict.fromkeys(options.split(","), Path(before.split(" ")[4])))
    return mount_points


def _unified(groups: dict[str, str], mount_points: dict[str, Path]) -> Path | None:
    """The parent of our own group, because a group that contains processes cannot have limited children."""
    if "" not in groups or "" not in mount_points:
        return None
    own = _group_folder(mount_points[""], groups[""])
    parent = own if own == mount_points[""] else own.parent
    try:
        delegated = (parent / "cgroup.subtree_control").read_text().split()
    except OSError:
        return None
    return parent if {"memory", "cpu"} <= set(delegated) and _can_create_in(parent) else None


def _old_hierarchy(name: str, groups: dict[str, str], mount_points: dict[str, Path]) -> Path | None:
    if name not in groups or name not in mount_points:
        return None
    own = _group_folder(mount_points[name], groups[name])
    return own if _can_create_in(own) else None


def _group_folder(mount: Path, path: str) -> Path:
    """The group's folder; in a container the path may be the host's, and then the mount is already our group."""
    folder = mount / path.lstrip("/")
    return folder if folder.is_dir() else mount


def _can_create_in(parent: Path) -> bool:
    trial = parent / f"podium-{secrets.token_hex(6)}"
    try:
        trial.mkdir()
        is_writable = os.access(trial / "cgroup.procs", os.W_OK) and os.access(
            parent / "cgroup.procs", os.W_OK
        )
        trial.rmdir()
    except OSError:
        return False
    return is_writable
