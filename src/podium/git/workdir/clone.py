"""Adds a private repository to a checkout for an agent that uses git, before the agent starts.

Rule: Podium writes into this .git only here. Afterwards it belongs to the agent, and Podium never reads it. The packed
history is an exception: if its files still have the recorded stats, they are moved into the next clone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, Literal, TypeAlias

from podium.fast_dataclass import dataclass
from podium.git.command import run, text
from podium.git.repository import NEUTRAL_ATTRIBUTES, Repository, refs, tree_of, trees
from podium.git.trees.listing import MODULE, read_listing
from podium.git.trees.snapshot import Snapshot, Stat, stat_of
from podium.git.workdir.checkout import checkout
from podium.git.workdir.folder import (
    Owner,
    copy_file,
    discard,
    give_ownership,
    make_folder,
    names_in,
    wait_for_tick,
)
from podium.git.workdir.index import IndexLines, write_index
from podium.git.workdir.reset import CannotReset
from podium.git.workdir.walk import open_folder

BRANCH: Final = "podium"
COMMITS: Final = 20
Depth: TypeAlias = int | Literal["full"]
MOST_COPIED: Final = 300
PACKS: Final = ".git/objects/pack"

# The agent may commit under any name, because only its files are captured.
_CONFIG: Final = """[core]
	repositoryformatversion = {version}
	filemode = true
	bare = false
	logallrefupdates = true
[gc]
	auto = 0
[user]
	name = agent
	email = agent@podium.invalid
{extensions}"""


@dataclass(frozen=True, slots=True)
class Extent:
    """What of the project's history a clone has: so many commits of each branch, and the tips of further refs."""

    depth: Depth = COMMITS
    tips: tuple[tuple[str, str], ...] = ()
    """The full name of each ref, and the object it names."""


USUAL: Final = Extent()


@dataclass(frozen=True, slots=True)
class History:
    """The packed commits before a run, which are moved from clone to clone."""

    commit: str | None
    """The last of the commits; None for a branch without one."""
    boundary: tuple[str, ...]
    """Commits whose parents are left out."""
    folder: Path
    """Where the files are while no clone uses them."""
    files: Mapping[str, Stat] = field(default_factory=dict)
    """The stat of each file, recorded when it was written or moved."""
    lines: IndexLines = field(default_factory=IndexLines)
    """The lines of the last index in this folder, of which most stay the same."""
    extent: Extent = USUAL


def clone(repository: Repository, commit: str, folder: Path, *, history: int = COMMITS) -> Snapshot:
    """Check out a commit together with a repository that has the last commits and no remote."""
    snapshot = checkout(repository, tree_of(repository, commit), folder)
    packed = pack_history(repository, commit, folder.parent / f"{folder.name}.history", Extent(history))
    add_repository(repository, folder, snapshot, commit, packed)
    discard(packed.folder)
    return snapshot


