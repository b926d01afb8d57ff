"""Where this machine keeps what belongs to the user."""

from __future__ import annotations

import os
from pathlib import Path


def user_dir() -> Path:
    """The folder of the user's own configuration, roles and templates."""
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "podium"
