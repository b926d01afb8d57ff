"""Walks an agent's folder without trusting it, and lists what to capture and what to refuse.

Rule 1: every folder is opened relative to its parent and never through a link; nothing is opened by its full path.
Rule 2: only names, stats (lstat), the targets of links and .gitignore files are read here. Files to read are listed,
        and read only if the whole folder has no faults.
Rule 3: no recursion, and one open folder per level; the number of levels is bounded.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from podium.fast_dataclass import dataclass
from podium.git.trees.ignore import MAX_BYTES, Rule, is_ignored, parse_rules
from podium.git.trees.listing import FOLDER, MODULE, Entry, Folder
from podium.git.trees.names import escape_path, fold_name, is_git_folder, is_module_file, name_fault
from podium.git.trees.snapshot import HERE, Snapshot, Stat, stat_of


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of a capture. A folder beyond them is refused and not truncated, because half a tree is not the work."""

    files: int = 200_000
    """The number of files and folders in addition to those of the tree."""
    file_bytes: int = 100 << 20
    new_bytes: int = 1 << 30
    """The total size of all new or changed files."""
    depth: int = 100
    path_bytes: int = 3_000
    faults: int = 50
    """The walk ends after this many faults, because people read the list."""


@dataclass(frozen=True, slots=True)
class WalkFault:
    """A path that cannot be captured, and the reason."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A file whose content must be read."""

    name: str
    status: os.stat_result


@dataclass(slots=True)
class WalkResult:
    """The result of a walk."""

    gone: dict[str, set[str]] = field(default_factory=dict)
    """For each folder, the names of the snapshot that were removed or have another type now."""
    readings: dict[str, list[Reading]] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    """New or changed links and their targets."""
    left_out: list[str] = field(default_factory=list)
    """Ignored names, and submodules with content; folders end with a slash."""
    faults: list[WalkFault] = field(default_factory=list)
    entries: int = 0
    new_bytes: int = 0


OPEN_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a pipe in place of a file would block forever.
OPEN_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_NOTHING: Final[Folder] = {}
_UNKNOWN: Final[Mapping[str, Stat]] = {}
_BARE: Final = frozenset({"HEAD", "objects", "refs"})


@dataclass(slots=True)
class _Level:
    """An open folder of the walk."""

    path: str
    fd: int
    above: _Level | None
    todo: list[str] = field(default_factory=list)
    ignored: bool | None = None
    """Whether the rules ignore the whole folder; computed when it contains something untracked."""


def walk(root: Path, snapshot: Snapshot, bounds: Bounds) -> WalkResult:
    with _Walk(root, snapshot, bounds) as walker:
        while walker.levels and len(walker.result.faults) < bounds.faults:
            walker.step()
    walker.result.faults.sort(key=lambda fault: fault.path)
    return walker.result


