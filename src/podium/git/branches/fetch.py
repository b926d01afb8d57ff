"""Reads files of a remote repository without a checkout, so that no hook, filter or link takes effect."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from podium.fast_dataclass import dataclass
from podium.git.command import Git, run, text


@dataclass(frozen=True, slots=True)
class Fetched:
    commit: str
    files: dict[str, bytes]
    """The content of regular files by path."""


def fetch_files(url: str, ref: str, *, accept: Callable[[str], bool], limit: int) -> Fetched:
    """The files of a branch, a tag or HEAD that `accept` selects, up to `limit` bytes each; raises GitError."""
    with tempfile.TemporaryDirectory(prefix="podium-fetch-") as folder:
        git = Git(Path(folder) / "git", surroundings="personal")
        run(git, "init", "--quiet", "--bare", str(git.git_dir))
        run(git, "fetch", "--quiet", "--depth=1", "--no-tags", "--end-of-options", url, ref)
        commit = text(git, "rev-parse", "--verify", "FETCH_HEAD^{commit}")
        files = {}
        for line in run(git, "ls-tree", "-r", "-l", "-z", commit).out.decode("utf-8", "replace").split("\0"):
            fields, _, path = line.partition("\t")
            mode, _, blob, size = fields.split() if path else ("", "", "", "0")
            if mode.startswith("100") and accept(path) and int(size) <= limit:
                files[path] = run(git, "cat-file", "blob", blob).out
        return Fetched(commit, files)
