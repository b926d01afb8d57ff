"""A real PostgreSQL server for tests: from the system's packages, as a user without rights, on a socket in a folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

NOBODY: Final = 65534
SETTINGS: Final = "-c listen_addresses= -c fsync=off -c shared_buffers=32MB -c unix_socket_directories="


def programs() -> Path | None:
    """The folder with initdb, which Debian does not put into PATH."""
    known = shutil.which("initdb")
    if known is not None:
        return Path(known).resolve().parent
    return max(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), default=None
    )


@contextmanager
def server() -> Iterator[str]:
    """Start a server with an empty database; yields its address. PostgreSQL refuses to run as root."""
    found = programs()
    assert found is not None, "no initdb: install the package postgresql"
    is_root = os.geteuid() == 0
    change = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if is_root else []
    # Not in the folder of the test: a socket's path has at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as name:
        data = Path(name) / "data"
        if is_root:
            os.chown(name, NOBODY, NOBODY)
        env = {"PATH": os.environ["PATH"], "HOME": name, "LANG": "C.UTF-8"}

        def run(*words: str) -> None:
            done = subprocess.run(
                [*change, *words], check=False, capture_output=True, text=True, env=env, cwd=name
            )
            assert done.returncode == 0, done.stdout + done.stderr

        run(
            str(found / "initdb"),
            "-D",
            str(data),
            "-U",
            "podium",
            "--auth=trust",
            "--no-sync",
            "--encoding=UTF8",
        )
        control = (str(found / "pg_ctl"), "-D", str(data), "-w")
        run(*control, "-l", f"{name}/log", "-o", f"{SETTINGS}{name}", "start")
        try:
            yield f"postgresql://podium@/postgres?host={name}"
        finally:
            run(*control, "-m", "immediate", "stop")
