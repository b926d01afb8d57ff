"""The files of the commits up to one commit, the newest first."""

from __future__ import annotations

import os

from podium.fast_dataclass import dataclass
from podium.git.command import run
from podium.git.repository import Repository, refs

_MARK = b"\x01"


@dataclass(frozen=True, slots=True)
class FileHistory:
    commits: tuple[tuple[str, ...], ...]
    is_shallow: bool
    """Whether older commits are missing in this clone."""


def file_history(repository: Repository, commit: str, *, most: int) -> FileHistory:
    """Of up to `most` commits that are not merges: the paths that each one changed.

    Raises GitError if the clone lacks objects for it, as a partial one does.
    """
    # The folder of the refs knows where a shallow clone ends.
    out = run(
        refs(repository),
        "log",
        "--no-merges",
        "--no-renames",
        "--name-only",
        "-z",
        f"--max-count={most}",
        "--format=%x01",
        commit,
        "--",
    ).out
    commits = []
    for record in out.split(_MARK)[1:]:
        paths = tuple(os.fsdecode(raw) for raw in record.strip(b"\0\n").split(b"\0") if raw)
        commits.append(tuple(path.removeprefix("\n") for path in paths))
    return FileHistory(tuple(commits), (repository.common_dir / "shallow").exists())
