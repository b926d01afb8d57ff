"""Resource limits of a child, put on by a program that runs before it and then becomes it.

Neither preexec_fn nor prlimit(2) after the start would do: the first runs Python between fork and exec, where a lock
held by another thread hangs for ever; the second comes after the child has begun, and what it forked before is free.
A wrapper that execs has neither fault: util-linux's prlimit takes 1.5 ms here, our own script 14 ms where it is missing.
Limits are per process (processes: per user); they bound accidents, they are no wall against malice.
"""

from __future__ import annotations

import resource
import shlex
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

# Fixed places: a program of that name in the project's own PATH must not be the one that limits it.
PRLIMIT: Final = (Path("/usr/bin/prlimit"), Path("/bin/prlimit"))

RESOURCES: Final = {
    "memory_bytes": ("as", resource.RLIMIT_AS),
    "cpu_s": ("cpu", resource.RLIMIT_CPU),
    "file_bytes": ("fsize", resource.RLIMIT_FSIZE),
    "open_files": ("nofile", resource.RLIMIT_NOFILE),
    "processes": ("nproc", resource.RLIMIT_NPROC),
    "core_bytes": ("core", resource.RLIMIT_CORE),
}


@dataclass(frozen=True, slots=True)
class Limits:
    """None leaves a resource as it is."""

    memory_bytes: int | None = None
    cpu_s: int | None = None
    file_bytes: int | None = None
    open_files: int | None = None
    processes: int | None = None
    core_bytes: int | None = 0
    """A core dump holds the environment, and with it the secrets."""
    groups: tuple[Path, ...] = ()
    """Control groups to enter; see cgroups.py."""


def wrapper(limits: Limits, *, programs: tuple[Path, ...] = PRLIMIT) -> tuple[str, ...]:
    """What to put before an argv whose program is an absolute path."""
    wanted = tuple(
        (*RESOURCES[field.name], value)
        for field in fields(limits)
        if field.name in RESOURCES and (value := getattr(limits, field.name)) is not None
    )
    allowed = tuple((option, number, _at_most_hard(number, value)) for option, number, value in wanted)
    program = next((path for path in programs if path.exists()), None)
    enter = _entering(limits.groups)
    if program:
        return (*enter, str(program), *(f"--{option}={value}:{value}" for option, _, value in allowed), "--")
    script = Path(__file__).with_name("apply_limits.py")
    return (
        *enter,
        sys.executable,
        "-I",
        "-S",
        str(script),
        *(f"{number}={value}" for _, number, value in allowed),
        "--",
    )


def _entering(groups: tuple[Path, ...]) -> tuple[str, ...]:
    """Becomes what follows once it is a member; where it cannot be one, nothing starts."""
    if not groups:
        return ()
    joined = "".join(f"echo $$ > {shlex.quote(f'{folder}/cgroup.procs')} && " for folder in groups)
    return ("/bin/sh", "-c", f'{joined}exec "$@"', "sh")


def _at_most_hard(number: int, value: int) -> int:
    """Asking for more than we have is refused by the kernel and would stop the child from starting."""
    hard = resource.getrlimit(number)[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard)
