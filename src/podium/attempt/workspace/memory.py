"""The memory that a step names: a folder beside its workspace, read back as data when its processes have ended.

Rule 1: the folder is outside the workspace, so it is never part of a tree, and only steps that name the memory have it.
Rule 2: what it holds was written by agents. It is text in regular files; everything else is refused when it is read
back, and left out when it is written, however it was stored.
Rule 3: an attempt only proposes a change. The core counts it if the step passes, and asks for the merge if the run passes.
"""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from anyio import CancelScope, to_thread

from podium.attempt.command.judge_tree import is_steering_name
from podium.attempt.host import Host
from podium.attempt.workspace.folder_pool import discard_workspace
from podium.attempt.workspace.workspace import PODIUM, CaptureRefused, Workspace
from podium.core.events import AttemptEnded, AttemptStarted
from podium.core.model import Step
from podium.core.payloads import MemoryChange, RunMemory
from podium.core.types import MERGE_MEMORY, Tree
from podium.errors import ConfigurationError
from podium.fast_dataclass import replace
from podium.git.memory import (
    MAX_BYTES,
    MAX_FILES,
    StoredMemory,
    contents_of,
    merge_run,
    merge_trees,
    read_memory,
    write_tree,
)
from podium.git.repository import Repository, Signature, attempt_ref, keep, write_commit
from podium.git.trees.listing import FILE, Entry
from podium.git.trees.names import escape_path, is_git_folder, is_module_file, name_fault
from podium.git.workdir.folder import give_ownership, make_folder, names_in, write_entry
from podium.git.workdir.walk import OPEN_FILE, open_folder
from podium.tasks.prior_results import NoPriorResult

VARIABLE: Final = "PODIUM_MEMORY"
"""The environment variable with the path of the folder."""
MAX_DEPTH: Final = 8
MAX_PATH: Final = 400
MAX_ENTRIES: Final = 5_000
"""Files and folders that are looked at; a memory with more is far beyond its limits."""
SHOWN_FAULTS: Final = 20


def folder_of(host: Host, started: AttemptStarted) -> Path:
    """Known before the workspace exists, because the prompt names it; the same in every attempt of a step."""
    return host.work_dir / f"memory-{sha256(started.path.encode()).hexdigest()[:12]}"


async def tree_of_memory(host: Host, memory: RunMemory | None) -> Tree | None:
    """What the folder of an attempt holds at its start; None for a step without a memory."""
    return None if memory is None else await to_thread.run_sync(_run_copy, host, memory)


def _run_copy(host: Host, memory: RunMemory) -> Tree:
    """The run's copy: the pinned version with what passed steps have done to it, in their order."""
    repository = _repository(host)
    tree = memory.tree
    for change in memory.changes:
        tree, _ = merge_trees(repository, base=change.before, stored=tree, ours=change.after, label=host.run)
    return tree


def shown_contents(repository: Repository, tree: Tree) -> dict[str, bytes]:
    """The files of a memory that a step or a person gets: text in plain files with harmless names."""
    contents = contents_of(repository, tree)
    return {path: content for path, content in contents.items() if fault_of(path, content) is None}


@asynccontextmanager
async def open_memory(
    host: Host, started: AttemptStarted, step: Step, tree: Tree | None, workspace: Workspace
) -> AsyncIterator[Workspace]:
    """The workspace with the folder of its memory; the folder is removed afterwards, also on cancellation."""
    if tree is None:
        yield workspace
        return
    folder = folder_of(host, started)
    owner = host.sandbox_of(step).owner
    try:
        await to_thread.run_sync(_write_folder, _repository(host), tree, folder, owner)
        yield replace(workspace, memory=folder, memory_tree=tree)
    finally:
        with CancelScope(shield=True):
            await to_thread.run_sync(discard_workspace, folder)


def _write_folder(repository: Repository, tree: Tree, folder: Path, owner: tuple[int, int] | None) -> None:
    discard_workspace(folder)
    folder.mkdir(mode=0o700, parents=True)
    give_ownership(folder, owner)
    for path, content in shown_contents(repository, tree).items():
        parent, _, name = path.rpartition("/")
        with make_folder(folder, parent, owner) as fd:
            write_entry(fd, name, Entry(FILE, ""), content, owner)


async def with_memory(
    host: Host, step: Step, workspace: Workspace, started: AttemptStarted, end: AttemptEnded
) -> AttemptEnded:
    """The end of an attempt with what it did to its memory; one that leaves what a memory cannot hold has failed."""
    if workspace.memory is None or end.kind != "ok":
        return end
    change = await to_thread.run_sync(_capture, host, step.memory, workspace, started)
    if isinstance(change, CaptureRefused):
        result: Mapping[str, Any] = {**(end.result or {}), "message": change.message}
        return replace(end, kind="failed", reason=change.reason, result=result, protected=())
    return replace(end, memory=change)


def _capture(
    host: Host, name: str, workspace: Workspace, started: AttemptStarted
) -> MemoryChange | CaptureRefused | None:
    repository, before = _repository(host), workspace.memory_tree
    assert workspace.memory is not None
    assert before is not None
    try:
        contents, faults = read_folder(workspace.memory)
    except OSError as error:
        return CaptureRefused("memory", f'memory "{name}" cannot be read: {error.strerror or error}')
    limits = list(limit_faults(contents, contents_of(repository, before)))
    if faults or limits:
        return CaptureRefused("memory", refusal(name, [*faults, *limits]))
    masked = {path: host.mask.apply(content) for path, content in contents.items()}
    after = write_tree(repository, masked)
    if after == before:
        return None
    keep_memory_tree(host, repository, started, after)
    return MemoryChange(name, before, after)


