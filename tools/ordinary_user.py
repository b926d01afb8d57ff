"""Runs a command as a user without rights: ordinary_user.py COMMAND...; as an ordinary user it just runs it.

Root runs the tests in CI and in containers, people mostly do not. What holds for one need not hold for the other.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.security.kit import ORDINARY, as_ordinary_user


def main() -> None:
    # A home of its own, and folders for the tests that others may not enter.
    with tempfile.TemporaryDirectory(prefix="podium-ordinary-") as name:
        home = Path(name)
        if not os.geteuid():
            shutil.chown(home, ORDINARY, ORDINARY)
        env = {
            **os.environ,
            "HOME": name,
            "PYTEST_DEBUG_TEMPROOT": name,
            "PYTEST_ADDOPTS": "-p no:cacheprovider",
        }
        argv = as_ordinary_user(*sys.argv[1:])
        sys.exit(os.spawnvpe(os.P_WAIT, argv[0], argv, env))  # noqa: S606 - its purpose is to run the command


if __name__ == "__main__":
    main()
