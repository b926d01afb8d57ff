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
from functools import cache
from pathlib import Path
from typing import Final

from podium.fast_dataclass import dataclass

PERIOD_US: Final = 100_000
REMOVAL_S: Final = 1.0
PIDS_MAX: Final = "pids.max"
CONTROLLERS: Final = ("memory", "cpu", "pids")
SELF: Final = Path("/proc/self/cgroup")
MOUNTS: Final = Path("/proc/self/mountinfo")


@dataclass(frozen=True, slots=True)
class Parents:
    """The groups below which groups with limits can be created, by what they limit; None if there is none."""

    version: int = 0
    memory: Path | None = None
    cpu: Path | None = None
    pids: Path | None = None


@dataclass(frozen=True, slots=True)
class Groups:
    folders: tuple[Path, ...] = ()
    pids: Path | None = None
    """The one among them that limits the number of processes."""


@contextmanager
def group(
    *, memory_bytes: int | None, cpus: float | None, processes: int | None, parents: Parents
) -> Iterator[Groups]:
    """Create groups with these limits, as far as possible; they limit every process that joins them."""
    name = f"podium-{secrets.token_hex(6)}"
    groups: list[Path] = []
    pids: Path | None = None
    try:
        if memory_bytes is not None and parents.memory is not None:
            groups.append(_make(parents.memory / name, _memory(memory_bytes, parents.version)))
        if cpus is not None and parents.cpu is not None:
            groups.append(_make(parents.cpu / name, _cpu(cpus, parents.version)))
        if processes is not None and parents.pids is not None:
            pids = _make(parents.pids / name, {PIDS_MAX: str(processes)})
            groups.append(pids)
        yield Groups(tuple(dict.fromkeys(groups)), pids)
    finally:
        for folder in dict.fromkeys(groups):
            _remove(folder)


def refused_processes(group: Path) -> bool:
    """Whether a group refused to start a process because it had too many."""
    try:
        handle = os.open(f"{group}/pids.events", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        events = os.read(handle, 256).split()
    finally:
        os.close(handle)
    return events[:1] == [b"max"] and events[1] != b"0"


def forbid_processes(group: Path) -> None:
    """Let no process of the group start another, so that all of them can be ended."""
    with suppress(OSError):
        (group / PIDS_MAX).write_text("0")


@cache
def find(own: Path = SELF, mounts: Path = MOUNTS) -> Parents:
    """The parent groups that this process may use, tested by creating a group."""
    own_groups, mount_points = _groups(own), _mount_points(mounts)
    unified = _unified(own_groups, mount_points)
    if unified:
        return Parents(2, **unified)
    old = {name: _old_hierarchy(name, own_groups, mount_points) for name in CONTROLLERS}
    return Parents(1, **old) if any(old.values()) else Parents()


def _make(folder: Path, bounds: dict[str, str]) -> Path:
    # The same folder where one hierarchy limits several things.
    with suppress(FileExistsError):
        os.mkdir(folder)  # noqa: PTH102 (called for every command)
    for name, value in bounds.items():
        handle = os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC)
        try:
            os.write(handle, value.encode())
        finally:
            os.close(handle)
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
            os.rmdir(folder)  # noqa: PTH106 (called for every command)
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


def _unified(groups: dict[str, str], mount_points: dict[str, Path]) -> dict[str, Path]:
    """The parent of our own group, because a group that contains processes cannot have limited children."""
    if "" not in groups or "" not in mount_points:
        return {}
    own = _group_folder(mount_points[""], groups[""])
    parent = own if own == mount_points[""] else own.parent
    try:
        delegated = (parent / "cgroup.subtree_control").read_text().split()
    except OSError:
        return {}
    usable = [name for name in CONTROLLERS if name in delegated]
    return dict.fromkeys(usable, parent) if usable and _can_create_in(parent) else {}


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
