"""An empty git repository for a test, copied from one that was made once: starting git several times costs more."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

ANN: Final = "[user]\n\tname = Ann\n\temail = ann@example.com\n"


def make_repository(root: Path, *, settings: str = "") -> None:
    """Makes the folder a repository without commits, on branch main, with these lines in its configuration."""
    shutil.copytree(_prepared(), root / ".git")
    with (root / ".git/config").open("a", encoding="utf-8") as config:
        config.write(settings)


@cache
def _prepared() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="podium-repository-"))
    command = ("git", "init", "--quiet", "--initial-branch=main", "--template=")
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder / ".git"


def read_head_commit(root: Path) -> str:
    """The commit of the branch that is checked out, which must be a loose ref."""
    head = (root / ".git/HEAD").read_text("ascii").strip()
    return (root / ".git" / head.removeprefix("ref: ")).read_text("ascii").strip()