class _Walk:
    """The state of a walk; owns the open folders."""

    def __init__(self, root: Path, snapshot: Snapshot, bounds: Bounds) -> None:
        self.snapshot = snapshot
        self.bounds = bounds
        self.result = WalkResult()
        self.most = bounds.files + sum(map(len, snapshot.listing.values()))
        self.rules_now: dict[str, tuple[Rule, ...]] = dict(snapshot.rules)
        self.levels = [_Level("", os.open(root, OPEN_FOLDER), None)]

    def __enter__(self) -> Self:
        self._look(self.levels[0])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        for level in self.levels:
            os.close(level.fd)

    def step(self) -> None:
        """Enter the next folder, or leave one that is finished."""
        level = self.levels[-1]
        if not level.todo:
            os.close(self.levels.pop().fd)
            return
        name = level.todo.pop()
        path = _join(level.path, name)
        if path.count("/") + 1 >= self.bounds.depth:
            self._refuse(path, f"is nested more than {self.bounds.depth} folders deep")
        elif len(os.fsencode(path)) > self.bounds.path_bytes:
            self._refuse(path, f"has a path of more than {self.bounds.path_bytes} bytes")
        else:
            self._enter(level, name, path)

    def _enter(self, level: _Level, name: str, path: str) -> None:
        try:
            below = _Level(path, os.open(name, OPEN_FOLDER, dir_fd=level.fd), level)
        except OSError as error:
            self._refuse(path, f"cannot be opened: {error.strerror}")
            return
        self.levels.append(below)
        self._look(below)

    def _look(self, level: _Level) -> None:
        """Compare one folder with the snapshot; an unchanged file costs one lstat and one lookup (the hot path)."""
        stats = self.snapshot.stats.get(level.path, _UNKNOWN)
        base = self.snapshot.listing.get(level.path, _NOTHING)
        if is_untouched(level.fd, stats):
            level.todo.extend(base.keys() - stats.keys())
            self._count(level, len(base))
            return
        stat_before = stats.get
        room = self.most - self.result.entries
        names: set[str] = set()
        changed: list[os.DirEntry[str]] = []
        try:
            with os.scandir(level.fd) as entries:
                for entry in entries:
                    names.add(name := entry.name)
                    recorded = stat_before(name)
                    if recorded is None or recorded != stat_of(entry.stat(follow_symlinks=False)):
                        changed.append(entry)
                        if len(names) > room:
                            break
            self._count(level, len(names))
            if len(names) > room:
                return
            if names >= _BARE and "HEAD" not in base:
                self._refuse(level.path, "is a nested repository")
            elif changed or len(names) < len(base):
                self._sort(level, base, names, changed)
        except OSError as error:
            self._refuse(level.path, f"cannot be read: {error.strerror}")

    def _count(self, level: _Level, names: int) -> None:
        self.result.entries += names
        if self.result.entries > self.most:
            self._refuse(level.path, f"brings the new files and folders to more than {self.bounds.files:,}")
            # There may be many times more, and nothing will be captured, so stop here.
            for open_level in self.levels:
                open_level.todo.clear()

    def _sort(self, level: _Level, base: Folder, names: set[str], changed: list[os.DirEntry[str]]) -> None:
        removed = base.keys() - names
        folders = {entry.name for entry in changed if entry.is_dir(follow_symlinks=False)}
        if ".gitignore" in removed or ".gitignore" in {entry.name for entry in changed} - folders:
            self.rules_now[level.path] = _read_rules(level.fd)
        for entry in changed:
            name = entry.name
            if name in folders:
                differs = self._sort_folder(level, name, base.get(name))
            else:
                differs = self._sort_file(level, name, entry.stat(follow_symlinks=False), base.get(name))
            if differs:
                removed.add(name)
        if not names <= base.keys():
            self._compare(level, base, names, folders)
        removed &= base.keys()
        if removed:
            self.result.gone[level.path] = removed

    def _compare(self, level: _Level, base: Folder, names: set[str], folders: set[str]) -> None:
        """Refuse names that are the same file on other systems, where one would overwrite the other (CVE-2024-32002)."""
        first: dict[str, str] = {}
        # Names of the tree come first, so that the new name is refused.
        for name in (*sorted(names & base.keys()), *sorted(names - base.keys())):
            other = first.setdefault(fold_name(name), name)
            if other == name or name in base or self._is_ignored(level, name, is_folder=name in folders):
                continue
            self._refuse(
                _join(level.path, name), f'is the same file as "{escape_path(other)}" on some systems'
            )

    def _sort_folder(self, level: _Level, name: str, entry: Entry | None) -> bool:
        """Decide about a folder; returns whether the tree has something else at this path."""
        path = _join(level.path, name)
        if entry is not None and entry.mode == MODULE:
            if not _is_empty(level.fd, name):
                self.result.left_out.append(path + "/")
            return False
        if entry is not None and entry.mode == FOLDER:
            level.todo.append(name)
            return False
        if path == ".git":
            return False
        if is_git_folder(name):
            self._refuse(path, "is a nested repository")
        elif self._is_ignored(level, name, is_folder=True):
            self.result.left_out.append(path + "/")
        elif (flaw := name_fault(name)) is not None:
            self._refuse(path, flaw)
        else:
            level.todo.append(name)
        return True

    def _sort_file(self, level: _Level, name: str, status: os.stat_result, entry: Entry | None) -> bool:
        """Decide about anything but a folder; returns whether the tree has something else at this path."""
        path = _join(level.path, name)
        tracked = entry is not None and entry.mode not in (FOLDER, MODULE)
        if path == ".git":
            return False
        if not tracked and is_git_folder(name):
            self._refuse(path, "is a nested repository")
        elif not tracked and self._is_ignored(level, name, is_folder=False):
            self.result.left_out.append(path)
        elif not tracked and (flaw := name_fault(name)) is not None:
            self._refuse(path, flaw)
        elif stat.S_ISREG(status.st_mode):
            self._sort_content(level, name, status)
        elif not stat.S_ISLNK(status.st_mode):
            self._refuse(path, "is neither a file nor a folder nor a link")
        elif is_module_file(name):
            self._refuse(path, "must not be a link")
        else:
            self._read_link(level, name)
        return not tracked

    def _sort_content(self, level: _Level, name: str, status: os.stat_result) -> None:
        path = _join(level.path, name)
        self.result.new_bytes += status.st_size
        if status.st_nlink > 1:
            self._refuse(path, "is a hard link; its content belongs to another file")
        elif status.st_size > self.bounds.file_bytes:
            self._refuse(path, f"is larger than {self.bounds.file_bytes:,} bytes")
        elif self.result.new_bytes > self.bounds.new_bytes:
            self._refuse(path, f"is where the new files exceed {self.bounds.new_bytes:,} bytes")
        else:
            self.result.readings.setdefault(level.path, []).append(Reading(name, status))

    def _read_link(self, level: _Level, name: str) -> None:
        path = _join(level.path, name)
        try:
            self.result.links[path] = os.readlink(name, dir_fd=level.fd)
        except OSError as error:  # pragma: no cover (a race with a process that should be dead)
            self._refuse(path, f"cannot be read: {error.strerror}")

    def _is_ignored(self, level: _Level, name: str, *, is_folder: bool) -> bool:
        """Whether the rules of the tree or the current rules in the folder ignore a name.

        The tree's rules still apply if an agent removes them (.env); the current ones apply to a new project's files.
        """
        return self._is_level_ignored(level) or any(
            is_ignored(level.path, name, is_folder=is_folder, rules=rules, outer=self.snapshot.outer)
            for rules in (self.snapshot.rules, self.rules_now)
        )

    def _is_level_ignored(self, level: _Level) -> bool:
        """Whether the folder itself is ignored; a tracked folder is still entered, but new files in it stay ignored."""
        if level.ignored is None:
            above, name = level.above, level.path.rpartition("/")[2]
            level.ignored = above is not None and self._is_ignored(above, name, is_folder=True)
        return level.ignored

    def _refuse(self, path: str, why: str) -> None:
        if len(self.result.faults) < self.bounds.faults:
            path = escape_path(path or ".")
            self.result.faults.append(
                WalkFault(path if len(path) < 300 else f"{path[:150]}...{path[-100:]}", why)
            )


