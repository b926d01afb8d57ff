"""The projects of this user in which runs were started, for commands that look at all of them.

Each project is a file in the user's state folder, named by a hash of its root. Writing it may fail, as in a read-only
home; then only `podium inbox --all` does not find the project.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from podium.files import atomic
from podium.files.project_paths import ProjectPaths


def remember_project(paths: ProjectPaths) -> None:
    """Called when a run is created; not for projects that keep their runs elsewhere, such as those of one step."""
    if paths.state_dir != ProjectPaths(paths.root).state_dir:
        return
    root = str(paths.root.absolute())
    file = _folder() / hashlib.sha256(root.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    with suppress(OSError, UnicodeEncodeError):
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            atomic.write(file, f"{root}\n".encode())


def user_projects() -> tuple[Path, ...]:
    """The roots of all projects that still have runs, in alphabetical order."""
    roots: set[Path] = set()
    with suppress(OSError):
        for file in _folder().iterdir():
            with suppress(OSError, UnicodeDecodeError):
                roots.add(Path(file.read_text("utf-8").removesuffix("\n")))
    return tuple(sorted(root for root in roots if ProjectPaths(root).database.exists()))


def _folder() -> Path:
    return state_folder() / "projects"


def state_folder() -> Path:
    """Where Podium keeps what is the user's own and belongs to no project."""
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local/state") / "podium"
