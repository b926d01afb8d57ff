"""Sets up a workspace: the project's toolchain, copied files, ports and setup commands."""

from __future__ import annotations

import os
import shlex
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio import to_thread

from podium.attempt import launch as launching
from podium.attempt.activity import SETUP_FILES, CommandActivity
from podium.attempt.host import Host
from podium.attempt.workspace.folder_pool import is_small
from podium.attempt.workspace.toolchain import MOUNTS_IN_PLACE, link, toolchain_folders
from podium.core.events import AttemptStarted
from podium.core.expressions.nodes import MissingValue, Names
from podium.core.expressions.templates import fill, fill_argv
from podium.core.globs import glob_matches
from podium.core.model import Step
from podium.errors import PathViolation, PodiumError, disk_fault
from podium.fast_dataclass import dataclass, replace
from podium.files.inside import inside
from podium.files.project_paths import STATE_DIR
from podium.git.trees.ignore import parse_rules
from podium.git.trees.listing import files
from podium.git.trees.names import is_git_folder
from podium.git.trees.snapshot import Snapshot
from podium.git.workdir.folder import Owner, copy_file, make_folder
from podium.ports.sandbox import Sandbox

if TYPE_CHECKING:
    from podium.attempt.workspace.workspace import Workspace

SETUP_S: Final = 600.0
TEARDOWN_S: Final = 30.0
"""Short, because a tear-down cannot be cancelled."""
MAX_COPIED_FILES: Final = 10_000
ARTIFACTS: Final = Path(STATE_DIR, "artifacts")


class SetupFailed(PodiumError):
    """A command of `workspace.setup` failed."""


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
    """Rules of .gitignore for files that Podium added, which are not part of the change."""
    ports: tuple[int, ...]


class _NoNames:
    """For callers without a run: only literals can be used."""

    def lookup(self, name: str) -> Any:
        raise MissingValue(f"{name} is not known here")

    def fact(self, query: tuple[str, str]) -> Any:
        raise MissingValue(f"{query[0]} is not known here")


def copy_artifacts(host: Host, folder: Path, owner: Owner | None) -> None:
    """Copies the published artifacts of the run into a workspace, without following links."""
    source = host.artifacts_dir
    for top, _, names in os.walk(source):
        below = Path(top).relative_to(source)
        try:
            with make_folder(folder, str(ARTIFACTS / below), owner) as fd:
                for name in names:
                    copy_file(Path(top, name), fd, name, 0o444, owner)
        except OSError as error:
            if disk_fault(error) is not None:
                raise
            raise PathViolation(
                f"artifacts cannot be put into {ARTIFACTS}: {error.strerror}",
                hint="the tree has something else there; Podium needs this folder",
            ) from error


def setup_request(step: Step, names: Names | None) -> SetupRequest:
    declared = step.settings.workspace
    available: Names = names or _NoNames()
    folder = fill(step.settings.dir or ".", available)
    return SetupRequest(
        copy=fill_argv(declared.copy, available),
        setup=tuple(fill_argv(argv, available) for argv in declared.setup),
        teardown=tuple(fill_argv(argv, available) for argv in declared.teardown),
        ports=declared.ports or 0,
        folder=folder if isinstance(folder, str) else "",
    )


async def prepare(
    host: Host,
    sandbox: Sandbox,
    request: SetupRequest,
    folder: Path,
    snapshot: Snapshot | None,
    is_hidden: Callable[[str], bool] | None = None,
) -> SetupResult:
    """Links and copies what the workspace needs; the project itself only gets ports. Hidden files are not copied."""
    ports = free_ports(request.ports)
    if snapshot is None:
        return SetupResult((), (), ports)

    def put() -> SetupResult:
        links = _link(host, sandbox, request, folder, snapshot)
        copies = _copy(host, request, folder, snapshot, sandbox.owner, is_hidden)
        return SetupResult(links, tuple(ignore_rule(name) for name in (*links, *copies)), ports)

    is_quick = is_small(snapshot) and not request.copy
    return put() if is_quick else await to_thread.run_sync(put)


async def set_up(
    host: Host,
    started: AttemptStarted,
    step: Step,
    request: SetupRequest,
    workspace: Workspace,
    names: Names | None,
) -> Workspace:
    """Runs the commands of `setup`; new entries at the top of the folder are not part of the change."""
    if not request.setup:
        return workspace
    for argv in request.setup:
        await _run(host, started, step, workspace, argv, names, SETUP_S)
    if workspace.snapshot is None:
        return workspace
    tracked = workspace.snapshot.listing[""].keys() | {".git"}
    fresh = [entry.name for entry in os.scandir(workspace.folder) if entry.name not in tracked]
    rules = parse_rules("\n".join(map(ignore_rule, fresh)).encode("utf-8", "surrogateescape"))
    return replace(workspace, snapshot=replace(workspace.snapshot, outer=(*workspace.snapshot.outer, *rules)))


