"""Whole-file writes: a reader sees the old content or the new one, never a part.

The content goes into a temporary file in the same folder, which then replaces the target by a rename. With `fsync` the
content and the rename are on the disk before the call returns (R149).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

TEMPORARY: Final = ".tmp"


def write(path: Path, data: bytes, *, fsync: bool = True, mode: int = 0o600) -> None:
    """Replace a file or create it, with exactly this mode; its folder must exist."""
    temporary = path.with_name(path.name + TEMPORARY)
    # Remove a leftover of a crashed process; O_EXCL then refuses a link that was planted in its place.
    temporary.unlink(missing_ok=True)
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with os.fdopen(handle, "wb") as file:
        os.fchmod(handle, mode)
        file.write(data)
        if fsync:
            file.flush()
            os.fsync(handle)
    temporary.replace(path)
    if fsync:
        _sync_folder(path.parent)


def discard_leftovers(folder: Path, names: Iterable[str]) -> None:
    """Remove the temporary files that a crash left next to these."""
    for name in names:
        (folder / f"{name}{TEMPORARY}").unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
