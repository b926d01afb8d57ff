"""Where a project keeps its runs, and a user what is theirs."""

from __future__ import annotations

import hashlib
import os
import shlex
from pathlib import Path
from typing import Final

from podium.errors import PathViolation
from podium.workflow.source.project_root import is_marked, project_of

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
    """The project around a folder, with which every command means the same."""
    return project_of(folder)


def project_of_file(file: Path) -> Path:
    """The project in which a file is run: its own. Whoever stands in another one is asked to go there first."""
    here, there = project_root(Path.cwd()), project_root(file.parent)
    if here != there and is_marked(here) and not there.is_relative_to(here):
        raise PathViolation(
            f'"{file}" leaves the project: it belongs to {there}, the current folder to {here}',
            hint=f"go there first: cd {shlex.quote(str(there))}",
        )
    return there


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
