"""What a person can do with the memories of a project: list, look, edit, delete."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from podium.attempt.workspace.memory import fault_of, limit_faults, refusal, shown_contents
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass
from podium.files.project_paths import ProjectPaths, cache_dir
from podium.git.memory import (
    MAX_BYTES,
    MAX_FILES,
    StoredMemory,
    contents_of,
    delete_memory,
    list_memories,
    read_memory,
    replace_memory,
)
from podium.git.repository import Repository, find
from podium.ports.clock import wall_clock
from podium.redaction.scan import scrub
from podium.workflow.problems import did_you_mean
from podium.workflow.schema.fields import InvalidValue
from podium.workflow.schema.scalars import memory_name

CONFLICT: Final = ".conflict-"
LISTED: Final = "podium memory list shows what there is"


@dataclass(frozen=True, slots=True)
class MemorySummary:
    name: str
    files: int
    bytes: int
    conflicts: int
    """Files that hold one side of a conflict."""
    at_s: int
    over_limit: bool


@dataclass(frozen=True, slots=True)
class OpenedMemory:
    stored: StoredMemory
    contents: Mapping[str, bytes]

    def text(self, path: str) -> str:
        """A file for a screen: what looks like a secret is removed, as in a prompt."""
        return scrub(self.contents[path].decode("utf-8")).text


def summaries(root: Path) -> tuple[MemorySummary, ...]:
    repository = _repository(root)
    return tuple(_summary(repository, stored) for stored in list_memories(repository))


def _summary(repository: Repository, stored: StoredMemory) -> MemorySummary:
    contents = shown_contents(repository, stored.tree)
    size = sum(map(len, contents.values()))
    conflicts = sum(CONFLICT in path for path in contents)
    over = len(contents) > MAX_FILES or size > MAX_BYTES
    return MemorySummary(stored.name, len(contents), size, conflicts, stored.at_s, over)


def open_memory(root: Path, name: str) -> OpenedMemory:
    repository = _repository(root)
    stored = read_memory(repository, _checked(name))
    if not stored.commit:
        names = [memory.name for memory in list_memories(repository)]
        raise ConfigurationError(f'memory "{name}" does not exist', hint=did_you_mean(name, names) or LISTED)
    return OpenedMemory(stored, shown_contents(repository, stored.tree))


def open_file(memory: OpenedMemory, path: str) -> str:
    if path not in memory.contents:
        raise ConfigurationError(
            f'memory "{memory.stored.name}" has no file "{path}"',
            hint=did_you_mean(path, tuple(memory.contents)) or f"podium memory show {memory.stored.name}",
        )
    return memory.contents[path].decode("utf-8")


def start_edit(root: Path, name: str) -> OpenedMemory:
    """A memory that need not exist yet."""
    repository = _repository(root)
    stored = read_memory(repository, _checked(name))
    return OpenedMemory(stored, shown_contents(repository, stored.tree))


def store_file(root: Path, memory: OpenedMemory, path: str, text: str | None) -> str:
    """Write or remove one file; the commit. Refused if the memory has changed since it was opened."""
    repository, name = _repository(root), memory.stored.name
    contents = dict(memory.contents)
    if text is None:
        open_file(memory, path)
        del contents[path]
    else:
        contents[path] = text.encode("utf-8", "surrogatepass")
        fault = fault_of(path, contents[path])
        inside = [other for other in contents if other.startswith(f"{path}/") or path.startswith(f"{other}/")]
        if inside:
            fault = f"cannot be both a file and a folder: {inside[0]}"
        limits = limit_faults(contents, contents_of(repository, memory.stored.tree))
        faults = [*([] if fault is None else [f"{path} {fault}"]), *limits]
        if faults:
            raise ConfigurationError(refusal(name, faults))
    commit = replace_memory(repository, memory.stored, contents, wall_clock() // 1000)
    if commit is None:
        raise ConfigurationError(
            f'memory "{name}" was changed in the meantime, so your change was not stored',
            hint=f"look at it again: podium memory show {name}",
        )
    return commit


def delete(root: Path, name: str) -> None:
    memory = open_memory(root, name)
    if not delete_memory(_repository(root), memory.stored):
        raise ConfigurationError(
            f'memory "{name}" was changed in the meantime, so it was not deleted', hint="try again"
        )


def _checked(name: str) -> str:
    try:
        return memory_name(name)
    except InvalidValue as error:
        raise ConfigurationError(f'"{name}" must be {error.expected}') from error


def _repository(root: Path) -> Repository:
    paths = ProjectPaths(root)
    # Looking must not create the folder of a project that has no runs yet.
    repository = find(
        root, paths.trees if paths.state_dir.is_dir() else cache_dir() / "git" / paths.marker("memory")
    )
    if repository is None:
        raise ConfigurationError(
            f"{root} is not a git repository, and memories are kept in git", hint="run git init"
        )
    return repository
