"""Starts a process that outlives this one: the owner of a run in the background.

Such a process belongs to no launch, and only its starter waits for it; `process_tree` leaves it alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final, TypeAlias

from podium.process.host_programs import is_in_project

DetachedProcess: TypeAlias = "subprocess.Popen[bytes]"

ORIGINAL: Final = "PODIUM_PYTHONPATH"
START: Final = (
    f"import os, sys; os.environ['PYTHONPATH'] = os.environ.pop({ORIGINAL!r}); sys.argv[0] = 'podium'; "
    "from podium.frontends.cli.main import main; main()"
)
"""Steps that pass PYTHONPATH get it as the user has set it. A variable that is empty means the same as none."""

detached: Final[set[int]] = set()
"""The pids of detached processes that are our children."""


def disown(process: DetachedProcess) -> None:
    """Let the process continue alone; without this, the interpreter would warn that it was not waited for."""
    if process.returncode is None:
        process.returncode = 0


def stop(children: Iterable[DetachedProcess], *, patience_s: float) -> None:
    """Send TERM to each process, and KILL those that have not ended after `patience_s`."""
    processes = tuple(children)
    deadline = time.monotonic() + patience_s
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def start_detached(*args: str, cwd: Path, output: Path) -> DetachedProcess:
    """Start a `podium` command in its own session, so that closing the terminal does not end it.

    It imports nothing from its folder, which is a project and may have a `click.py` that an agent has written.
    """
    output.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    python_path = os.environ.get("PYTHONPATH", "")
    own_modules = os.pathsep.join(
        folder for folder in python_path.split(os.pathsep) if folder in sys.path or not is_in_project(folder)
    )
    handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        process = subprocess.Popen(  # noqa: S603  # our own program; programs of a run are started by `run`
            (sys.executable, "-P", "-c", START, *args),
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": own_modules, ORIGINAL: python_path},
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=handle,
            start_new_session=True,
        )
        detached.add(process.pid)
        return process
    finally:
        os.close(handle)
