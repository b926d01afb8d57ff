"""A sandbox of kernel namespaces: a process sees only the files, processes and network that it is given.

It sees the system's programs, the installations on its PATH and that of its own program, and what the policy names; no
home, no other workspace, no database, no main .git. It has an empty network of its own. Privileges are dropped first.
"""

from __future__ import annotations

import os
import platform
import re
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from podium.adapters.sandboxes import bubblewrap_argv, host_programs, limits, seccomp
from podium.adapters.sandboxes.bubblewrap_argv import NOBODY, View
from podium.adapters.sandboxes.layout import Layout, is_below, layout_of
from podium.adapters.sandboxes.ways_out import needs_sockets, sockets
from podium.fast_dataclass import replace
from podium.ports.sandbox import Mount, SandboxPolicy
from podium.process import cgroups
from podium.process.launch import Finished, Launch
from podium.process.output import OnOutput
from podium.process.procfs import tasks_of_user
from podium.process.run import not_started_result
from podium.process.run import run as run_process

if TYPE_CHECKING:
    from podium.egress.hosts import Resolve

VENV: Final = "pyvenv.cfg"


class BubblewrapSandbox:
    level: ClassVar[Literal["bubblewrap"]] = "bubblewrap"

    def __init__(self, resolve: Resolve | None = None) -> None:
        """`resolve` looks up the hosts of a `network` list; the default is DNS."""
        self._resolve = resolve
        self._is_root = os.geteuid() == 0
        self.owner: Final = (NOBODY, NOBODY) if self._is_root else None

    @property
    def in_force(self) -> tuple[str, ...]:
        calls = () if seccomp.compile_filter(platform.machine()) is None else ("system calls",)
        sized = ("folders in memory",) if bubblewrap_argv.can_size_memory() else ()
        return ("files", "network", "processes", "users", *calls, *limits.in_force(_process_limit()), *sized)

    @property
    def unbounded(self) -> tuple[str, ...]:
        processes = () if _process_limit() else ("number of processes",)
        return (*processes, *(() if bubblewrap_argv.can_size_memory() else ("folders in memory",)))

    async def run(
        self, launch: Launch, policy: SandboxPolicy, *, on_output: OnOutput | None = None
    ) -> Finished:
        async with egress_policy(policy, self.owner, self._resolve) as (extended, before):
            with system_call_filter() as calls:
                try:
                    sandboxed = wrap_launch(
                        launch, extended, before=before, calls=calls, is_root=self._is_root
                    )
                except OSError as error:
                    return not_started_result(launch, error)
                with limits.with_limits(sandboxed, policy, scratch=bubblewrap_argv.SCRATCH) as bound:
                    return _with_signal(await run_process(bound, on_output=on_output))


@contextmanager
def system_call_filter() -> Iterator[int | None]:
    calls = seccomp.filter_file()
    try:
        yield calls
    finally:
        if calls is not None:
            os.close(calls)


@asynccontextmanager
async def egress_policy(
    policy: SandboxPolicy, owner: tuple[int, int] | None, resolve: Resolve | None
) -> AsyncIterator[tuple[SandboxPolicy, tuple[str, ...]]]:
    """The policy with the sockets of the broker and the proxy, and the prefix that starts the relay inside."""
    if not needs_sockets(policy):
        yield policy, ()
        return
    # Slow to import, and most processes need no egress.
    from podium.egress.server import INSIDE, relay_setup

    relay = relay_setup(policy)
    assert relay is not None, "the policy has a way out"
    async with sockets(policy, owner, resolve) as folder:
        mounts = (Mount(folder, INSIDE), *(Mount(path, path, origin="host") for path in relay.reads))
        yield replace(policy, mounts=(*policy.mounts, *mounts)), relay.argv


def wrap_launch(
    launch: Launch,
    policy: SandboxPolicy,
    *,
    before: tuple[str, ...] = (),
    calls: int | None = None,
    is_root: bool,
) -> Launch:
    """Wrap a launch in bubblewrap; raises OSError if the program is not available.

    `before` is a prefix that becomes the program; `calls` is a descriptor with the filter of system calls.
    """
    mounts = (*policy.mounts, *(Mount(folder, folder, writable=True) for folder in policy.writable))
    layout = layout_of(mounts)
    cwd = str(launch.cwd)
    if not os.path.isdir(layout.on_host(cwd)):  # strings are faster, here and below
        raise NotADirectoryError(f'folder "{launch.cwd}" does not exist')
    path = launch.env.get("PATH", os.defpath)
    program = host_programs.find(launch.argv[0], cwd=cwd, path=path, layout=layout)
    programs = (program, *_programs_at(launch.starts, cwd=cwd, path=path, layout=layout))
    view = View(
        mounts=_mounts(tuple(_required_paths(programs, mounts, path, layout)), mounts),
        hidden=policy.hidden,
        cwd=launch.cwd,
        own_net=policy.network != "open",
        seccomp=calls,
        scratch_bytes=policy.scratch_bytes if bubblewrap_argv.can_size_memory() else None,
        own_terminal=launch.terminal is not None,
    )
    argv = (*_count_inside(policy, is_root=is_root), *before, program, *launch.argv[1:])
    return replace(
        launch,
        argv=bubblewrap_argv.command_line(view, argv, launch.env, is_root=is_root),
        cwd=Path("/"),
        env=bubblewrap_argv.without_linker_variables(launch.env),
        own_pid_namespace=True,
        fds=() if calls is None else (calls,),
    )


