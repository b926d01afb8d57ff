"""What a workspace gets besides its tree: the project's toolchain, copies, ports, and commands that set it up."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio import to_thread

from podium.attempt import launch as launching
from podium.attempt.host import Host
from podium.attempt.workspace.toolchain import MOUNTS_IN_PLACE, lent, link
from podium.core.expressions.nodes import MissingValue, Names
from podium.core.expressions.templates import fill, fill_argv
from podium.core.globs import glob_matches
from podium.core.model import Step
from podium.errors import PathViolation, PodiumError, disk_fault
from podium.files.inside import inside
from podium.files.project_paths import STATE_DIR
from podium.git.trees.ignore import parse_rules
from podium.git.trees.listing import files
from podium.git.trees.names import is_git_folder
from podium.git.trees.snapshot import Snapshot
from podium.git.workdir.folder import make_folder
from podium.ports.sandbox import SandboxLevel

if TYPE_CHECKING:
    from podium.attempt.workspace.workspace import Workspace

SETUP_S: Final = 600.0
TEARDOWN_S: Final = 30.0
"""Nothing interrupts a tear-down, so it has to be short."""
MOST_COPIED: Final = 10_000
ARTIFACTS: Final = Path(STATE_DIR, "artifacts")


class SetupFailed(PodiumError):
    """A command of `workspace.setup` did not pass, so there is no place to work in."""


@dataclass(frozen=True, slots=True)
class SetupRequest:
    """`workspace` of a step, with its values filled in."""

    copy: tuple[str, ...] = ()
    setup: tuple[tuple[str, ...], ...] = ()
    teardown: tuple[tuple[str, ...], ...] = ()
    ports: int = 0
    folder: str = ""


@dataclass(frozen=True, slots=True)
class SetupResult:
    links: tuple[str, ...]
    own: tuple[str, ...]
    """Rules of .gitignore for all that was put there and is nobody's work."""
    ports: tuple[int, ...]


class _NoNames:
    """For callers that have no run at hand: literals are all there is."""

    def lookup(self, name: str) -> Any:
        raise MissingValue(f"{name} is not known here")

    def fact(self, query: tuple[str, str]) -> Any:
        raise MissingValue(f"{query[0]} is not known here")


def lend_artifacts(host: Host, folder: Path) -> None:
    """Copies the published artifacts of the run into a workspace, to be read there; never through a link."""
    source = host.artifacts_dir
    for top, _, names in os.walk(source):
        below = Path(top).relative_to(source)
        try:
            with make_folder(folder, str(ARTIFACTS / below)) as fd:
                for name in names:
                    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                    with os.fdopen(os.open(name, flags, 0o444, dir_fd=fd), "wb") as file:
                        file.write((Path(top) / name).read_bytes())
        except OSError as error:
            if disk_fault(error) is not None:
                raise
            raise PathViolation(
                f"artifacts cannot be put into {ARTIFACTS}: {error.strerror}",
                hint="the tree has something else there; Podium needs this folder",
            ) from error


def wanted(step: Step, names: Names | None) -> SetupRequest:
    declared = step.settings.workspace
    known: Names = names or _NoNames()
    folder = fill(step.settings.dir or ".", known)
    return SetupRequest(
        copy=fill_argv(declared.copy, known),
        setup=tuple(fill_argv(argv, known) for argv in declared.setup),
        teardown=tuple(fill_argv(argv, known) for argv in declared.teardown),
        ports=declared.ports or 0,
        folder=folder if isinstance(folder, str) else "",
    )


async def give(
    host: Host, level: SandboxLevel, wanted: SetupRequest, folder: Path, snapshot: Snapshot | None
) -> SetupResult:
    """Nothing is lent to the project itself: it has its own."""
    ports = free_ports(wanted.ports)
    if snapshot is None:
        return SetupResult((), (), ports)

    def put() -> SetupResult:
        links = _link(host, level, wanted, folder, snapshot)
        copies = _copy(host, wanted, folder, snapshot)
        return SetupResult(links, tuple(_rule(name) for name in (*links, *copies)), ports)

    return await to_thread.run_sync(put)


