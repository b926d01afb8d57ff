"""Starts one child and knows when it has ended. The only file that starts a process.

Start from the main thread: bubblewrap's --die-with-parent follows the thread, and a worker thread that ends would
take the sandbox with it.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import subprocess
from pathlib import Path
from typing import Final, Self

from podium.process import process_tree
from podium.process.launch import Launch
from podium.process.limits import wrapper
from podium.process.procfs import MARKER_VARIABLE, open_pidfd


class Child:
    """A running child with its pipes. Leave the `with` block after the tree has been ended."""

    def __init__(self, launch: Launch, *, name: str) -> None:
        """Raises OSError when the program, the folder or the input cannot be had."""
        program = _program(launch)
        prefix = wrapper(launch.limits) if launch.limits else ()
        marker = f"{launch.marker}/{name}"
        stdin = _open_stdin(launch.stdin)
        try:
            with process_tree.starting:
                self._popen = subprocess.Popen(  # noqa: S603 - starting what a user declared is what this is for
                    (*prefix, program if prefix else launch.argv[0], *launch.argv[1:]),
                    executable=None if prefix else program,
                    cwd=launch.cwd,
                    env={**launch.env, MARKER_VARIABLE: marker},
                    stdin=stdin,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    bufsize=0,
                    pass_fds=launch.fds,
                    start_new_session=True,
                )
                self.root = process_tree.begin(self._popen.pid, marker, walled=launch.walled)
        finally:
            os.close(stdin)
        self.pidfd: Final = open_pidfd(self._popen.pid)
        assert self._popen.stdout is not None
        assert self._popen.stderr is not None
        self.stdout: Final = self._popen.stdout.fileno()
        self.stderr: Final = self._popen.stderr.fileno()
        for pipe in (self.stdout, self.stderr):
            os.set_blocking(pipe, False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.has_ended():
            self._popen.wait()
        process_tree.end(self.root)
        for pipe in (self._popen.stdout, self._popen.stderr):
            assert pipe is not None
            pipe.close()
        if self.pidfd is not None:
            os.close(self.pidfd)

    def has_ended(self) -> bool:
        """Looks without collecting it: as long as it is not collected, its pid is the name of its session."""
        return self._status() is not None

    def exit(self) -> tuple[int, int | None]:
        """Exit code and signal; a child that outlived KILL counts as killed."""
        status = self._status()
        if status is not None and status.si_code == os.CLD_EXITED:
            return status.si_status, None
        number = status.si_status if status else 9
        return 128 + number, number

    def _status(self) -> os.waitid_result | None:
        return os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)


def new_name() -> str:
    """Tells the launches of a run apart, in their markers and in the names of their files."""
    return secrets.token_hex(6)


def _program(launch: Launch) -> str:
    """Searched for by us: after the limits' wrapper has started it would be too late to say what is missing."""
    name = launch.argv[0]
    if not launch.cwd.is_dir():
        raise NotADirectoryError(f'folder "{launch.cwd}" does not exist')
    # With a slash the child's folder counts, without one only its PATH, never the folder it runs in.
    if "/" in name:
        found = launch.cwd.absolute() / name
        if found.exists():
            return str(found)
    else:
        for folder in launch.env.get("PATH", os.defpath).split(os.pathsep):
            # As shutil.which looks, which asks five questions of each folder.
            program = f"{folder}/{name}"
            if os.access(program, os.X_OK) and not os.path.isdir(program):  # noqa: PTH112 (as text: it is quicker)
                return program
    raise FileNotFoundError(f'program "{name}" was not found')


def _open_stdin(stdin: bytes | Path | None) -> int:
    """A file in every case, so nobody needs to feed the child and it can never block us."""
    if stdin is None:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    if isinstance(stdin, Path):
        return os.open(stdin, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    # In memory: a prompt may be private, and a temporary file outlives a crash.
    handle = os.memfd_create("stdin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with os.fdopen(handle, "wb", closefd=False) as file:
        file.write(stdin)
    os.lseek(handle, 0, os.SEEK_SET)
    fcntl.fcntl(handle, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
    return handle
