"""The workspace of one attempt: a private clone or checkout with its own home, and the capture of its changes.

Rule: the files of a workspace are untrusted data after its process has ended. Only the capture turns them into a tree,
without the toolchain folders, artifacts and copies that Podium added.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from anyio import to_thread

from podium.attempt import project_files
from podium.attempt.host import Host
from podium.attempt.workspace import setup
from podium.attempt.workspace.folder_pool import PooledFolder, add_clone, discard_workspace
from podium.attempt.workspace.hidden import (
    HiddenFiles,
    HiddenStart,
    check_isolation,
    put_back,
    tree_without,
)
from podium.attempt.workspace.shared_folder import share_folder
from podium.attempt.workspace.toolchain import MOUNTS_IN_PLACE
from podium.core.events import AttemptStarted
from podium.core.expressions.nodes import Names
from podium.core.expressions.templates import fill_argv
from podium.core.model import Agent, Step
from podium.core.types import IN_PLACE, Tree
from podium.errors import ConfigurationError, disk_fault
from podium.fast_dataclass import dataclass, replace
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
from podium.git.workdir.clone import COMMITS, Extent, tips_of
from podium.git.workdir.walk import open_folder
from podium.ports.sandbox import Sandbox

Kind: TypeAlias = Literal["clone", "checkout", "project"]

PODIUM: Final = Person("podium", "podium@invalid")
SHOWN_FAULTS: Final = 20


@dataclass(frozen=True, slots=True)
class Workspace:
    folder: Path
    home: Path
    """Empty at the start, and deleted with the attempt."""
    tmp: Path
    snapshot: Snapshot | None
    """The files of the folder at the start; None for the project itself."""
    kind: Kind
    before: Tree | None = None
    """For the project itself: the tree of its files at the start, if it is a git repository."""
    links: tuple[str, ...] = ()
    """Toolchain folders of the project that are mounted read-only or linked, relative to the folder."""
    ports: tuple[int, ...] = ()
    opened_ns: int = 0
    """When it was opened; what was changed later, its processes changed."""
    is_watched: bool = False
    """Outside of git: whether the project's files were listed, to tell what the step changes."""
    captured: Tree | None = None
    """The work of a person, which was captured where the person did it."""
    memory: Path | None = None
    """The folder of the memory that the step names, outside the workspace."""
    memory_tree: Tree | None = None
    """The content of that folder at the start."""
    has_history: bool = False
    """For a command: whether it has a repository, which it may only read."""
    inside: Path | None = None
    """The path at which a sandbox mounts the folder, the project's own; None without a mount."""
    hidden: HiddenStart | None = None
    """The files that are missing here because the worker may not see them."""

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
    outside_git: tuple[str, ...] = ()
    """Without a repository: the changed files, if the step may change some files only."""
    own: tuple[str, ...] | None = None
    """The files that this visit changed, if earlier steps changed some of the others."""
    created_hidden: tuple[str, ...] = ()
    """Files that were created in the place of hidden ones; they are not part of the tree."""

    @property
    def judged_files(self) -> tuple[str, ...]:
        """The files that the step must have been allowed to change."""
        return self.files if self.own is None else self.own


@dataclass(frozen=True, slots=True)
class CaptureRefused:
    """The folder cannot be captured as a tree; the message says why."""

    reason: str
    message: str


@asynccontextmanager
async def open_workspace(
    host: Host,
    started: AttemptStarted,
    step: Step,
    *,
    kind: Literal["clone", "checkout"],
    names: Names | None = None,
    tree: Tree | None = None,
    hidden: HiddenFiles | None = None,
) -> AsyncIterator[Workspace]:
    """A workspace at the tree the attempt starts from, or at another one; removed afterwards, also on cancellation."""
    sandbox = host.sandbox_of(step)
    if hidden is not None:
        check_isolation(sandbox.level, has_tree=host.repository is not None)
    is_mounted = sandbox.level in MOUNTS_IN_PLACE
    private = host.private_dirs.take(host.work_dir, reusable=kind == "checkout", owner=sandbox.owner)
    inside = host.project if is_mounted else None
    bare = Workspace(host.project, private.home, private.tmp, None, "project", inside=inside)
    pooled: PooledFolder | None = None
    try:
        if host.repository is None or host.is_inplace(step):
            # An agent must not change the programs that judge it.
            made = replace(bare, links=host.toolchain) if isinstance(step.verb, Agent) else bare
            if host.repository is not None:
                made = replace(made, before=await _files_now(host.repository))
        else:
            start = whole = tree or started.start or await _tree_at_start(host, host.repository, started)
            if hidden is not None:
                start = await to_thread.run_sync(tree_without, host.repository, start, hidden)
            pooled = await host.folders.take(host.repository, host.work_dir, start, sandbox.owner)
            extent = None
            # Most commands ask for none, and another thread takes as long as all the rest of this.
            if kind == "clone" or _wants_history(step):
                extent = await to_thread.run_sync(_extent, host.repository, step, names)
            if hidden is not None:
                await to_thread.run_sync(_add_only_commit, host.repository, started, pooled)
            elif extent is not None:
                await to_thread.run_sync(_add_clone, host, host.repository, started, pooled, extent)
            made = replace(
                bare,
                folder=pooled.path,
                snapshot=pooled.snapshot,
                kind=kind,
                has_history=kind == "checkout" and extent is not None,
                hidden=None if hidden is None else HiddenStart(hidden, whole),
            )
        async with _set_up(host, started, step, sandbox, made, names) as ready:
            yield ready
    finally:
        if pooled is not None:
            await host.folders.give_back(pooled)
        await host.private_dirs.give_back(private, reusable=kind == "checkout")


