"""Cases that start from a commit of a repository: which commit is meant, and its files."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from podium.errors import ConfigurationError
from podium.git.repository import Repository, find, find_head
from podium.git.workdir.checkout import checkout


def commit_named(where: Path, name: str, place: str) -> str:
    """The whole id of a commit, branch or tag; raises with the place in the suite that names it."""
    with _repository(where, place) as repository:
        head = find_head(repository, name)
    if head is None or head.commit is None:
        raise ConfigurationError(f"{place}: {where} has no commit {name}")
    return head.commit


def files_at(where: Path, commit: str, folder: Path) -> None:
    """Write the files of a commit into a new folder; it shares nothing with the repository, and has no history."""
    with _repository(where, str(where)) as repository:
        head = find_head(repository, commit)
        if head is None:
            raise ConfigurationError(f"{where} has no commit {commit} any more")
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        checkout(repository, head.tree, folder)


@contextmanager
def _repository(where: Path, place: str) -> Iterator[Repository]:
    with tempfile.TemporaryDirectory(prefix="podium-compare-") as store:
        repository = find(where, Path(store))
        if repository is None:
            raise ConfigurationError(f"{place}: {where} is not in a git repository")
        yield repository