async def set_up(
    host: Host, step: Step, wanted: SetupRequest, workspace: Workspace, names: Names | None
) -> Workspace:
    """Runs the commands of `setup`; what they make at the top of the folder is nobody's work either."""
    if not wanted.setup:
        return workspace
    for argv in wanted.setup:
        await _run(host, step, workspace, argv, names, SETUP_S)
    if workspace.snapshot is None:
        return workspace
    known = workspace.snapshot.listing[""].keys() | {".git"}
    fresh = [entry.name for entry in os.scandir(workspace.folder) if entry.name not in known]
    rules = parse_rules("\n".join(map(_rule, fresh)).encode("utf-8", "surrogateescape"))
    return replace(workspace, snapshot=replace(workspace.snapshot, outer=(*workspace.snapshot.outer, *rules)))


async def tear_down(
    host: Host, step: Step, wanted: SetupRequest, workspace: Workspace, names: Names | None
) -> None:
    """All of them, also after a cancellation; one that fails does not change how the attempt ended."""
    with anyio.CancelScope(shield=True):
        for argv in wanted.teardown:
            try:
                await _run(host, step, workspace, argv, names, TEARDOWN_S)
            except SetupFailed as error:
                host.on_progress(step.name, launching.note(error.message))


async def _run(
    host: Host,
    step: Step,
    workspace: Workspace,
    argv: tuple[str, ...],
    names: Names | None,
    timeout_s: float,
) -> None:
    launch, walls = launching.build_launch(
        host, step, names or _NoNames(), workspace, argv=argv, timeout_s=timeout_s, plain=True
    )
    done = await host.sandbox_of(step).run(launch, walls)
    if done.exit_code:
        told = (done.not_started or done.stderr.record() or done.stdout.record()).strip()
        raise SetupFailed(
            f'the workspace could not be set up: "{argv[0]}" ended with {done.exit_code}: {told}'
        )


def free_ports(number: int) -> tuple[int, ...]:
    """Ports that nobody listens on at this moment, all different: each is held until the last is found."""
    with ExitStack() as held:
        found = []
        for _ in range(number):
            holder = held.enter_context(socket.socket())
            holder.bind(("127.0.0.1", 0))
            found.append(int(holder.getsockname()[1]))
        return tuple(found)


def _link(
    host: Host, level: SandboxLevel, wanted: SetupRequest, folder: Path, snapshot: Snapshot
) -> tuple[str, ...]:
    tracked = (
        f"{place}/{name}" if place else name for place, names in snapshot.listing.items() for name in names
    )
    given = []
    if wanted.folder:
        # Refused before the project's toolchain is looked for below it.
        inside(host.project, wanted.folder)
    for name in lent(host.project, level, tracked, wanted.folder):
        place, _, last = name.rpartition("/")
        if place not in snapshot.listing:
            continue
        # Nobody works in the folder yet, and it holds nothing but the tree: no link can stand in the way.
        if level in MOUNTS_IN_PLACE:
            (folder / name).mkdir()  # On this it is mounted.
        else:
            link(host.project / name, folder / place / last)
        given.append(name)
    return tuple(given)


def _copy(host: Host, wanted: SetupRequest, folder: Path, snapshot: Snapshot) -> tuple[str, ...]:
    """Regular files of the project that no tree holds; links are not followed."""
    if not wanted.copy:
        return ()
    tracked = {path for path, _ in files(snapshot.listing)}
    copied: list[str] = []
    for name in _files_of(host.project):
        if name in tracked or not any(glob_matches(pattern, name) for pattern in wanted.copy):
            continue
        if len(copied) >= MOST_COPIED:
            raise SetupFailed(f"workspace.copy matches more than {MOST_COPIED} files; name fewer")
        _copy_file(host.project / name, folder, name)
        copied.append(name)
    return tuple(copied)


def _copy_file(source: Path, folder: Path, name: str) -> None:
    place, _, last = name.rpartition("/")
    with make_folder(folder, place) as fd, source.open("rb") as content:
        mode = source.stat().st_mode & 0o755 | 0o600
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(last, flags, mode, dir_fd=fd), "wb") as target:
            shutil.copyfileobj(content, target)


def _files_of(root: Path) -> Iterator[str]:
    for top, folders, names in os.walk(root):
        below = Path(top).relative_to(root)
        folders[:] = [n for n in folders if not is_git_folder(n) and str(below / n) != STATE_DIR]
        for name in names:
            path = Path(top) / name
            if path.is_file() and not path.is_symlink():
                yield str(below / name)


def _rule(path: str) -> str:
    """A line of .gitignore that means exactly this path."""
    return "/" + "".join(f"\\{sign}" if sign in "*?[]\\!# " else sign for sign in path)
