"""Finds the project that a file or folder belongs to, by the same rule for every command."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from podium.files.project_paths import STATE_DIR

GIT_DIR: Final = ".git"


def project_of(folder: Path) -> Path:
    """The root of the git repository around a folder; outside git the nearest folder with `.podium`, else the folder itself.

    A `.git` file marks a linked work tree or a submodule; both are projects of their own.
    """
    start = _normalized(folder)
    for mark in (GIT_DIR, STATE_DIR):
        for parent in (start, *start.parents):
            if (parent / mark).exists():
                return parent
    return start


def is_project_root(folder: Path) -> bool:
    """Whether a folder is the root of a git repository or has a `.podium` folder."""
    return (folder / GIT_DIR).exists() or (folder / STATE_DIR).exists()


def nested_config_dirs(project: Path, folder: Path) -> Iterator[Path]:
    """The `.podium` folders between a project's root and a folder inside it: a part of a project may have its own settings."""
    start, root = _normalized(folder), _normalized(project)
    below = start.relative_to(root).parts if start.is_relative_to(root) else ()
    for depth in range(1, len(below) + 1):
        home = root.joinpath(*below[:depth]) / STATE_DIR
        # The folder may be inside the project's own `.podium`, for workflows that are stored there.
        if STATE_DIR not in below[:depth] and home.is_dir():
            yield home


def _normalized(folder: Path) -> Path:
    """The absolute path without `..`; symbolic links stay, because `resolve` could lead to another project."""
    return Path(os.path.normpath(folder.absolute()))
