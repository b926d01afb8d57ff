"""Files of a repository somewhere else, read without checking anything out: no hook, filter or link has a say."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from podium.git.command import Git, run, text


@dataclass(frozen=True, slots=True)
class Fetched:
    commit: str
    files: dict[str, bytes]
    """By path; only regular files."""


def fetch_files(url: str, ref: str, *, wanted: Callable[[str], bool], limit: int) -> Fetched:
    """The wanted files of a branch, a tag or HEAD, each at most `limit` bytes long. Raises GitError."""
    with tempfile.TemporaryDirectory(prefix="podium-fetch-") as folder:
        git = Git(Path(folder) / "git", surroundings="personal")
        run(git, "init", "--quiet", "--bare", str(git.git_dir))
        run(git, "fetch", "--quiet", "--depth=1", "--no-tags", "--end-of-options", url, ref)
        commit = text(git, "rev-parse", "--verify", "FETCH_HEAD^{commit}")
        found = {}
        for line in run(git, "ls-tree", "-r", "-l", "-z", commit).out.decode("utf-8", "replace").split("\0"):
            about, _, path = line.partition("\t")
            mode, _, blob, size = about.split() if path else ("", "", "", "0")
            if mode.startswith("100") and wanted(path) and int(size) <= limit:
                found[path] = run(git, "cat-file", "blob", blob).out
        return Fetched(commit, found)
