"""Walls of the kernel's own: files, processes and network of a process are only those that it was given.

It sees the system's programs, the installation its program belongs to, and what the walls name; no home, no other
workspace, no database, no main .git. It has a network of its own with nobody in it. Privileges are dropped before.
"""

from __future__ import annotations

import os
import platform
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from podium.adapters.sandboxes import bubblewrap_argv, host_programs, limits, seccomp
from podium.adapters.sandboxes.bubblewrap_argv import NOBODY, View
from podium.ports.sandbox import Mount, SandboxPolicy
from podium.process.launch import Finished, Launch
from podium.process.output import OnOutput
from podium.process.run import run as run_process
from podium.process.run import unstarted

if TYPE_CHECKING:
    from podium.egress.hosts import Resolve

VENV: Final = "pyvenv.cfg"


class BubblewrapSandbox:
    level: ClassVar[Literal["bubblewrap"]] = "bubblewrap"

    def __init__(self, resolve: Resolve | None = None) -> None:
        """`resolve` finds the hosts of a `network` list; without one, they are asked for on the internet."""
        self._resolve = resolve
        self._is_root = os.geteuid() == 0
        self.owner: Final = (NOBODY, NOBODY) if self._is_root else None

    @property
    def in_force(self) -> tuple[str, ...]:
        calls = () if seccomp.compiled(platform.machine()) is None else ("system calls",)
        return ("files", "network", "processes", "users", *calls, *limits.in_force())

    async def run(
        self, launch: Launch, walls: SandboxPolicy, *, on_output: OnOutput | None = None
    ) -> Finished:
        async with ways_out(walls, self.owner, self._resolve) as (opened, before):
            with filtered() as calls:
                try:
                    walled = enclosed(launch, opened, before=before, calls=calls, is_root=self._is_root)
                except OSError as error:
                    return unstarted(launch, error)
                with limits.bounded(walled, walls) as bound:
                    return _told(await run_process(bound, on_output=on_output))


@contextmanager
def filtered() -> Iterator[int | None]:
    calls = seccomp.filter_file()
    try:
        yield calls
    finally:
        if calls is not None:
            os.close(calls)


@asynccontextmanager
async def ways_out(
    walls: SandboxPolicy, owner: tuple[int, int] | None, resolve: Resolve | None
) -> AsyncIterator[tuple[SandboxPolicy, tuple[str, ...]]]:
    """Walls with the sockets in them behind which the broker and the proxy listen, and what relays to these inside."""
    if walls.network == "open" or not (walls.network or walls.service):
        yield walls, ()
        return
    from podium.egress.sandbox_setup import INSIDE, inside
    from podium.egress.server import serving  # Heavy, and most processes have no way out.

    way = inside(walls)
    assert way is not None, "there is a service or a host"
    # Not in the workspace: the kernel takes only short paths for a socket.
    with tempfile.TemporaryDirectory(prefix="podium-") as name:
        folder = Path(name)
        if owner is not None:
            os.chown(folder, *owner)
        mounts = (Mount(folder, INSIDE), *(Mount(path, path) for path in way.reads))
        async with serving(
            folder, walls.service, walls.network, on_decision=walls.on_decision, owner=owner, resolve=resolve
        ):
            yield replace(walls, mounts=(*walls.mounts, *mounts)), way.argv


def enclosed(
    launch: Launch,
    walls: SandboxPolicy,
    *,
    before: tuple[str, ...] = (),
    calls: int | None = None,
    is_root: bool,
) -> Launch:
    """The launch of bubblewrap around a launch. Raises OSError where the program cannot be had.

    `before` is started in front of the program and becomes it; `calls` has the filter for system calls.
    """
    shown = (*walls.mounts, *(Mount(folder, folder, writable=True) for folder in walls.writable))

    def host(path: Path) -> Path:
        return on_host(path, shown)

    if not host(launch.cwd).is_dir():
        raise NotADirectoryError(f'folder "{launch.cwd}" does not exist')
    path = launch.env.get("PATH", os.defpath)
    program = host_programs.find(launch.argv[0], cwd=launch.cwd, path=path, host=host)
    needed = host_programs.outermost(
        place for place in _needs(program, shown, path, host) if not _is_shown(place, shown)
    )
    view = View(
        mounts=(*(Mount(place, place) for place in needed), *(m for m in shown if not _is_system(m))),
        hidden=walls.hidden,
        cwd=launch.cwd,
        own_net=walls.network != "open",
        seccomp=calls,
    )
    argv = (*before, str(program), *launch.argv[1:])
    return replace(
        launch,
        argv=bubblewrap_argv.words(view, argv, launch.env, is_root=is_root),
        cwd=Path("/"),
        env=bubblewrap_argv.split(launch.env),
        walled=True,
        fds=() if calls is None else (calls,),
    )


def _told(finished: Finished) -> Finished:
    """As the shell does, bubblewrap says 128 + n for a process that signal n has ended."""
    number = finished.exit_code - 128
    if finished.signal is not None or finished.timed_out or number not in set(signal.Signals):
        return finished
    return replace(finished, signal=number)


def on_host(path: Path, mounts: tuple[Mount, ...]) -> Path:
    """Where a path as the process sees it lies on the host: below the deepest mount that holds it."""
    holders = [mount for mount in mounts if path.is_relative_to(mount.target)]
    if not holders:
        return path
    nearest = max(holders, key=lambda mount: len(mount.target.parts))
    return nearest.source / path.relative_to(nearest.target)


def _needs(
    program: Path, shown: tuple[Mount, ...], path: str, host: host_programs.HostPath
) -> Iterator[Path]:
    """Also what the environments need that are lent to it: their interpreter lies elsewhere."""
    home = Path(os.path.expanduser("~"))  # noqa: PTH111  # never fails, unlike Path.home()
    pythons = (mount.target / "bin/python" for mount in shown if (mount.source / VENV).is_file())
    for start in (program, *(python for python in pythons if host(python).exists())):
        yield from host_programs.needs(start, path=path, home=home, host=host)


def _is_system(mount: Mount) -> bool:
    """There already: a Python of the system's, as the one that relays. A mount below /dev/shm is not."""
    is_there = any(mount.target.is_relative_to(top) for top in host_programs.SYSTEM)
    return mount.source == mount.target and not mount.writable and is_there


def _is_shown(place: Path, mounts: tuple[Mount, ...]) -> bool:
    """Whether a mount already stands there, or holds it: what lies in the project's place is the workspace's."""
    return any(place.is_relative_to(mount.target) for mount in mounts)
