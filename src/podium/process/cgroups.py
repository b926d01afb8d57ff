"""Bounds for a whole tree of processes, by the kernel's control groups where we may make some.

A group of the unified hierarchy (v2) that was delegated to us comes first, then one of the old hierarchies (v1); where
neither can be had, limits per process are all there is (limits.py), and whoever asks is told so.
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
    """Where groups can be made that bound memory and processors; None: nowhere."""

    version: int = 0
    memory: Path | None = None
    cpu: Path | None = None


@contextmanager
def group(*, memory_bytes: int | None, cpus: float | None, parents: Parents) -> Iterator[tuple[Path, ...]]:
    """Groups with these bounds, as far as they can be had; whoever enters them is bound. Removed when empty."""
    name = f"podium-{secrets.token_hex(6)}"
    made: list[Path] = []
    try:
        if memory_bytes is not None and parents.memory is not None:
            made.append(_make(parents.memory / name, _memory(memory_bytes, parents.version)))
        if cpus is not None and parents.cpu is not None:
            made.append(_make(parents.cpu / name, _cpu(cpus, parents.version)))
        yield tuple(dict.fromkeys(made))
    finally:
        for folder in dict.fromkeys(made):
            _remove(folder)


@cache
def find(own: Path = SELF, mounts: Path = MOUNTS) -> Parents:
    """What this process may use; found out by making a group."""
    groups, places = _groups(own), _places(mounts)
    unified = _unified(groups, places)
    if unified is not None:
        return Parents(2, unified, unified)
    old = {name: _old(name, groups, places) for name in ("memory", "cpu")}
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
    """The kernel may need a moment to forget the last process. What stays is empty and bounds nobody."""
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
    """By controller, the group we are in; the empty name is the unified hierarchy."""
    found = {}
    with suppress(OSError):
        for line in own.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            found.update(dict.fromkeys(controllers.split(","), path))
    return found


def _places(mounts: Path) -> dict[str, Path]:
    """By controller, where its hierarchy is mounted."""
    found: dict[str, Path] = {}
    with suppress(OSError):
        for line in mounts.read_text().splitlines():
            left, _, right = line.partition(" - ")
            kind, _, options = right.split(" ", 2)
            if kind == "cgroup2":
                found[""] = Path(left.split(" ")[4])
            elif kind == "cgroup":
                found.update(dict.fromkeys(options.split(","), Path(left.split(" ")[4])))
    return found


def _unified(groups: dict[str, str], places: dict[str, Path]) -> Path | None:
    """A group with processes cannot have bounded children, so ours stand beside us, below our parent."""
    if "" not in groups or "" not in places:
        return None
    here = _below(places[""], groups[""])
    parent = here if here == places[""] else here.parent
    try:
        passed_on = (parent / "cgroup.subtree_control").read_text().split()
    except OSError:
        return None
    return parent if {"memory", "cpu"} <= set(passed_on) and _is_ours(parent) else None


def _old(name: str, groups: dict[str, str], places: dict[str, Path]) -> Path | None:
    if name not in groups or name not in places:
        return None
    here = _below(places[name], groups[name])
    return here if _is_ours(here) else None


def _below(mount: Path, path: str) -> Path:
    """In a container the path may be that of the host, and the mount is already our own group."""
    here = mount / path.lstrip("/")
    return here if here.is_dir() else mount


def _is_ours(parent: Path) -> bool:
    trial = parent / f"podium-{secrets.token_hex(6)}"
    try:
        trial.mkdir()
        there = os.access(trial / "cgroup.procs", os.W_OK) and os.access(parent / "cgroup.procs", os.W_OK)
        trial.rmdir()
    except OSError:
        return False
    return there
