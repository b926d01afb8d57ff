"""Notices changed files of a project; what git ignores and what tools write for themselves does not count.

The operating system reports that something happened in a folder; what changed is found by listing the files again. So
a lost or misread notice can delay a run, but not start a wrong one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from podium.app.paths import WRITTEN_BY_PEOPLE
from podium.app.query.diff import change_of, read_changes
from podium.app.run.answer import view_of
from podium.app.run.start import StartedRun
from podium.core.queries.steps import all_steps
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass
from podium.files.project_paths import STATE_DIR
from podium.git.repository import Repository, find, read_ignored

if TYPE_CHECKING:
    from podium.app.project import Project

Files: TypeAlias = Mapping[str, tuple[int, int]]
"""Every file by its path in the project, with the time of its last change and its size."""

QUIET_MS: Final = 500
"""A change counts once nothing else has changed for so long: a file may still be half written."""

SKIPPED: Final = frozenset({".git", ".orchestrator"})
"""What tools write for themselves."""


@dataclass(frozen=True, slots=True)
class WatchedProject:
    root: Path
    repository: Repository | None
    inbox: Path | None = None
    """A folder of which every file counts, also if git ignores it."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """The files of a project at one moment."""

    files: Files
    folders: frozenset[str]
    """Absolute paths of all folders with such files, and of empty ones."""
    ignored: frozenset[str]
    """Absolute paths of ignored files and folders."""


def watched_project(project: Project, inbox: Path | None = None) -> WatchedProject:
    return WatchedProject(project.root.resolve(), find(project.root, project.paths.trees), inbox)


def list_files(project: WatchedProject) -> Inventory:
    """All files but ignored ones. A repository within the project has its own rules, which are not read."""
    ignored = frozenset[str]()
    if project.repository is not None:
        ignored = frozenset(str(project.repository.root / path) for path in read_ignored(project.repository))
    files: dict[str, tuple[int, int]] = {}
    folders = set[str]()
    tops = [(project.root, ignored)]
    if project.inbox is not None:
        tops.append((project.inbox, frozenset()))
    for top, skipped in tops:
        for folder, names in _walk(top, skipped):
            folders.add(folder)
            files.update(_read_marks(project.root, folder, names))
    return Inventory(files, frozenset(folders), ignored)


def _walk(top: Path, ignored: frozenset[str]) -> Iterator[tuple[str, list[str]]]:
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if _counts(folder, name, ignored))
        yield folder, sorted(name for name in names if _counts(folder, name, ignored))


def _counts(folder: str, name: str, ignored: frozenset[str]) -> bool:
    if os.path.basename(folder) == STATE_DIR:  # noqa: PTH119  # asked of every file, and a Path takes ten times as long
        return name in WRITTEN_BY_PEOPLE
    return name not in SKIPPED and (name == STATE_DIR or f"{folder}/{name}" not in ignored)


def _read_marks(root: Path, folder: str, names: list[str]) -> Iterator[tuple[str, tuple[int, int]]]:
    start = len(str(root)) + 1
    for name in names:
        path = f"{folder}/{name}"
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            continue  # Removed since the folder was listed; the next listing shows that.
        yield path[start:], (status.st_mtime_ns, status.st_size)


def wait_for_files(project: WatchedProject, before: Files | None = None) -> Files:
    """The files once nothing has changed for QUIET_MS; with `before`, once they also differ from these."""
    now = list_files(project)
    quiet_since = time.monotonic()
    while True:
        for has_news in _notices(now):
            last = now
            if has_news:
                now = list_files(project)
            if now.files != last.files:
                quiet_since = time.monotonic()
            elif time.monotonic() - quiet_since >= QUIET_MS / 1000 and now.files != before:
                return now.files
            if now.folders != last.folders:
                break


def _notices(inventory: Inventory) -> Iterator[bool]:
    """Whether something happened: yes as soon as the folders are watched, then at each change and twice a second."""
    from watchfiles import watch

    is_first = True
    try:
        for changes in watch(
            *inventory.folders,
            watch_filter=None,
            rust_timeout=QUIET_MS,
            yield_on_timeout=True,
            recursive=False,
        ):
            paths = (os.path.split(path) for _, path in changes)
            yield is_first or any(_counts(folder, name, inventory.ignored) for folder, name in paths)
            is_first = False
    except (OSError, RuntimeError, ValueError):
        # A folder is gone, the system allows no more watches, or watchfiles 1.3 cannot decode a name that is not UTF-8:
        # list the files twice a second instead.
        time.sleep(QUIET_MS / 1000)
        yield True


def changed(before: Files, after: Files) -> tuple[str, ...]:
    """Files that are new, gone or different."""
    return tuple(sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path)))


def own_changes(project: Project, started: StartedRun) -> frozenset[str] | None:
    """The files that a run has landed in the project; None if it works there itself, where no change has an author."""
    prepared = started.prepared
    if any(prepared.host.is_inplace(step) for _, step, _ in all_steps(prepared.workflow)):
        return None
    span = change_of(view_of(project, started.run))
    return frozenset(change.path for change in read_changes(project.paths, span))


def without_news(before: Files, after: Files, own: frozenset[str] | None) -> Files:
    """The files that a run began with, and its own changes; whatever else changed meanwhile is news."""
    if own is None:
        return after
    earlier = {path: mark for path, mark in before.items() if path not in own}
    return {**earlier, **{path: after[path] for path in own if path in after}}


def arrived(before: Files, after: Files) -> tuple[str, ...]:
    """Files that were not there."""
    return tuple(path for path in after if path not in before)


def inbox(project: Path, folder: Path) -> Path:
    """The folder whose new files become runs, which must be in the project."""
    path = (project / folder).resolve()
    if not path.is_relative_to(project.resolve()):
        raise ConfigurationError(f"{folder} leaves the project", hint="watch a folder of the project")
    if not path.is_dir():
        raise ConfigurationError(f"{folder} is not a folder", hint=f"make it: mkdir -p {folder}")
    return path
