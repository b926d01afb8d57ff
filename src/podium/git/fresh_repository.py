"""Makes a repository with one commit of the files in a folder, for the projects of trials."""

from __future__ import annotations

from pathlib import Path

from podium.git.command import Git, run


def make_repository(folder: Path) -> None:
    """The folder must have been written by Podium alone. Ignored files are part of the commit."""
    git = Git(folder / ".git", work_tree=folder)
    run(git, "init", "--quiet", "--initial-branch=main", str(folder))
    person = ("-c", "user.name=podium", "-c", "user.email=podium@localhost")
    run(git, "add", "--all", "--force", ".")
    run(git, *person, "commit", "--quiet", "--no-verify", "--allow-empty", "--message=Start")
