"""One owner per run on this machine: a lock that the kernel releases however its holder dies.

The epoch of the store fences an owner that was wrongly thought dead; the lock keeps a second one from starting.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from podium.ports.runtime import AlreadyOwned

LOCK: Final = "lock"


@contextmanager
def lease(run_dir: Path) -> Iterator[None]:
    """Own the run while inside. Raises AlreadyOwned, which names the owner."""
    run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(run_dir / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        while not _has_locked(handle, fcntl.LOCK_EX):
            # Another process may only have asked whether the run is owned, which takes the lock for a moment.
            if is_owned(run_dir):
                raise _owned(run_dir)
        content = json.dumps({"pid": os.getpid(), "host": os.uname().nodename}).encode()
        os.ftruncate(handle, 0)
        os.pwrite(handle, content, 0)
        yield
    finally:
        os.close(handle)


def is_owned(run_dir: Path) -> bool:
    """Whether a living process owns the run."""
    try:
        handle = os.open(run_dir / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _has_locked(handle, fcntl.LOCK_SH)
    finally:
        os.close(handle)


def _has_locked(handle: int, kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _owned(run_dir: Path) -> AlreadyOwned:
    try:
        owner = json.loads((run_dir / LOCK).read_text("utf-8"))
        name = f"process {owner['pid']} on {owner['host']}"
    except (ValueError, KeyError, OSError):
        # Taken a moment ago: its holder has not written its name yet.
        name = "another process"
    return AlreadyOwned(
        f"run {run_dir.name} is driven by {name}",
        hint=f"follow it with: podium logs {run_dir.name} -f",
    )