@asynccontextmanager
async def _set_up(
    host: Host, started: AttemptStarted, step: Step, sandbox: Sandbox, made: Workspace, names: Names | None
) -> AsyncIterator[Workspace]:
    if made.snapshot is not None and host.artifacts_dir.is_dir():
        await to_thread.run_sync(setup.copy_artifacts, host, made.folder, sandbox.owner)
    shared: tuple[str, ...] = ()
    if made.snapshot is not None and isinstance(step.verb, Agent):
        shared = await to_thread.run_sync(share_folder, host, step, names, made.folder, sandbox.owner)
    request = setup.setup_request(step, names)
    unseen = None if made.hidden is None else made.hidden.files.covers
    added = await setup.prepare(host, sandbox, request, made.folder, made.snapshot, unseen)
    ready = made
    if added.links or added.ports:
        ready = replace(made, links=(*made.links, *added.links), ports=added.ports)
    own = (*added.own, *map(setup.ignore_rule, shared))
    if ready.snapshot is not None and own:
        ignored = parse_rules("\n".join(own).encode("utf-8", "surrogateescape"))
        ready = replace(ready, snapshot=replace(ready.snapshot, outer=(*ready.snapshot.outer, *ignored)))
    # The files that Podium itself wrote until now are not counted as the attempt's.
    ready = replace(ready, opened_ns=time.time_ns())
    ready = await setup.set_up(host, started, step, request, ready, names)
    if host.repository is None and project_files.is_limited(step):
        await to_thread.run_sync(project_files.note_files, host, started.path)
        ready = replace(ready, is_watched=True)
    try:
        yield ready
    finally:
        await setup.tear_down(host, started, step, request, ready, names)


async def capture_change(
    host: Host, workspace: Workspace, started: AttemptStarted, visit_start: Tree | None = None
) -> CapturedChange | CaptureRefused:
    """Captures the files as a tree and keeps it on the attempt's ref, however the attempt ends.

    `visit_start` is the tree that the visit started from, if it has the work of other steps since `base`.
    """
    if host.repository is None:
        limited = workspace.is_watched
        files = await to_thread.run_sync(project_files.files_changed, host, started.path) if limited else ()
        return CapturedChange(None, no_change(), (), files)
    if workspace.captured is not None:
        return await to_thread.run_sync(_keep_captured, host, host.repository, workspace.captured, started)
    take = _capture_in_place if workspace.snapshot is None else _capture
    captured = await to_thread.run_sync(take, host, host.repository, workspace, started)
    if visit_start is None or isinstance(captured, CaptureRefused) or captured.tree is None:
        return captured
    own = await to_thread.run_sync(change_between, host.repository, visit_start, captured.tree)
    return replace(captured, own=tuple(own["paths"]))


async def clear(host: Host) -> None:
    """Deletes the work folder of this run. None of its processes may be running."""
    host.private_dirs.forget()
    await host.folders.clear()
    await to_thread.run_sync(discard_workspace, host.work_dir)


def no_change() -> dict[str, Any]:
    return {"files": 0, "added": 0, "removed": 0, "paths": []}


def change_between(repository: Repository, base: Tree | None, tree: Tree) -> dict[str, Any]:
    """The summary of a change, for policies, gates and people."""
    file_changes = changes(repository, tree_of(repository, None) if base is None else base, tree)
    return {
        "files": len(file_changes),
        "added": sum(change.added for change in file_changes),
        "removed": sum(change.removed for change in file_changes),
        "paths": [escape_path(change.path) for change in file_changes],
    }


def start_of(host: Host, repository: Repository, started: AttemptStarted) -> Tree:
    return started.start or started.base or tree_of(repository, host.base_commit)


