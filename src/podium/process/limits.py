"""Resource limits of a child, applied by a wrapper program that then becomes the child.

preexec_fn runs Python between fork and exec, where a lock of another thread can hang forever. prlimit(2) after the
start misses processes that the child has already forked. A wrapper that execs has neither problem: util-linux's prlimit
takes 1.5 ms, our own script 14 ms where prlimit is missing. Limits are per process (the number of processes per user);
they prevent accidents and do not stop an attacker.
"""

from __future__ import annotations

import resource
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from podium.fast_dataclass import dataclass

# Fixed paths, because a program of that name in the project's PATH must not apply the limits.
PRLIMIT: Final = (Path("/usr/bin/prlimit"), Path("/bin/prlimit"))

RESOURCES: Final = {
    "memory_bytes": ("as", resource.RLIMIT_AS),
    "cpu_s": ("cpu", resource.RLIMIT_CPU),
    "file_bytes": ("fsize", resource.RLIMIT_FSIZE),
    "open_files": ("nofile", resource.RLIMIT_NOFILE),
    "processes": ("nproc", resource.RLIMIT_NPROC),
    "core_bytes": ("core", resource.RLIMIT_CORE),
}
ULIMIT: Final = {
    "as": ("-v", 1024),
    "cpu": ("-t", 1),
    "fsize": ("-f", 512),
    "nofile": ("-n", 1),
    "core": ("-c", 512),
}
"""The options of ulimit and their units, which are the same in every POSIX shell."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a child; None leaves a resource unchanged."""

    memory_bytes: int | None = None
    cpu_s: int | None = None
    file_bytes: int | None = None
    open_files: int | None = None
    processes: int | None = None
    core_bytes: int | None = 0
    """No core dumps by default, because they contain the environment and its secrets."""
    groups: tuple[Path, ...] = ()
    """Control groups to join; see cgroups.py."""


def wrapper(limits: Limits, *, programs: tuple[Path, ...] = PRLIMIT) -> tuple[str, ...]:
    """The prefix for an argv whose program is an absolute path."""
    allowed = tuple(
        (option, number, bound)
        for name, (option, number) in RESOURCES.items()
        if (value := getattr(limits, name)) is not None and (bound := _change_of(number, value)) is not None
    )
    if not allowed and not limits.groups:
        return ()  # A child inherits our own limits, and these are the same.
    by_shell = {number: ULIMIT[option] for option, number, _ in allowed if option in ULIMIT}
    # The shell that joins the groups can also set most limits, which saves a program.
    if limits.groups and len(by_shell) == len(allowed):
        return _shell(limits.groups, [(by_shell[number], value) for _, number, value in allowed])
    enter = _shell(limits.groups, ()) if limits.groups else ()
    program = next((path for path in programs if path.exists()), None)
    if program:
        return (*enter, str(program), *(f"--{option}={value}:{value}" for option, _, value in allowed), "--")
    script = str(Path(__file__).with_name("apply_limits.py"))
    numbers = (f"{number}={value}" for _, number, value in allowed)
    return (*enter, sys.executable, "-I", "-S", script, *numbers, "--")


def _shell(groups: tuple[Path, ...], limits: Iterable[tuple[tuple[str, int], int]]) -> tuple[str, ...]:
    """A shell that joins the groups, sets limits and becomes the command; if it cannot join, nothing starts."""
    joined = (f"echo $$ > {shlex.quote(f'{folder}/cgroup.procs')}" for folder in groups)
    bounds = (f"ulimit {option} {value // unit}" for (option, unit), value in limits)
    return ("/bin/sh", "-c", " && ".join((*joined, *bounds, 'exec "$@"')), "sh")


def _change_of(number: int, value: int) -> int | None:
    """The value, at most our own hard limit, because the kernel refuses more; None if our own limit is the same."""
    own = resource.getrlimit(number)
    bound = value if own[1] == resource.RLIM_INFINITY else min(value, own[1])
    return None if own == (bound, bound) else bound