async def tear_down(
    host: Host,
    started: AttemptStarted,
    step: Step,
    request: SetupRequest,
    workspace: Workspace,
    names: Names | None,
) -> None:
    """Runs all commands of `teardown`, also after a cancellation; a failure does not change the attempt's result."""
    if not request.teardown:
        return
    with anyio.CancelScope(shield=True):
        for argv in request.teardown:
            try:
                await _run(host, started, step, workspace, argv, names, TEARDOWN_S)
            except SetupFailed as error:
                with CommandActivity(host, started, SETUP_FILES) as activity:
                    activity.note(error.message)


async def _run(  # what a launch needs
    host: Host,
    started: AttemptStarted,
    step: Step,
    workspace: Workspace,
    argv: tuple[str, ...],
    names: Names | None,
    timeout_s: float,
) -> None:
    launch, policy = launching.build_launch(
        host,
        step,
        names or _NoNames(),
        workspace,
        argv=argv,
        timeout_s=timeout_s,
        network=step.settings.workspace.network,
        plain=True,
    )
    with CommandActivity(host, started, SETUP_FILES) as activity:
        activity.note(shlex.join(argv))
        done = await host.sandbox_of(step).run(launch, policy, on_output=activity.output)
    if done.exit_code or done.exceeded:
        output = (done.exceeded or done.not_started or done.stderr.record() or done.stdout.record()).strip()
        raise SetupFailed(
            f'the workspace could not be set up: "{argv[0]}" ended with {done.exit_code}: {output}'
        )


def free_ports(number: int) -> tuple[int, ...]:
    """Different free ports; all stay bound until the last one is chosen."""
    with ExitStack() as sockets:
        ports = []
        for _ in range(number):
            holder = sockets.enter_context(socket.socket())
            holder.bind(("127.0.0.1", 0))
            ports.append(int(holder.getsockname()[1]))
        return tuple(ports)


def _link(
    host: Host, sandbox: Sandbox, request: SetupRequest, folder: Path, snapshot: Snapshot
) -> tuple[str, ...]:
    def is_tracked(path: str) -> bool:
        place, _, name = path.rpartition("/")
        return name in snapshot.listing.get(place, ())

    linked = []
    if request.folder not in ("", "."):
        # Raises for a path outside the project, before the toolchain is searched there.
        inside(host.project, request.folder)
    for name in toolchain_folders(host.project, host.toolchain, sandbox.level, is_tracked, request.folder):
        place, _, last = name.rpartition("/")
        if place not in snapshot.listing:
            continue
        # No process has run in the folder yet, so there cannot be a link in the way.
        if sandbox.level in MOUNTS_IN_PLACE:
            (folder / name).mkdir()  # The mount point.
        else:
            link(host.project / name, folder / place / last)
        if sandbox.owner is not None:
            os.chown(folder / name, *sandbox.owner, follow_symlinks=False)
        linked.append(name)
    return tuple(linked)


def _copy(
    host: Host,
    request: SetupRequest,
    folder: Path,
    snapshot: Snapshot,
    owner: Owner | None,
    is_hidden: Callable[[str], bool] | None,
) -> tuple[str, ...]:
    """Copies untracked regular files of the project; links are not followed."""
    if not request.copy:
        return ()
    tracked = {path for path, _ in files(snapshot.listing)}
    copied: list[str] = []
    for name in copied_files(host.project, request):
        if name in tracked or (is_hidden is not None and is_hidden(name)):
            continue
        if len(copied) >= MAX_COPIED_FILES:
            raise SetupFailed(f"workspace.copy matches more than {MAX_COPIED_FILES} files; name fewer")
        source = host.project / name
        place, _, last = name.rpartition("/")
        with make_folder(folder, place, owner) as fd:
            copy_file(source, fd, last, source.stat().st_mode & 0o755 | 0o600, owner)
        copied.append(name)
    return tuple(copied)


def copied_files(project: Path, request: SetupRequest) -> Iterator[str]:
    """The files of the project that `workspace.copy` names, whether git tracks them or not."""
    for name in _files_of(project) if request.copy else ():
        if any(glob_matches(pattern, name) for pattern in request.copy):
            yield name


def _files_of(root: Path) -> Iterator[str]:
    for top, folders, names in os.walk(root):
        below = Path(top).relative_to(root)
        folders[:] = [n for n in folders if not is_git_folder(n) and str(below / n) != STATE_DIR]
        for name in names:
            path = Path(top) / name
            if path.is_file() and not path.is_symlink():
                yield str(below / name)


def ignore_rule(path: str) -> str:
    """A line of .gitignore that means exactly this path."""
    return "/" + "".join(f"\\{sign}" if sign in "*?[]\\!# " else sign for sign in path)
