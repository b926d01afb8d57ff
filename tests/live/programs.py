"""The real agent programs: those that `make live` has installed, or else the user's own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("PODIUM_LIVE_PROGRAMS") or Path(__file__).parents[2] / ".venv-live")
"""Where tools/live.sh has installed the programs; it knows several sets of versions."""
INSTALLED = FOLDER / "node_modules/.bin"


def found(name: str) -> str:
    """The path of a program; a test that needs one that is not there cannot run."""
    path = shutil.which(name, path=str(INSTALLED)) or shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed; make live does it")
    return path