def keep_memory_tree(host: Host, repository: Repository, started: AttemptStarted, tree: Tree) -> None:
    """Keep it on a ref of the run, because until the merge nothing else does."""
    signature = Signature(PODIUM, PODIUM, started.at // 1000)
    commit = write_commit(repository, tree, parents=(), message="Memory", signature=signature)
    keep(repository, attempt_ref(host.run, f"{started.path}!memory", started.attempt), commit)


def refusal(name: str, faults: list[str]) -> str:
    more = [f"and {len(faults) - SHOWN_FAULTS} more"] if len(faults) > SHOWN_FAULTS else []
    lines = (f"- {fault}" for fault in (*faults[:SHOWN_FAULTS], *more))
    return "\n".join((f'memory "{name}" cannot keep what is in its folder:', *lines))


def limit_faults(contents: Mapping[str, bytes], before: Mapping[str, bytes]) -> Iterator[str]:
    """What is over a limit. A memory that merges have brought over one may stay so, but it may not grow."""
    files, size = len(contents), sum(map(len, contents.values()))
    if files > max(MAX_FILES, len(before)):
        yield f"it has {files:,} files; at most {MAX_FILES} are allowed: join or remove some"
    if size > max(MAX_BYTES, sum(map(len, before.values()))):
        yield f"it has {size:,} bytes; at most {MAX_BYTES:,} are allowed: shorten it"


def fault_of(path: str, content: bytes = b"") -> str | None:
    """Why a file must not be in a memory; None if it may."""
    for name in path.split("/"):
        if name in ("", ".", "..") or is_git_folder(name) or is_module_file(name):
            return "has a name that git treats as its own"
        if is_steering_name(name):
            return "has a name that agents read as settings or instructions; use another one"
        if (flaw := name_fault(name)) is not None:
            return flaw
    if path.count("/") >= MAX_DEPTH or len(os.fsencode(path)) > MAX_PATH:
        return f"is nested more than {MAX_DEPTH} folders deep, or has a path of more than {MAX_PATH} bytes"
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return "is not text in UTF-8"
    return "has a zero byte, so it is not text" if "\0" in text else None


def read_folder(root: Path) -> tuple[dict[str, bytes], list[str]]:
    """The files of a folder that an agent has written to, and what is wrong with it; no link is followed."""
    contents: dict[str, bytes] = {}
    faults: list[str] = []
    todo, entries = [""], 0
    while todo:
        folder = todo.pop()
        with open_folder(root, folder) as fd:
            for name in sorted(names_in(fd)):
                entries += 1
                if entries > MAX_ENTRIES:
                    return contents, [f"it has more than {MAX_ENTRIES:,} files and folders"]
                path = f"{folder}/{name}" if folder else name
                status = os.stat(name, dir_fd=fd, follow_symlinks=False)
                fault = fault_of(path) or _status_fault(status)
                if fault is not None:
                    faults.append(f"{escape_path(path)} {fault}")
                elif stat.S_ISDIR(status.st_mode):
                    todo.append(path)
                else:
                    content = _read(fd, name, status)
                    fault = fault_of(path, content)
                    contents[path] = content
                    faults += [] if fault is None else [f"{escape_path(path)} {fault}"]
    return contents, faults


def _status_fault(status: os.stat_result) -> str | None:
    if stat.S_ISDIR(status.st_mode):
        return None
    if not stat.S_ISREG(status.st_mode):
        return "is neither a file nor a folder"
    if status.st_nlink > 1:
        return "is a hard link; its content belongs to another file"
    if status.st_mode & 0o7111:
        return "is executable; a memory holds text"
    if status.st_size > MAX_BYTES:
        return f"has {status.st_size:,} bytes; a whole memory has at most {MAX_BYTES:,}"
    return None


def _read(fd: int, name: str, status: os.stat_result) -> bytes:
    handle = os.open(name, OPEN_FILE, dir_fd=fd)
    with os.fdopen(handle, "rb") as file:
        now = os.fstat(handle)
        if not stat.S_ISREG(now.st_mode) or (now.st_ino, now.st_dev) != (status.st_ino, status.st_dev):
            raise OSError(0, f"{name} changed while it was read")
        return file.read(MAX_BYTES + 1)


def find_fact(host: Host, function: str, name: str, memory: RunMemory | None) -> Mapping[str, Any]:
    """The version that the run uses from now on, or how its changes were merged."""
    repository = _repository(host)
    if function == MERGE_MEMORY:
        assert memory is not None
        return _merge(host, repository, memory)
    stored = read_memory(repository, name)
    if stored.commit and not host.is_rehearsal:
        keep(repository, attempt_ref(host.run, f"memory!{name}", 0), stored.commit)
    return {"tip": stored.commit, "tree": stored.tree}


def _merge(host: Host, repository: Repository, memory: RunMemory) -> Mapping[str, Any]:
    if host.is_rehearsal:
        raise NoPriorResult
    pinned = StoredMemory(memory.name, memory.tip or "", memory.tree)
    merged = merge_run(
        repository,
        memory.name,
        pinned=pinned,
        ours=_run_copy(host, memory),
        run_id=host.run,
        at_s=host.now() // 1000,
    )
    return {"commit": merged.commit, "conflicts": [escape_path(path) for path in merged.conflicts]}


def _repository(host: Host) -> Repository:
    if host.repository is None:
        raise ConfigurationError(
            "a memory is kept in git, and this project has no repository", hint="run git init"
        )
    return host.repository
