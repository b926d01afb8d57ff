"""Podium as another user than the one who runs the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from podium.git.workdir.folder import give_ownership
from tests.e2e.kit import Ended, Project

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


def podium_as(project: Project, around: Callable[..., tuple[str, ...]], *args: str) -> Ended:
    """Hands the project over to the ordinary user, and runs a command to its end."""
    give_ownership(project.folder, None if os.geteuid() else (ORDINARY, ORDINARY))
    done = subprocess.run(
        around(sys.executable, "-m", "podium", *args),
        cwd=project.root,
        env={**project.environment(), "ANTHROPIC_API_KEY": "dummy-key-of-the-tests"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())
