"""Real repositories for the tests, made by plain git and independent of our code."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from podium.core.types import Tree
from podium.git.repository import Person, Repository, Signature, find, read_head
from podium.git.trees.snapshot import Snapshot
from podium.git.workdir.capture import Captured, Refused, capture
from podium.git.workdir.checkout import checkout
from podium.git.workdir.walk import Bounds
from tests.repositories import make_repository

ANN = Person("Ann", "ann@example.com")
NOBODY = 65534
SIGNED = Signature(ANN, ANN, 1_700_000_000)

_ENV = {
    "GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.com", "GIT_AUTHOR_DATE": "1700000000 +0000",
    "GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@example.com", "GIT_COMMITTER_DATE": "1700000000 +0000",
    "GIT_CONFIG_NOSYSTEM": "1",
}  # fmt: skip


def git(folder: Path, *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        ("git", *args),
        cwd=folder,
        input=stdin,
        capture_output=True,
        check=False,
        env={**os.environ, **_ENV, **(env or {})},
    )
    assert done.returncode == 0, f"git {args}: {done.stderr.decode()}"
    return os.fsdecode(done.stdout).removesuffix("\n")


def put(folder: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


@dataclass(frozen=True)
class Project:
    """A user's repository together with Podium's own folder."""

    repository: Repository
    spare: Path
    """The folder for workspaces."""

    @property
    def root(self) -> Path:
        return self.repository.root

    def commit(self, files: Mapping[str, str | bytes], message: str = "more") -> str:
        put(self.root, files)
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "-m", message)
        return git(self.root, "rev-parse", "HEAD")

    def link(self) -> None:
        """Add a link to the project; only then may an agent add another."""
        (self.root / "current").symlink_to("README.md")
        self.commit({})

    def tree(self) -> Tree:
        return read_head(self.repository).tree

    def checkout(self, name: str = "work", tree: Tree | None = None) -> tuple[Path, Snapshot]:
        folder = self.spare / name
        return folder, checkout(self.repository, tree or self.tree(), folder)

    def capture(self, folder: Path, snapshot: Snapshot, bounds: Bounds | None = None) -> Captured | Refused:
        return capture(self.repository.objects, folder, snapshot, bounds)

    def taken(self, folder: Path, snapshot: Snapshot) -> Tree:
        captured = self.capture(folder, snapshot)
        assert isinstance(captured, Captured), captured
        return captured.tree

    def edited(self, name: str, files: Mapping[str, str | bytes], tree: Tree | None = None) -> Tree:
        """The tree of a checkout after some files were written."""
        folder, snapshot = self.checkout(name, tree)
        put(folder, files)
        return self.taken(folder, snapshot)

    def files(self, tree: str) -> list[str]:
        out = git(self.root, "ls-tree", "-r", "-z", "--name-only", tree)
        return out.split("\0")[:-1]


def new_project(folder: Path, files: Mapping[str, str | bytes] | None = None, *options: str) -> Project:
    root = folder / "project"
    root.mkdir(parents=True)
    if options:
        git(root, "init", "-q", "-b", "main", *options)
    else:
        make_repository(root)
    (folder / "spare").mkdir()
    repository = find(root, folder / "store")
    assert repository is not None
    project = Project(repository, folder / "spare")
    if files is not None:
        project.commit(files, "first")
    return project


def tree_by_git(folder: Path, scratch: Path, *, ignored: bool = True) -> str:
    """The tree of a trusted folder as git computes it, to compare with."""
    git(folder.parent, "init", "-q", "--bare", str(scratch))
    env = {"GIT_DIR": str(scratch), "GIT_WORK_TREE": str(folder), "GIT_INDEX_FILE": str(scratch / "index")}
    git(folder, "add", "-A", *(("-f",) if ignored else ()), ".", env=env)
    return git(folder, "write-tree", env=env)


@contextmanager
def ordinary_user(*folders: Path) -> Iterator[None]:
    """Run as an ordinary user, because root is never refused; as root, give the folders to one and continue as that user."""
    euid = os.geteuid()
    if euid != 0:
        yield
        return
    for folder in folders:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, NOBODY, -1, follow_symlinks=False)
        for path in folder.parents:
            if path.stat().st_uid == 0 and path.stat().st_mode & 0o11 != 0o11:
                path.chmod(path.stat().st_mode | 0o11)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(euid)
