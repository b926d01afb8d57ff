"""The files of a run on a worker: what earlier attempts wrote is laid out for each attempt, what it writes is collected.

Each attempt has a folder of its own, so that a file that a sibling is writing is never taken for its work. Files are
linked, not copied; an attempt replaces files and does not change them in place.
"""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from podium.attempt.artifacts import ARTIFACTS, publish
from podium.attempt.host import Host
from podium.fast_dataclass import replace
from podium.git.command import Git
from podium.git.exchange import read_blob


class _Stamp(NamedTuple):
    inode: int
    size: int
    changed: int


class AttemptFiles(NamedTuple):
    """The folder of one attempt, and what was in it before."""

    folder: Path
    before: dict[str, _Stamp]

    def written(self) -> bytes:
        """An archive of the files that are new or differ; empty if there are none."""
        names = [name for name, stamp in _stamps(self.folder) if self.before.get(name) != stamp]
        if not names:
            return b""
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            for name in sorted(names):
                content = (self.folder / name).read_bytes()
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(content), 0o600
                tar.addfile(entry, io.BytesIO(content))
        return archive.getvalue()

    def discard(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


class RunFiles:
    """Belongs to one worker; thread-safe."""

    def __init__(self, folder: Path, git: Git, *, shared: Path | None = None) -> None:
        """`shared` is a folder of the run that its attempts here see as it is, and that is not handed over."""
        self._shared = shared
        self._all = folder / "all"
        self._attempts = folder / "attempts"
        self._git = git
        self._taken: set[str] = set()
        self._published = 0
        self._lock = threading.Lock()
        self._all.mkdir(mode=0o700, parents=True, exist_ok=True)

    def lay_out(self, blobs: list[str], published: list[Any], host: Host, number: int) -> AttemptFiles:
        """The files that these blobs hold, and the artifacts of these steps, in a folder for one attempt."""
        with self._lock:
            for name in blobs:
                if name not in self._taken:
                    unpack(read_blob(self._git, name), self._all)
                    self._taken.add(name)
            own = replace(host, state_dir=self._all)
            for path, artifacts in published[self._published :]:
                publish(own, path, {ARTIFACTS: artifacts}, republish=True)
            self._published = max(self._published, len(published))
            folder = self._attempts / str(number)
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(self._all, folder, copy_function=os.link)
            if self._shared is not None:
                self._shared.mkdir(mode=0o700, parents=True, exist_ok=True)
                own_dir = replace(host, state_dir=folder).run_dir
                own_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
                (own_dir / self._shared.name).symlink_to(self._shared)
        return AttemptFiles(folder, dict(_stamps(folder)))


def unpack(archive: bytes, folder: Path, *, only: tuple[str, ...] = ("",)) -> None:
    """Write the files of an archive whose names begin with one of these texts."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for entry in tar.getmembers():
            if not entry.name.startswith(only):
                continue
            # Not over a file that an attempt has linked.
            (folder / entry.name).unlink(missing_ok=True)
            tar.extract(entry, folder, filter="data")


def _stamps(folder: Path) -> Iterator[tuple[str, _Stamp]]:
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            facts = path.stat()
            yield path.relative_to(folder).as_posix(), _Stamp(facts.st_ino, facts.st_size, facts.st_mtime_ns)
