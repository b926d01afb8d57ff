"""Where one attempt works: a private clone or checkout with a home of its own, and what is taken from it afterwards.

Rule: what stands in a workspace when its process has ended is data. Only the capture turns it into a tree, and the
toolchain folders, artifacts and copies that were lent to it are never part of that.
"""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import anyio
from anyio import to_thread

from podium.attempt.host import Host
from podium.attempt.workspace import setup
from podium.attempt.workspace.checkout_pool import discard_workspace
from podium.attempt.workspace.ownership import lend_tree
from podium.attempt.workspace.toolchain import MOUNTS_IN_PLACE
from podium.core.events import AttemptStarted
from podium.core.expressions.nodes import Names
from podium.core.model import Step
from podium.core.types import Tree
from podium.errors import disk_fault
from podium.git.repository import (
    Person,
    Repository,
    Signature,
    attempt_ref,
    keep,
    tree_of,
    tree_with_uncommitted,
    write_commit,
)
from podium.git.trees.diff import changes
from podium.git.trees.ignore import parse_rules
from podium.git.trees.merge import Clashed, join
from podium.git.trees.names import escape_path
from podium.git.trees.snapshot import Snapshot
from podium.git.workdir.capture import Refused, capture
from podium.git.workdir.clone import clone
from podium.git.workdir.walk import open_folder

Kind: TypeAlias = Literal["clone", "checkout", "project"]

PODIUM: Final = Person("podium", "podium@invalid")
SHOWN_FAULTS: Final = 20


@dataclass(frozen=True, slots=True)
class Workspace:
    folder: Path
    home: Path
    """Fresh, and gone with the attempt."""
    tmp: Path
    snapshot: Snapshot | None
    """What the folder held at the start; None for the project itself."""
    kind: Kind
    before: Tree | None = None
    """Of the project itself: its files at the start, if there is a repository."""
    links: tuple[str, ...] = ()
    """Toolchain folders of the project that are lent to it, relative to the folder."""
    ports: tuple[int, ...] = ()
    inside: Path | None = None
    """Where a process within walls finds the folder: in the project's own place; None: where it is."""

    @property
    def mount_path(self) -> Path:
        """The path of the folder inside the sandbox."""
        return self.inside or self.folder


@dataclass(frozen=True, slots=True)
class CapturedChange:
    tree: Tree | None
    """None without a repository."""
    change: Mapping[str, Any]
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CaptureRefused:
    """The folder may not become a tree; the message says what is wrong with it."""

    reason: str
    message: str


@asynccontextmanager
async def opened(
    host: Host,
    asked: AttemptStarted,
    step: Step,
    *,
    kind: Literal["clone", "checkout"],
    names: Names | None = None,
    tree: Tree | None = None,
) -> AsyncIterator[Workspace]:
    """A workspace at the tree the attempt starts from, or at another one; removed afterwards, also on cancellation."""
    sandbox = host.sandbox_of(step)
    walled = sandbox.level in MOUNTS_IN_PLACE
    private = host.homes.take(host.work_dir, again=not walled, owner=sandbox.owner)
    inside = host.project if walled else None
    bare = Workspace(host.project, private.home, private.tmp, None, "project", inside=inside)
    try:
        if host.repository is None or host.is_inplace(step):
            made = bare
            if host.repository is not None:
                made = replace(bare, before=await _files_now(host.repository))
        elif kind == "clone":
            made = await _cloned(host, host.repository, asked, bare, tree, private.folder / "tree")
        else:
            wanted = tree or asked.start or await _tree_at_start(host, host.repository, asked)
            folder, snapshot = await host.pool.take(host.repository, host.work_dir, wanted)
            made = replace(bare, folder=folder, snapshot=snapshot, kind="checkout")
        async with _furnished(host, step, made, names) as ready:
            yield ready
    finally:
        await host.homes.give_back(private, again=not walled and kind == "checkout")


@asynccontextmanager
async def _furnished(
    host: Host, step: Step, made: Workspace, names: Names | None
) -> AsyncIterator[Workspace]:
    base = made.snapshot
    try:
        if made.snapshot is not None and host.artifacts_dir.is_dir():
            await to_thread.run_sync(setup.lend_artifacts, host, made.folder)
        wanted = setup.wanted(step, names)
        level = host.sandbox_of(step).level
        given = await setup.give(host, level, wanted, made.folder, made.snapshot)
        if base is not None:
            owner = host.sandbox_of(step).owner
            base = await to_thread.run_sync(lend_tree, made.folder, base, owner)
        ready = made
        if base is not None or given.links or given.ports:
            ready = replace(made, snapshot=base, links=given.links, ports=given.ports)
        if ready.snapshot is not None and given.own:
            unseen = parse_rules("\n".join(given.own).encode("utf-8", "surrogateescape"))
            ready = replace(ready, snapshot=replace(ready.snapshot, outer=(*ready.snapshot.outer, *unseen)))
        ready = await setup.set_up(host, step, wanted, ready, names)
        try:
            yield ready
        finally:
            await setup.tear_down(host, step, wanted, ready, names)
    finally:
        if made.kind == "checkout" and base is not None:
            with anyio.CancelScope(shield=True):
                await host.pool.give_back(made.folder, base)


