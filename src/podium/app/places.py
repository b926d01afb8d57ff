"""Where a project keeps its runs, and a user what is theirs."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

STATE_DIR: Final = ".podium"
DATABASE: Final = "podium.db"
IGNORED: Final = (
    ".podium/*",
    "!.podium/config.yaml",
    "!.podium/partials/",
    "!.podium/roles/",
    "!.podium/templates/",
)
"""Lines of .gitignore: runs and records are for this machine; what people write there belongs to the project."""


def project_root(folder: Path) -> Path:
    """The top of the repository around a folder; outside of git the nearest folder that has runs, or the folder itself.

    A `.git` that is a file belongs to a linked work tree or a submodule, which are projects of their own.
    """
    here = folder.absolute()
    around = (here, *here.parents)
    for mark in (".git", f"{STATE_DIR}/{DATABASE}"):
        for parent in around:
            if (parent / mark).exists():
                return parent
    return here


def user_dir() -> Path:
    """The folder of the user's own configuration, roles, templates and partials."""
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "podium"


def has_runs(project: Path) -> bool:
    return (project / STATE_DIR / DATABASE).exists()


def run_dir(project: Path, run: str) -> Path:
    return project / STATE_DIR / "runs" / run


def cache_dir() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "podium"


def tag_of(project: Path) -> str:
    """Tells the projects of a machine apart."""
    return hashlib.sha256(str(project).encode()).hexdigest()[:12]


def work_dir(project: Path, run: str) -> Path:
    """Where the workspaces of a run stand while it goes on."""
    return cache_dir() / "work" / tag_of(project) / run


def tree_store(project: Path) -> Path:
    """Our own git folder, through which trees are read."""
    return project / STATE_DIR / "git"


def marker_of(project: Path, run: str) -> str:
    """What all processes of a run carry, so that they are found when their engine is gone."""
    return f"{run}-{tag_of(project)}"
