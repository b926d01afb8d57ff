"""What a run starts from reaches the exchange, also when another run makes the branch there at the same moment."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from podium.git.exchange import ExchangeFault, publish_start
from podium.git.repository import Repository, find

MAKES_IT_FIRST = '#!/bin/sh\ncase "$1" in refs/heads/*) git update-ref "$1" "$3"; exit 1;; esac\n'
REFUSES = '#!/bin/sh\ncase "$1" in refs/heads/*) exit 1;; esac\n'


def git(folder: Path, *args: str) -> str:
    command = ("git", "-c", "user.name=a", "-c", "user.email=a@b", *args)
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def places(folder: Path, hook: str) -> tuple[Repository, Path, str]:
    """A project with a commit, a bare exchange with this hook, and the commit."""
    project, exchange = folder / "project", folder / "exchange.git"
    project.mkdir()
    git(folder, "init", "-q", "--bare", "-b", "main", str(exchange))
    (exchange / "hooks").mkdir(exist_ok=True)
    (exchange / "hooks/update").write_text(hook)
    (exchange / "hooks/update").chmod(0o755)
    git(project, "init", "-q", "-b", "main")
    git(project, "commit", "-q", "--allow-empty", "-m", "first")
    repository = find(project, folder / "store")
    assert repository is not None
    return repository, exchange, git(project, "rev-parse", "HEAD")


def test_a_branch_that_another_run_makes_meanwhile_is_taken_as_it_is(tmp_path: Path) -> None:
    repository, exchange, commit = places(tmp_path, MAKES_IT_FIRST)

    publish_start(repository, str(exchange), "r1", [commit], "main", commit)

    assert git(exchange, "rev-parse", "main") == commit


def test_an_exchange_that_refuses_the_branch_is_a_fault(tmp_path: Path) -> None:
    repository, exchange, commit = places(tmp_path, REFUSES)

    with pytest.raises(ExchangeFault, match="does not work"):
        publish_start(repository, str(exchange), "r1", [commit], "main", commit)