async def captured(
    host: Host, workspace: Workspace, asked: AttemptStarted
) -> CapturedChange | CaptureRefused:
    """The tree of what was made there, kept on the attempt's own ref whatever becomes of the attempt."""
    if host.repository is None:
        return CapturedChange(None, no_change(), ())
    if workspace.snapshot is None:
        return await to_thread.run_sync(_taken_in_place, host, host.repository, workspace, asked)
    return await to_thread.run_sync(_taken, host, host.repository, workspace, asked)


async def clear(host: Host) -> None:
    """Removes what this run has in its work folder, also what a killed process left. Nothing of it may be running."""
    host.homes.forget()
    await host.pool.clear()
    await to_thread.run_sync(discard_workspace, host.work_dir)


def no_change() -> dict[str, Any]:
    return {"files": 0, "added": 0, "removed": 0, "paths": []}


def change_between(repository: Repository, base: Tree | None, tree: Tree) -> dict[str, Any]:
    """What policies, gates and people are told about a change."""
    found = changes(repository, tree_of(repository, None) if base is None else base, tree)
    return {
        "files": len(found),
        "added": sum(change.added for change in found),
        "removed": sum(change.removed for change in found),
        "paths": [escape_path(change.path) for change in found],
    }


def start_of(host: Host, repository: Repository, asked: AttemptStarted) -> Tree:
    return asked.start or asked.base or tree_of(repository, host.base_commit)


def keep_attempt(host: Host, repository: Repository, asked: AttemptStarted, tree: Tree) -> str:
    """Puts a tree on the ref of its attempt, so that failed work is never lost; the same again changes nothing."""
    message = f"{asked.path}, attempt {asked.attempt}\n\nrun {host.run}, step {asked.path}"
    commit = _commit(host, repository, tree, message, asked.at // 1000)
    keep(repository, attempt_ref(host.run, asked.path, asked.attempt), commit)
    return commit


async def _files_now(repository: Repository) -> Tree:
    return await to_thread.run_sync(tree_with_uncommitted, repository)


async def _tree_at_start(host: Host, repository: Repository, asked: AttemptStarted) -> Tree:
    return await to_thread.run_sync(start_of, host, repository, asked)


async def _cloned(
    host: Host,
    repository: Repository,
    asked: AttemptStarted,
    bare: Workspace,
    tree: Tree | None,
    folder: Path,
) -> Workspace:
    snapshot = await to_thread.run_sync(clone_at, host, repository, asked, folder, tree)
    return replace(bare, folder=folder, snapshot=snapshot, kind="clone")


def clone_at(
    host: Host, repository: Repository, asked: AttemptStarted, folder: Path, tree: Tree | None = None
) -> Snapshot:
    """A private clone at the tree the attempt starts from, or at another one."""
    start = tree or start_of(host, repository, asked)
    own = host.base_commit
    if own is None or tree_of(repository, own) != start:
        own = _commit(host, repository, start, "Work so far", asked.at // 1000)
    return clone(repository, own, folder)


def _commit(host: Host, repository: Repository, tree: Tree, message: str, at_s: int) -> str:
    parents = () if host.base_commit is None else (host.base_commit,)
    signature = Signature(PODIUM, PODIUM, at_s)
    return write_commit(repository, tree, parents=parents, message=message, signature=signature)


def _taken(
    host: Host, repository: Repository, workspace: Workspace, asked: AttemptStarted
) -> CapturedChange | CaptureRefused:
    assert workspace.snapshot is not None
    _take_back(workspace)
    try:
        found = capture(repository.objects, workspace.folder, workspace.snapshot)
    except OSError as error:
        if disk_fault(error) is not None:
            raise
        return CaptureRefused("capture", f"the workspace cannot be read: {error.strerror or error}")
    if isinstance(found, Refused):
        faults = [f"- {fault.path} {fault.why}" for fault in found.faults]
        more = [f"- and {len(faults) - SHOWN_FAULTS} more"] if len(faults) > SHOWN_FAULTS else []
        lines = ("these files may not be taken over:", *faults[:SHOWN_FAULTS], *more)
        return CaptureRefused("capture", "\n".join(lines))
    keep_attempt(host, repository, asked, found.tree)
    return _told(repository, asked.base, found.tree)


def _take_back(workspace: Workspace) -> None:
    """What stood for the project's toolchain; whatever stands there instead by now is ignored by the rules."""
    for path in workspace.links:
        folder, _, name = path.rpartition("/")
        # By descriptors: a link in place of a folder on the way would have us remove a link of somebody else's.
        with suppress(OSError), open_folder(workspace.folder, folder) as fd:
            if stat.S_ISLNK(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
                os.unlink(name, dir_fd=fd)
            else:
                os.rmdir(name, dir_fd=fd)


def _taken_in_place(
    host: Host, repository: Repository, workspace: Workspace, asked: AttemptStarted
) -> CapturedChange | CaptureRefused:
    """What the attempt changed in the project itself, on top of the head: the user's other files are not its work."""
    now = tree_with_uncommitted(repository)
    start = start_of(host, repository, asked)
    joined = join(repository, fork=workspace.before, onto=start, tree=now)
    if isinstance(joined, Clashed):
        paths = ", ".join(clash.path for clash in joined.clashes)
        return CaptureRefused("conflict", f"the project and the run's own work have both changed {paths}")
    keep_attempt(host, repository, asked, joined.tree)
    return _told(repository, asked.base, joined.tree)


def _told(repository: Repository, base: Tree | None, tree: Tree) -> CapturedChange:
    change = change_between(repository, base, tree)
    return CapturedChange(tree, change, tuple(change["paths"]))
