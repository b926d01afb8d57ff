"""Other users than the one who runs the tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ORDINARY = 23456
"""A user whom nobody has made: no home, no group, no rights."""
REPOSITORY = Path(__file__).parents[2]


def as_ordinary_user(*argv: str) -> tuple[str, ...]:
    """What to start so that a command runs without root's rights, also where all of Python lies in root's own home."""
    if os.geteuid():
        return argv
    shown = {Path(sys.base_prefix), Path(sys.prefix), REPOSITORY}
    private = [path for path in shown if path.is_relative_to("/root")]
    covered = ("--perms", "0755", "--tmpfs", "/root") if private else ()
    above = {folder for path in private for folder in path.parents if folder.is_relative_to("/root")}
    folders = [
        word
        for folder in sorted(above - {Path("/root")})
        for word in ("--perms", "0755", "--dir", str(folder))
    ]
    binds = [word for path in private for word in ("--ro-bind", str(path), str(path))]
    return (
        *("bwrap", "--dev-bind", "/", "/", *covered, *folders, *binds, "--"),
        *("setpriv", f"--reuid={ORDINARY}", f"--regid={ORDINARY}", "--clear-groups", "--inh-caps=-all", "--"),
        *argv,
    )


def without_namespaces(*argv: str) -> tuple[str, ...]:
    """The same with user namespaces disabled, so that no sandbox can be built."""
    off = ("bwrap", "--unshare-user", "--disable-userns", "--dev-bind", "/", "/", "--", *argv)
    return as_ordinary_user(*off)
