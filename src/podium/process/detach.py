"""Starts a process that outlives this one: the owner of a run that goes on in the background."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

Beginning: TypeAlias = "subprocess.Popen[bytes]"


def leave(child: Beginning) -> None:
    """It goes on alone. Without this the interpreter would warn that nobody waited for it."""
    if child.returncode is None:
        child.returncode = 0


def stop(children: Iterable[Beginning], *, patience_s: float) -> None:
    """Asks each to end, once, and ends those that have not done so when the patience is over."""
    asked = tuple(children)
    deadline = time.monotonic() + patience_s
    for child in asked:
        child.terminate()
    for child in asked:
        try:
            child.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def begin(argv: tuple[str, ...], *, cwd: Path, output: Path) -> Beginning:
    """It has a session of its own, so that closing the terminal does not end it."""
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
