"""Which changes a person has opened on this machine, so that an answer can say whether it was given blindly.

Each is an empty file in the user's state folder. It proves nothing: it makes approvals without a look visible.
"""

from __future__ import annotations

import hashlib
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from podium.app.user_projects import state_folder
from podium.core.types import Tree

KEPT_S: Final = 30 * 86_400
DIFF: Final = "diff"


def note_opened(person: str, tree: Tree | str | None) -> None:
    """The person has opened the change up to this tree."""
    if tree is None:
        return
    with suppress(OSError):
        folder = _folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _file(person, tree).touch(mode=0o600)
        for file in folder.iterdir():
            if time.time() - file.stat().st_mtime > KEPT_S:
                file.unlink(missing_ok=True)


def opened_by(person: str, tree: Tree | str | None) -> tuple[str, ...]:
    """What of the evidence about this tree the person has opened."""
    return (DIFF,) if tree is not None and _file(person, tree).exists() else ()


def _folder() -> Path:
    return state_folder() / "opened"


def _file(person: str, tree: Tree | str) -> Path:
    key = f"{person}\0{tree}".encode("utf-8", "surrogateescape")
    return _folder() / hashlib.sha256(key).hexdigest()[:24]
