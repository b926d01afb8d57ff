"""Starts a process that outlives this one: the owner of a run that goes on in the background."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TypeAlias

Beginning: TypeAlias = "subprocess.Popen[bytes]"


def detach(argv: tuple[str, ...], *, cwd: Path, output: Path) -> int:
    """Its process id. It has a session of its own, so that closing the terminal does not end it."""
    child = begin(argv, cwd=cwd, output=output)
    # It is meant to be left alone; without this the interpreter would warn that nobody waited for it.
    child.returncode = 0
    return child.pid


def stop(child: Beginning, *, patience_s: float) -> None:
    """Asks it to end, and ends it if it does not."""
    try:
        child.terminate()
        child.wait(patience_s)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def begin(argv: tuple[str, ...], *, cwd: Path, output: Path) -> Beginning:
    """The same for whoever wants to know when it ends."""
    output.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        return subprocess.Popen(  # noqa: S603  # our own program; what a run starts goes through `run`
            argv,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=handle,
            start_new_session=True,
        )
    finally:
        os.close(handle)
