"""Runs git; the only place that does. The repository is always explicit, and failures are typed.

Rule 1: no command uses a folder in which an agent has worked, neither as repository nor as work tree.
Rule 2: hooks, file system monitors, external diffs, pagers, editors and prompts are always disabled.
Rule 3: paths are passed on stdin, terminated by NUL; a pathspec is literal.

With `closed` settings, git reads only the configuration of the given git folder and has no network; for trees.
With `personal` settings it also reads the user's configuration, under which the user's work tree was made (filters,
line ends, ignored files, remotes and their logins); for status, updates of the work tree, and push.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Collection
from pathlib import Path
from typing import Final, Literal, TypeAlias

from podium.errors import PodiumError
from podium.fast_dataclass import dataclass
from podium.process.host_programs import host_path
from podium.process.launch import Launch
from podium.process.output import OutputLimits
from podium.process.run import run_blocking

Surroundings: TypeAlias = Literal["closed", "personal"]

MARKER: Final = "podium-git"
DEADLINE_S: Final = 300.0
MAX_OUTPUT: Final = 1 << 30
"""Contents are read in bounded batches; all other output is lists of names."""

_SETTINGS: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.quotePath=false",
    "core.protectHFS=true",
    "core.protectNTFS=true",
    # The user's git may hold a lock for a moment; the default of 100 ms is too short on a busy disk.
    "core.filesRefLockTimeout=5000",
    "core.packedRefsTimeout=5000",
    "gc.auto=0",
    "maintenance.auto=false",
    "merge.conflictStyle=diff3",
    # Otherwise git moves a new file into another folder because the files next to it moved there.
    "merge.directoryRenames=false",
    "protocol.ext.allow=never",
    "submodule.recurse=false",
)

_COMMON: Final = {
    "LC_ALL": "C",
    "GIT_EDITOR": "false",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}

_CLOSED: Final = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "HOME": "/nonexistent",
}

# What git and ssh need to act as the user. No GIT_* variables, because they could select another repository.
_PERSONAL: Final = (
    "HOME USER LOGNAME XDG_CONFIG_HOME XDG_RUNTIME_DIR SSH_AUTH_SOCK "
    "http_proxy https_proxy no_proxy HTTPS_PROXY NO_PROXY ALL_PROXY SSL_CERT_FILE SSL_CERT_DIR"
).split()


class GitError(PodiumError):
    """A git command failed; the message includes git's own."""

    code = "git"


@dataclass(frozen=True, slots=True)
class Git:
    """The repository, work tree and settings of a command."""

    git_dir: Path
    objects: Path | None = None
    work_tree: Path | None = None
    index: Path | None = None
    surroundings: Surroundings = "closed"
    marker: str = MARKER
    """Identifies the processes of a run, so that the sweep after a crash finds them."""


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    out: bytes
    err: str
    cut: bool = False
    """True if the output was longer than the limit and was truncated."""


def run(
    git: Git,
    *args: str,
    stdin: bytes = b"",
    codes: Collection[int] = (0,),
    limit: int = MAX_OUTPUT,
) -> Answer:
    """Run git and return its output; an exit code that is not in `codes` raises GitError."""
    folder = git.work_tree or (git.git_dir if git.git_dir.is_dir() else git.git_dir.parent)
    env = _environment(git)
    answer = _start(_launch(args, cwd=folder, env=env, marker=git.marker, stdin=stdin, limit=limit))
    if answer.code not in codes:
        for number in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS):
            if os.strerror(number) in answer.err:
                raise OSError(number, os.strerror(number), str(git.git_dir))
        raise GitError(f"git {args[0]} failed in {folder}: {answer.err.strip() or f'exit {answer.code}'}")
    return answer


def text(git: Git, *args: str, stdin: bytes = b"") -> str:
    return os.fsdecode(run(git, *args, stdin=stdin).out).removesuffix("\n")


def discover(folder: Path, *args: str) -> Answer:
    """Run `git rev-parse` in a folder of the user, to find its repository."""
    return _start(_launch(("rev-parse", *args), cwd=folder, env=_base_environment("personal"), marker=MARKER))


def _launch(
    args: tuple[str, ...],
    *,
    cwd: Path,
    env: dict[str, str],
    marker: str,
    stdin: bytes = b"",
    limit: int = MAX_OUTPUT,
) -> Launch:
    settings = (word for setting in _SETTINGS for word in ("-c", setting))
    return Launch(
        argv=("git", *settings, *args),
        cwd=cwd,
        env=env,
        marker=marker,
        stdin=stdin or None,
        timeout_s=DEADLINE_S,
        output=OutputLimits(memory=limit, total=limit),
    )


def _environment(git: Git) -> dict[str, str]:
    env = _base_environment(git.surroundings)
    env["GIT_DIR"] = str(git.git_dir)
    if git.objects is not None:
        env["GIT_OBJECT_DIRECTORY"] = str(git.objects)
    if git.work_tree is not None:
        env["GIT_WORK_TREE"] = str(git.work_tree)
    if git.index is not None:
        env["GIT_INDEX_FILE"] = str(git.index)
    return env


def _base_environment(surroundings: Surroundings) -> dict[str, str]:
    env = {"PATH": host_path(), **_COMMON}
    if surroundings == "closed":
        return {**env, **_CLOSED}
    inherited = {name: os.environ[name] for name in _PERSONAL if name in os.environ}
    # ssh would prompt on the terminal even if git must not.
    return {**inherited, **env, "GIT_SSH_COMMAND": "ssh -o BatchMode=yes"}


def _start(launch: Launch) -> Answer:
    # Blocking is fine, because work on trees runs in a worker thread.
    finished = run_blocking(launch)
    if finished.not_started is not None:
        if not launch.cwd.is_dir():
            raise GitError(f"{launch.cwd} does not exist")
        raise GitError("git was not found", hint="install git 2.38 or newer")
    if finished.timed_out:
        raise GitError(f"git did not end within {launch.timeout_s:.0f} s in {launch.cwd}")
    truncated = finished.stdout.dropped > 0
    return Answer(finished.exit_code, finished.stdout.read(), os.fsdecode(finished.stderr.read()), truncated)