def keep_attempt(host: Host, repository: Repository, started: AttemptStarted, tree: Tree) -> str:
    """Keeps a tree on the ref of its attempt, so that failed work is not lost; repeating it changes nothing."""
    message = f"{started.path}, attempt {started.attempt}\n\nrun {host.run}, step {started.path}"
    commit = _commit(host, repository, tree, message, started.at // 1000)
    keep(repository, attempt_ref(host.run, started.path, started.attempt), commit)
    return commit


async def _files_now(repository: Repository) -> Tree:
    return await to_thread.run_sync(tree_with_uncommitted, repository)


async def _tree_at_start(host: Host, repository: Repository, started: AttemptStarted) -> Tree:
    return await to_thread.run_sync(start_of, host, repository, started)


def _wants_history(step: Step) -> bool:
    wish = step.settings.workspace
    return wish.history is not None or bool(wish.refs)


def _extent(repository: Repository, step: Step, names: Names | None) -> Extent:
    """How much history the repository of a workspace has."""
    wish = step.settings.workspace
    patterns = fill_argv(wish.refs, names) if wish.refs and names is not None else ()
    try:
        tips = tips_of(repository, patterns) if patterns else ()
    except KeyError as error:
        raise ConfigurationError(
            f'workspace.refs of step "{step.name}": no branch or tag is named {error.args[0]}',
            hint="see: git branch, git tag",
        ) from error
    return Extent(wish.history or COMMITS, tips)


def _add_clone(
    host: Host, repository: Repository, started: AttemptStarted, pooled: PooledFolder, extent: Extent
) -> None:
    commit = _commit_at(host, repository, started, pooled.snapshot.tree)
    add_clone(repository, pooled, host.base_commit, commit, extent)


def _add_only_commit(repository: Repository, started: AttemptStarted, pooled: PooledFolder) -> None:
    """A repository with a single commit of the files of the folder, so that nothing else can be read from it."""
    signature = Signature(PODIUM, PODIUM, started.at // 1000)
    commit = write_commit(
        repository, pooled.snapshot.tree, parents=(), message="The visible files", signature=signature
    )
    add_clone(repository, pooled, None, commit, Extent())


def commit_at_start(host: Host, repository: Repository, started: AttemptStarted) -> str:
    """A commit with the tree that the attempt starts from."""
    return _commit_at(host, repository, started, start_of(host, repository, started))


def _commit_at(host: Host, repository: Repository, started: AttemptStarted, tree: Tree) -> str:
    """A commit with this tree: the one the run began at, or a child of it."""
    if host.base_commit is not None and tree_of(repository, host.base_commit) == tree:
        return host.base_commit
    return _commit(host, repository, tree, "Work so far", started.at // 1000)


def _commit(host: Host, repository: Repository, tree: Tree, message: str, at_s: int) -> str:
    parents = () if host.base_commit is None else (host.base_commit,)
    signature = Signature(PODIUM, PODIUM, at_s)
    return write_commit(repository, tree, parents=parents, message=message, signature=signature)


def _capture(
    host: Host, repository: Repository, workspace: Workspace, started: AttemptStarted
) -> CapturedChange | CaptureRefused:
    assert workspace.snapshot is not None
    _remove_links(workspace)
    try:
        captured_tree = capture(repository.objects, workspace.folder, workspace.snapshot)
    except OSError as error:
        if disk_fault(error) is not None:
            raise
        return CaptureRefused("capture", f"the workspace cannot be read: {error.strerror or error}")
    if isinstance(captured_tree, Refused):
        faults = [f"- {fault.path} {fault.why}" for fault in captured_tree.faults]
        more = [f"- and {len(faults) - SHOWN_FAULTS} more"] if len(faults) > SHOWN_FAULTS else []
        lines = ("these files may not be taken over:", *faults[:SHOWN_FAULTS], *more)
        return CaptureRefused("capture", "\n".join(lines))
    tree, created = captured_tree.tree, tuple[str, ...]()
    if workspace.hidden is not None:
        tree, created = put_back(repository, tree, workspace.hidden)
    keep_attempt(host, repository, started, tree)
    return replace(_change_since(repository, started.base, tree), created_hidden=created)


def _remove_links(workspace: Workspace) -> None:
    """Remove the links and mount points of the toolchain; anything else in their place is covered by the ignore rules."""
    for path in workspace.links:
        folder, _, name = path.rpartition("/")
        # Through descriptors: if a parent folder was replaced by a link, a file outside the workspace would be removed.
        with suppress(OSError), open_folder(workspace.folder, folder) as fd:
            if stat.S_ISLNK(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
                os.unlink(name, dir_fd=fd)
            else:
                os.rmdir(name, dir_fd=fd)


def _capture_in_place(
    host: Host, repository: Repository, workspace: Workspace, started: AttemptStarted
) -> CapturedChange | CaptureRefused:
    """Capture what the attempt changed in the project itself, without the user's own uncommitted changes."""
    now = tree_with_uncommitted(repository)
    start = start_of(host, repository, started)
    joined = join(repository, fork=workspace.before, onto=start, tree=now)
    if isinstance(joined, Clashed):
        paths = ", ".join(clash.path for clash in joined.clashes)
        return CaptureRefused("conflict", f"the project and the run's own work have both changed {paths}")
    keep_attempt(host, repository, started, joined.tree)
    captured = _change_since(repository, started.base, joined.tree)
    return replace(captured, change={**captured.change, IN_PLACE: True})


def _keep_captured(host: Host, repository: Repository, tree: Tree, started: AttemptStarted) -> CapturedChange:
    keep_attempt(host, repository, started, tree)
    return _change_since(repository, started.base, tree)


def _change_since(repository: Repository, base: Tree | None, tree: Tree) -> CapturedChange:
    change = change_between(repository, base, tree)
    return CapturedChange(tree, change, tuple(change["paths"]))
