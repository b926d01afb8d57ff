"""Which project a file or a folder belongs to: one rule for every command."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from podium.files.project_paths import STATE_DIR

REPOSITORY: Final = ".git"


def project_of(folder: Path) -> Path:
    """The top of the repository around a folder; outside of git the nearest folder with `.podium`, or the folder itself.

    A `.git` that is a file belongs to a linked work tree or a submodule, which are projects of their own.
    """
    here = _spelt_out(folder)
    for mark in (REPOSITORY, STATE_DIR):
        for parent in (here, *here.parents):
            if (parent / mark).exists():
                return parent
    return here


def is_marked(folder: Path) -> bool:
    """Whether it is a project by more than being the folder somebody stands in."""
    return (folder / REPOSITORY).exists() or (folder / STATE_DIR).exists()


def inner_homes(project: Path, folder: Path) -> Iterator[Path]:
    """The `.podium` of the folders on the way from a project down to a folder in it: a part may have its own settings."""
    here, top = _spelt_out(folder), _spelt_out(project)
    below = here.relative_to(top).parts if here.is_relative_to(top) else ()
    for depth in range(1, len(below) + 1):
        home = top.joinpath(*below[:depth]) / STATE_DIR
        # The home of the project itself may be asked for workflows that lie within it.
        if STATE_DIR not in below[:depth] and home.is_dir():
            yield home


def _spelt_out(folder: Path) -> Path:
    """Without `..`, and with its links as they were named: `resolve` would leave the folder that somebody meant."""
    return Path(os.path.normpath(folder.absolute()))