@lru_cache(maxsize=64)
def _mounts(required: tuple[str, ...], mounts: tuple[Mount, ...]) -> tuple[Mount, ...]:
    """The mounts of the policy, and those of the host paths that they do not cover."""
    layout = layout_of(mounts)
    places = host_programs.outermost(place for place in required if not layout.covers(place))
    own = (mount for mount in mounts if not _is_system(mount))
    return (*(Mount(Path(place), Path(place)) for place in places), *own)


def _process_limit() -> str:
    """What limits the number of processes in the sandbox; empty if nothing does."""
    if cgroups.find().pids is not None:
        return limits.process_limit()
    if not bubblewrap_argv.PRLIMIT.exists():
        return ""
    return "user namespace" if _counts_by_namespace() else "user"


def _count_inside(policy: SandboxPolicy, *, is_root: bool) -> tuple[str, ...]:
    """The prefix that limits the number of processes where control groups cannot.

    It is set inside, because the kernel then counts only the processes of this user namespace.
    """
    if policy.processes is None or cgroups.find().pids is not None or not _process_limit():
        return ()
    others = 0 if _counts_by_namespace() else tasks_of_user(NOBODY if is_root else os.geteuid())
    most = policy.processes + others
    return (str(bubblewrap_argv.PRLIMIT), f"--nproc={most}:{most}", "--")


def _counts_by_namespace() -> bool:
    """Whether this kernel counts the processes of each user namespace by itself, as Linux does since 5.14."""
    major, minor = re.match(r"(\d+)\.(\d+)", os.uname().release).groups()  # type: ignore[union-attr]
    return (int(major), int(minor)) >= (5, 14)


FATAL: Final = frozenset(
    (
        signal.SIGHUP,
        signal.SIGINT,
        signal.SIGQUIT,
        signal.SIGILL,
        signal.SIGTRAP,
        signal.SIGABRT,
        signal.SIGBUS,
        signal.SIGFPE,
        signal.SIGKILL,
        signal.SIGUSR1,
        signal.SIGSEGV,
        signal.SIGUSR2,
        signal.SIGPIPE,
        signal.SIGALRM,
        signal.SIGTERM,
        signal.SIGXCPU,
        signal.SIGXFSZ,
        signal.SIGSYS,
    )
)
"""Signals that end processes in practice; the others are ignored, only stop a process, or are sent by nothing."""


def _with_signal(finished: Finished) -> Finished:
    """Set the signal: like a shell, bubblewrap exits with 128 + n after signal n.

    It exits with the same code after a process that chose it, as gemini does with 144 for status 400. So only signals
    that end processes in practice count, and an agent that reported its own failure is believed (issue 16).
    """
    number = finished.exit_code - 128
    if finished.signal is not None or finished.timed_out or number not in FATAL:
        return finished
    return replace(finished, signal=number)


def _programs_at(names: tuple[str, ...], *, cwd: str, path: str, layout: Layout) -> Iterator[str]:
    """The paths of further programs; one that is missing is reported by the program that starts it."""
    for name in names:
        with suppress(OSError):
            yield host_programs.find(name, cwd=cwd, path=path, layout=layout)


def _required_paths(
    programs: tuple[str, ...], mounts: tuple[Mount, ...], path: str, layout: Layout
) -> Iterator[str]:
    """The host paths that the programs need, and those of lent virtual environments, whose interpreter is elsewhere."""
    home = os.path.expanduser("~")  # never fails, unlike Path.home()
    pythons = (
        f"{mount.target}/bin/python"
        for mount in mounts
        if mount.origin == "lent" and os.path.isfile(f"{mount.source}/{VENV}")
    )
    for start in (*programs, *(python for python in pythons if os.path.exists(layout.on_host(python)))):
        yield from host_programs.required_paths(start, path=path, home=home, layout=layout)


def _is_system(mount: Mount) -> bool:
    """Whether the system folders already contain a mount, such as the system's Python for the relay."""
    if mount.writable or mount.source != mount.target:
        return False
    return any(is_below(str(mount.target), top) for top in host_programs.SYSTEM)