def tips_of(repository: Repository, patterns: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The branches and tags of the project that these globs name. Raises KeyError with a glob that names none."""
    listed = text(
        refs(repository), "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags"
    )
    named = [(name, tip) for tip, _, name in (line.partition(" ") for line in listed.split("\n") if line)]
    tips: dict[str, str] = {}
    for pattern in patterns:
        matches = {name: tip for name, tip in named if fnmatchcase(name.split("/", 2)[2], pattern)}
        if not matches:
            raise KeyError(pattern)
        tips |= matches
    own = (f"refs/heads/{BRANCH}", f"refs/heads/{BRANCH}/")
    return tuple(
        sorted(item for item in tips.items() if item[0] != own[0] and not item[0].startswith(own[1]))
    )


def pack_history(repository: Repository, commit: str | None, folder: Path, extent: Extent = USUAL) -> History:
    """Pack a commit, further tips, and the commits before them into a new folder."""
    folder.mkdir(0o700, parents=True)
    if commit is None and not extent.tips:
        return History(None, (), folder, extent=extent)
    source = refs(repository)
    limit = () if extent.depth == "full" else (f"--max-count={extent.depth}",)
    starts = tuple(dict.fromkeys((*(() if commit is None else (commit,)), *(tip for _, tip in extent.tips))))
    revisions = [(*limit, start) for start in starts]
    lines = [
        line.split(" ")
        for each in revisions
        for line in text(source, "rev-list", "--parents", *each).split("\n")
        if line
    ]
    commits = {commit_id for commit_id, *_ in lines}
    shallow = repository.common_dir / "shallow"
    ends = set(shallow.read_text("utf-8").split()) if shallow.exists() else set()
    boundary = tuple(
        commit_id for commit_id, *parents in lines if commit_id in ends or not commits.issuperset(parents)
    )
    _pack(repository, folder, *revisions)
    with open_folder(folder, "pack") as packs, open_folder(folder, "") as top:
        files = {name: _stat(packs, name) for name in names_in(packs)}
        placed = _move(files, packs, top, None)
    return History(commit, tuple(dict.fromkeys(boundary)), folder, placed, extent=extent)


def add_repository(
    repository: Repository,
    folder: Path,
    snapshot: Snapshot,
    commit: str,
    history: History,
    owner: Owner | None = None,
) -> History:
    """Add `.git` to a checkout of this commit: the last commit of the history, or a child of it."""
    git_dir = folder / ".git"
    for name in ("objects/pack", "refs/heads", "refs/tags", "info"):
        (git_dir / name).mkdir(parents=True)
    sha256 = repository.objects.hash == "sha256"
    extensions = "[extensions]\n\tobjectFormat = sha256\n" if sha256 else ""
    (git_dir / "config").write_text(_CONFIG.format(version=int(sha256), extensions=extensions), "utf-8")
    (git_dir / "info/attributes").write_text(NEUTRAL_ATTRIBUTES, "utf-8")
    (git_dir / "info/exclude").write_bytes(_exclude(repository))
    if history.boundary:
        (git_dir / "shallow").write_text("".join(f"{name}\n" for name in history.boundary), "utf-8")
    if commit != history.commit and not _copy_new_objects(
        repository, git_dir / "objects", snapshot, commit, history
    ):
        since = () if history.commit is None else ("--not", history.commit)
        _pack(repository, git_dir / "objects", (commit, *since))
    (git_dir / "refs/heads" / BRANCH).write_text(f"{commit}\n", "utf-8")
    if history.extent.tips:
        lines = "".join(f"{tip} {name}\n" for name, tip in history.extent.tips)
        (git_dir / "packed-refs").write_text(lines, "utf-8", "surrogateescape")
    (git_dir / "HEAD").write_text(f"ref: refs/heads/{BRANCH}\n", "utf-8")
    write_index(git_dir / "index", folder, snapshot, repository.objects.hash, history.lines)
    give_ownership(git_dir, owner)
    with open_folder(history.folder, "") as source, open_folder(folder, PACKS) as target:
        placed = _move(history.files, source, target, owner)
    wait_for_tick(folder)
    return replace(history, files=placed)


def reclaim_history(folder: Path, history: History) -> History:
    """Move the history out of a clone that no process uses any more; raises OSError if an agent changed it."""
    with open_folder(folder, PACKS) as source, open_folder(history.folder, "") as target:
        return replace(history, files=_move(history.files, source, target, None))


def _exclude(repository: Repository) -> bytes:
    exclude = repository.common_dir / "info/exclude"
    return exclude.read_bytes() if exclude.is_file() else b""


def _copy_new_objects(
    repository: Repository, target: Path, snapshot: Snapshot, commit: str, history: History
) -> bool:
    """Copy the objects that the history does not have; False if they are many, or git has already packed one."""
    before = read_listing(trees(repository), tree_of(repository, history.commit))
    names = {commit, snapshot.tree}
    for path, entries in snapshot.listing.items():
        old = before.get(path, {})
        if old is not entries:
            new = (
                entry for name, entry in entries.items() if entry != old.get(name) and entry.mode != MODULE
            )
            names.update(entry.name for entry in new)
        if len(names) > MOST_COPIED:
            return False
    with suppress(FileNotFoundError):
        for name in names:
            with make_folder(target, name[:2]) as fd:
                copy_file(repository.objects.folder / name[:2] / name[2:], fd, name[2:], 0o444)
        return True
    return False


def _pack(repository: Repository, target: Path, *revisions: tuple[str, ...]) -> None:
    """Pack the objects of some revisions into an object folder."""
    source = refs(repository)
    listed = [run(source, "rev-list", "--objects", "--no-object-names", *each).out for each in revisions]
    objects = listed[0] if len(listed) == 1 else b"".join(dict.fromkeys(b"".join(listed).splitlines(True)))
    # git creates a pack in its own object folder and renames it, which fails across file systems, and the user's
    # repository and the cache are often on different ones. So git works in the new folder and only reads the old one.
    alternates = target / "info/alternates"
    for name in ("info", "pack"):
        (target / name).mkdir(exist_ok=True)
    alternates.write_text(f"{repository.objects.folder}\n", "utf-8")
    # Search for no new deltas: existing ones are reused, and the copy is kept only for minutes.
    packing = replace(trees(repository), objects=target)
    run(packing, "pack-objects", "-q", "--window=0", str(target / "pack/pack"), stdin=objects)
    alternates.unlink()


def _move(files: Mapping[str, Stat], source: int, target: int, owner: Owner | None) -> dict[str, Stat]:
    """Move files between open folders if all have the recorded stats; returns their new ones."""
    for name, recorded in files.items():
        if _stat(source, name) != recorded:
            raise CannotReset(f"{name} was changed")
    for name in files:
        os.rename(name, name, src_dir_fd=source, dst_dir_fd=target)
        if owner is not None:
            os.chown(name, *owner, dir_fd=target, follow_symlinks=False)
    return {name: _stat(target, name) for name in files}


def _stat(folder: int, name: str) -> Stat:
    return stat_of(os.stat(name, dir_fd=folder, follow_symlinks=False))
