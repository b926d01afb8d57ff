"""Walks an agent's folder without trusting it: what is there, what may be captured, what must be refused.

Rule 1: every folder is opened relative to its parent and never through a link; nothing is opened by a whole path.
Rule 2: nothing is read here but names, signs (lstat), the targets of links and .gitignore files. What has to be read
        is listed, and read only when the whole folder was found good.
Rule 3: no recursion, and one open folder per level, of which there is a bounded number.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from podium.git.trees.ignore import MAX_BYTES, Rule, is_ignored, parse_rules
from podium.git.trees.listing import FOLDER, MODULE, Entry, Folder
from podium.git.trees.names import flaw_of, folded, is_git_folder, is_module_file, shown
from podium.git.trees.snapshot import HERE, Snapshot, Stat, stat_of


@dataclass(frozen=True, slots=True)
class Bounds:
    """More than this is refused, not cut: half a tree is not what the agent made."""

    files: int = 200_000
    """Files and folders beside those that the tree had already."""
    file_bytes: int = 100 << 20
    new_bytes: int = 1 << 30
    """All new or changed files together."""
    depth: int = 100
    path_bytes: int = 3_000
    faults: int = 50
    """After so many the walk ends; the list is for a reader."""


@dataclass(frozen=True, slots=True)
class WalkFault:
    """A path that may not be captured, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A file whose content must be looked at."""

    name: str
    status: os.stat_result


@dataclass(slots=True)
class Found:
    """Filled while the walk goes."""

    gone: dict[str, set[str]] = field(default_factory=dict)
    """Folder to the names of the snapshot that are no longer there, or no longer of their kind."""
    readings: dict[str, list[Reading]] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    """New or changed links and where they lead."""
    left_out: list[str] = field(default_factory=list)
    """Ignored names, and what stands in the place of submodules; folders end with a slash."""
    faults: list[WalkFault] = field(default_factory=list)
    entries: int = 0
    new_bytes: int = 0


OPEN_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, a pipe put in the place of a file would hold us for ever.
OPEN_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_NOTHING: Final[Folder] = {}
_UNKNOWN: Final[Mapping[str, Stat]] = {}
_BARE: Final = frozenset({"HEAD", "objects", "refs"})


@dataclass(slots=True)
class _Level:
    """A folder on the way down."""

    path: str
    fd: int
    above: _Level | None
    todo: list[str] = field(default_factory=list)
    ignored: bool | None = None
    """Whether the rules ignore it as a whole; found out when something untracked stands in it."""


def walk(root: Path, snapshot: Snapshot, bounds: Bounds) -> Found:
    with _Walk(root, snapshot, bounds) as way:
        while way.levels and len(way.found.faults) < bounds.faults:
            way.step()
    way.found.faults.sort(key=lambda fault: fault.path)
    return way.found


class _Walk:
    """Owns the open folders."""

    def __init__(self, root: Path, snapshot: Snapshot, bounds: Bounds) -> None:
        self.snapshot = snapshot
        self.bounds = bounds
        self.found = Found()
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
        """Into the next folder, or out of one that is done."""
        level = self.levels[-1]
        if not level.todo:
            os.close(self.levels.pop().fd)
            return
        name = level.todo.pop()
        path = _join(level.path, name)
        if path.count("/") + 1 >= self.bounds.depth:
            self._refuse(path, f"lies deeper than {self.bounds.depth} folders")
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
        """Compares one folder with the snapshot. A file that is known costs one lstat and one lookup: the hot path."""
        signs = self.snapshot.stats.get(level.path, _UNKNOWN)
        base = self.snapshot.listing.get(level.path, _NOTHING)
        if _is_untouched(level.fd, signs):
            level.todo.extend(base.keys() - signs.keys())
            self._count(level, len(base))
            return
        sign_of = signs.get
        room = self.most - self.found.entries
        seen: set[str] = set()
        others: list[os.DirEntry[str]] = []
        try:
            with os.scandir(level.fd) as entries:
                for entry in entries:
                    seen.add(name := entry.name)
                    sign = sign_of(name)
                    if sign is None or sign != stat_of(entry.stat(follow_symlinks=False)):
                        others.append(entry)
                        if len(seen) > room:
                            break
            self._count(level, len(seen))
            if len(seen) > room:
                return
            if seen >= _BARE and "HEAD" not in base:
                self._refuse(level.path, "is a repository of its own")
            elif others or len(seen) < len(base):
                self._sort(level, base, seen, others)
        except OSError as error:
            self._refuse(level.path, f"cannot be read: {error.strerror}")

    def _count(self, level: _Level, names: int) -> None:
        self.found.entries += names
        if self.found.entries > self.most:
            self._refuse(
                level.path, f"is where more than {self.bounds.files:,} new files and folders are found"
            )
            # Who made so many may have made many times more, and nothing of it will be captured.
            for one in self.levels:
                one.todo.clear()

    def _sort(self, level: _Level, base: Folder, seen: set[str], others: list[os.DirEntry[str]]) -> None:
        gone = base.keys() - seen
        folders = {entry.name for entry in others if entry.is_dir(follow_symlinks=False)}
        if ".gitignore" in gone or ".gitignore" in {entry.name for entry in others} - folders:
            self.rules_now[level.path] = _read_rules(level.fd)
        for entry in others:
            name = entry.name
            if name in folders:
                differs = self._sort_folder(level, name, base.get(name))
            else:
                differs = self._sort_file(level, name, entry.stat(follow_symlinks=False), base.get(name))
            if differs:
                gone.add(name)
        if not seen <= base.keys():
            self._compare(level, base, seen, folders)
        gone &= base.keys()
        if gone:
            self.found.gone[level.path] = gone

    def _compare(self, level: _Level, base: Folder, seen: set[str], folders: set[str]) -> None:
        """Two names that are one file elsewhere: what is reviewed here would be overwritten there (CVE-2024-32002)."""
        first: dict[str, str] = {}
        # Those of the tree come first, so that it is the new name that is refused.
        for name in (*sorted(seen & base.keys()), *sorted(seen - base.keys())):
            other = first.setdefault(folded(name), name)
            if other == name or name in base or self._is_ignored(level, name, is_folder=name in folders):
                continue
            self._refuse(_join(level.path, name), f'is the same file as "{shown(other)}" on some systems')

    def _sort_folder(self, level: _Level, name: str, entry: Entry | None) -> bool:
        """What to do with a folder; true if it stands where the tree has something else."""
        path = _join(level.path, name)
        if entry is not None and entry.mode == MODULE:
            if not _is_empty(level.fd, name):
                self.found.left_out.append(path + "/")
            return False
        if entry is not None and entry.mode == FOLDER:
            level.todo.append(name)
            return False
        if path == ".git":
            return False
        if is_git_folder(name):
            self._refuse(path, "is a repository of its own")
        elif self._is_ignored(level, name, is_folder=True):
            self.found.left_out.append(path + "/")
        elif (flaw := flaw_of(name)) is not None:
            self._refuse(path, flaw)
        else:
            level.todo.append(name)
        return True

    def _sort_file(self, level: _Level, name: str, status: os.stat_result, entry: Entry | None) -> bool:
        """What to do with anything but a folder; true if the tree has something else in its place."""
        path = _join(level.path, name)
        tracked = entry is not None and entry.mode not in (FOLDER, MODULE)
        if path == ".git":
            return False
        if not tracked and is_git_folder(name):
            self._refuse(path, "is a repository of its own")
        elif not tracked and self._is_ignored(level, name, is_folder=False):
            self.found.left_out.append(path)
        elif not tracked and (flaw := flaw_of(name)) is not None:
            self._refuse(path, flaw)
        elif stat.S_ISREG(status.st_mode):
            self._sort_content(level, name, status)
        elif not stat.S_ISLNK(status.st_mode):
            self._refuse(path, "is neither a file nor a folder nor a link")
        elif is_module_file(name):
            self._refuse(path, "may not be a link")
        else:
            self._read_link(level, name)
        return not tracked

    def _sort_content(self, level: _Level, name: str, status: os.stat_result) -> None:
        path = _join(level.path, name)
        self.found.new_bytes += status.st_size
        if status.st_nlink > 1:
            self._refuse(path, "is a hard link; its content belongs to another file")
        elif status.st_size > self.bounds.file_bytes:
            self._refuse(path, f"is larger than {self.bounds.file_bytes:,} bytes")
        elif self.found.new_bytes > self.bounds.new_bytes:
            self._refuse(path, f"is where the new files exceed {self.bounds.new_bytes:,} bytes")
        else:
            self.found.readings.setdefault(level.path, []).append(Reading(name, status))

    def _read_link(self, level: _Level, name: str) -> None:
        path = _join(level.path, name)
        try:
            self.found.links[path] = os.readlink(name, dir_fd=level.fd)
        except OSError as error:  # pragma: no cover (a race with a process that should be dead)
            self._refuse(path, f"cannot be read: {error.strerror}")

    def _is_ignored(self, level: _Level, name: str, *, is_folder: bool) -> bool:
        """By the rules of the tree or by those that stand in the folder now.

        The tree's rules keep what an agent would uncover (.env); the present ones hide what a new project makes.
        """
        return self._is_level_ignored(level) or any(
            is_ignored(level.path, name, is_folder=is_folder, rules=rules, outer=self.snapshot.outer)
            for rules in (self.snapshot.rules, self.rules_now)
        )

    def _is_level_ignored(self, level: _Level) -> bool:
        """A folder that the tree holds is entered although the rules ignore it; what else is in it stays ignored."""
        if level.ignored is None:
            above, name = level.above, level.path.rpartition("/")[2]
            level.ignored = above is not None and self._is_ignored(above, name, is_folder=True)
        return level.ignored

    def _refuse(self, path: str, why: str) -> None:
        if len(self.found.faults) < self.bounds.faults:
            path = shown(path or ".")
            self.found.faults.append(
                WalkFault(path if len(path) < 300 else f"{path[:150]}...{path[-100:]}", why)
            )


@contextmanager
def opened(root: Path, folder: str) -> Iterator[int]:
    """A folder below the root, reached name by name and never through a link."""
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


def _is_untouched(fd: int, signs: Mapping[str, Stat]) -> bool:
    """Whether a folder has the names it was checked out with, and each file its sign: then it need not be listed."""
    if signs.get(HERE) != stat_of(os.fstat(fd)):
        return False
    try:
        for name, sign in signs.items():
            if sign != stat_of(os.stat(name, dir_fd=fd, follow_symlinks=False)):
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