@contextmanager
def open_folder(root: Path, folder: str) -> Iterator[int]:
    """Open a folder below the root, name by name and never through a link."""
    fd = os.open(root, OPEN_FOLDER)
    try:
        for name in filter(None, folder.split("/")):
            below = os.open(name, OPEN_FOLDER, dir_fd=fd)
            os.close(fd)
            fd = below
        yield fd
    finally:
        os.close(fd)


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def is_untouched(fd: int, stats: Mapping[str, Stat]) -> bool:
    """Whether a folder and all its files have the recorded stats, so that it need not be listed."""
    if stats.get(HERE) != stat_of(os.fstat(fd)):
        return False
    try:
        for name, recorded in stats.items():
            if recorded != stat_of(os.stat(name, dir_fd=fd, follow_symlinks=False)):
                return False
    except OSError:  # pragma: no cover (a race with a process that should be dead)
        return False
    return True


def _read_rules(fd: int) -> tuple[Rule, ...]:
    try:
        handle = os.open(".gitignore", OPEN_FILE, dir_fd=fd)
    except OSError:
        return ()
    with os.fdopen(handle, "rb") as file:
        return parse_rules(file.read(MAX_BYTES)) if stat.S_ISREG(os.fstat(handle).st_mode) else ()


def _is_empty(fd: int, name: str) -> bool:
    handle = os.open(name, OPEN_FOLDER, dir_fd=fd)
    try:
        with os.scandir(handle) as entries:
            return next(entries, None) is None
    finally:
        os.close(handle)
