"""Starts one child process and detects its end. The only file that starts a process.

Call it from the main thread: bubblewrap's --die-with-parent applies to the thread, so the end of a worker thread would
kill the sandbox.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import subprocess
from pathlib import Path
from typing import Final, Self

from podium.process import process_tree
from podium.process.launch import Launch, LiveInput
from podium.process.limits import wrapper
from podium.process.procfs import MARKER_VARIABLE, open_pidfd
from podium.process.terminal import controlling_terminal


class Child:
    """A running child with its pipes. Leave the `with` block only after its process tree has been ended."""

    def __init__(self, launch: Launch, *, name: str, terminal: int | None = None) -> None:
        """Start the child; raises OSError if the program, the folder or the input is not available.

        With `terminal`, the descriptor of a terminal, the child has no pipes.
        """
        program = _program(launch)
        prefix = (
            *(() if terminal is None else controlling_terminal()),
            *(wrapper(launch.limits) if launch.limits else ()),
        )
        marker = f"{launch.marker}/{name}"
        self.input: int | None = None
        """Where further input is written to; None if all of it is there from the start."""
        if terminal is not None:
            stdin = os.dup(terminal)
        elif isinstance(launch.stdin, LiveInput):
            stdin, self.input = os.pipe2(os.O_CLOEXEC)
            os.set_blocking(self.input, False)
        else:
            stdin = _open_stdin(launch.stdin)
        output = subprocess.PIPE if terminal is None else terminal
        try:
            with process_tree.starting:
                self._popen = subprocess.Popen(  # noqa: S603 - its purpose is to start what the user declared
                    (*prefix, program if prefix else launch.argv[0], *launch.argv[1:]),
                    executable=None if prefix else program,
                    cwd=launch.cwd,
                    env={**launch.env, MARKER_VARIABLE: marker},
                    stdin=stdin,
                    stdout=output,
                    stderr=output,
                    bufsize=0,
                    pass_fds=launch.fds,
                    start_new_session=True,
                )
                self.root = process_tree.register(
                    self._popen.pid, marker, own_pid_namespace=launch.own_pid_namespace
                )
        except BaseException:
            self.close_input()
            raise
        finally:
            os.close(stdin)
        self.pidfd: Final = open_pidfd(self._popen.pid)
        self._pipes = [pipe for pipe in (self._popen.stdout, self._popen.stderr) if pipe is not None]
        self.outputs: Final = tuple(pipe.fileno() for pipe in self._pipes)
        """Its stdout and stderr; empty if it has a terminal."""
        for pipe in self.outputs:
            os.set_blocking(pipe, False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.has_ended():
            self._popen.wait()
        process_tree.unregister(self.root)
        for pipe in self._pipes:
            pipe.close()
        self.close_input()
        if self.pidfd is not None:
            os.close(self.pidfd)

    def close_input(self) -> None:
        """End its input."""
        if self.input is not None:
            os.close(self.input)
            self.input = None

    def has_ended(self) -> bool:
        """Check without reaping the child, because its pid identifies its session until it is reaped."""
        return self._status() is not None

    def exit(self) -> tuple[int, int | None]:
        """The exit code and signal; a child that survived KILL counts as killed."""
        status = self._status()
        if status is not None and status.si_code == os.CLD_EXITED:
            return status.si_status, None
        number = status.si_status if status else 9
        return 128 + number, number

    def _status(self) -> os.waitid_result | None:
        return os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)


def new_name() -> str:
    """A name that distinguishes the launches of a run, in their markers and file names."""
    return secrets.token_hex(6)


def _program(launch: Launch) -> str:
    """Find the program before the start, because the wrapper of the limits could not report that it is missing."""
    name = launch.argv[0]
    if not launch.cwd.is_dir():
        raise NotADirectoryError(f'folder "{launch.cwd}" does not exist')
    # A name with a slash is relative to the child's folder; one without is searched only in its PATH.
    if "/" in name:
        path = launch.cwd.absolute() / name
        if path.exists():
            return str(path)
    else:
        for folder in launch.env.get("PATH", os.defpath).split(os.pathsep):
            # Like shutil.which, but with fewer system calls per folder.
            program = f"{folder}/{name}"
            if os.access(program, os.X_OK) and not os.path.isdir(program):  # noqa: PTH112 (a string is faster)
                return program
    raise FileNotFoundError(f'program "{name}" was not found')


def _open_stdin(stdin: bytes | Path | None) -> int:
    """Open the input as a file, so that writing it can never block."""
    if stdin is None:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    if isinstance(stdin, Path):
        return os.open(stdin, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    # In memory, because a prompt may be private and a temporary file would survive a crash.
    handle = os.memfd_create("stdin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with os.fdopen(handle, "wb", closefd=False) as file:
        file.write(stdin)
    os.lseek(handle, 0, os.SEEK_SET)
    fcntl.fcntl(handle, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
    return handle
