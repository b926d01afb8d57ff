"""The name of the user who runs this process."""

from __future__ import annotations

import getpass
import os


def login_name() -> str:
    """As the environment or the machine knows it; containers often run with a number that has no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid-{os.getuid()}"
