"""Where a project keeps its runs, and a user what is theirs."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Final

from podium.errors import PathViolation
from podium.files.project_paths import STATE_DIR, ProjectPaths
from podium.files.project_root import is_project_root, project_of

WRITTEN_BY_PEOPLE: Final = ("config.yaml", "partials", "roles", "templates")
"""What people write into Podium's own folder; the rest are its records."""
IGNORED: Final = (
    f"{STATE_DIR}/*",
    f"!{STATE_DIR}/config.yaml",
    f"!{STATE_DIR}/partials/",
    f"!{STATE_DIR}/roles/",
    f"!{STATE_DIR}/templates/",
)
"""Lines of .gitignore: runs and records are for this machine; what people write there belongs to the project."""


def project_root(folder: Path) -> Path:
    """The project around a folder, by one rule for every command."""
    return project_of(folder)


def project_of_file(file: Path) -> Path:
    """The project that a file belongs to; raises if the current folder belongs to another one."""
    here, root = project_root(Path.cwd()), project_root(file.parent)
    if here != root and is_project_root(here) and not root.is_relative_to(here):
        raise PathViolation(
            f'"{file}" leaves the project: it belongs to {root}, the current folder to {here}',
            hint=f"go there first: cd {shlex.quote(str(root))}",
        )
    return root


def user_dir() -> Path:
    """The folder of the user's own configuration, roles, templates and partials."""
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "podium"


def has_runs(project: Path) -> bool:
    return ProjectPaths(project).database.exists()
