"""Makes a private clone for an agent that uses git, with its own objects, before the agent starts.

Rule: Podium writes into this .git only here. Afterwards it belongs to the agent, and Podium never reads it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from podium.git.command import run, text
from podium.git.repository import NEUTRAL_ATTRIBUTES, Repository, refs, tree_of, trees
from podium.git.trees.snapshot import Snapshot
from podium.git.workdir.checkout import checkout

BRANCH: Final = "podium"

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


def clone(repository: Repository, commit: str, folder: Path, *, history: int = 20) -> Snapshot:
    """Check out a commit together with a repository that has the last commits and no remote."""
    snapshot = checkout(repository, tree_of(repository, commit), folder)
    git_dir = folder / ".git"
    for name in ("objects/pack", "refs/heads", "refs/tags", "info"):
        (git_dir / name).mkdir(parents=True)
    sha256 = repository.objects.hash == "sha256"
    extensions = "[extensions]\n\tobjectFormat = sha256\n" if sha256 else ""
    (git_dir / "config").write_text(_CONFIG.format(version=int(sha256), extensions=extensions), "utf-8")
    (git_dir / "info/attributes").write_text(NEUTRAL_ATTRIBUTES, "utf-8")
    (git_dir / "info/exclude").write_bytes(_exclude(repository))
    _copy_history(repository, commit, git_dir, history)
    (git_dir / "refs/heads" / BRANCH).write_text(f"{commit}\n", "utf-8")
    (git_dir / "HEAD").write_text(f"ref: refs/heads/{BRANCH}\n", "utf-8")
    index = replace(trees(repository), work_tree=folder, index=git_dir / "index")
    run(index, "read-tree", snapshot.tree)
    run(index, "update-index", "-q", "--refresh", codes=(0, 1))
    return snapshot


def _exclude(repository: Repository) -> bytes:
    exclude = repository.common_dir / "info/exclude"
    return exclude.read_bytes() if exclude.is_file() else b""


def _copy_history(repository: Repository, commit: str, git_dir: Path, history: int) -> None:
    source = refs(repository)
    limit = f"--max-count={history}"
    lines = [line.split(" ") for line in text(source, "rev-list", "--parents", limit, commit).split("\n")]
    commits = {commit_id for commit_id, *_ in lines}
    shallow = repository.common_dir / "shallow"
    ends = set(shallow.read_text("utf-8").split()) if shallow.exists() else set()
    boundary = [
        commit_id for commit_id, *parents in lines if commit_id in ends or not commits.issuperset(parents)
    ]
    if boundary:
        (git_dir / "shallow").write_text("".join(f"{name}\n" for name in boundary), "utf-8")
    objects = run(source, "rev-list", "--objects", "--no-object-names", limit, commit).out
    # git creates a pack in its own object folder and renames it, which fails across file systems, and the user's
    # repository and the cache are often on different ones. So git works in the new folder and only reads the old one.
    target = git_dir / "objects"
    alternates = target / "info/alternates"
    alternates.parent.mkdir()
    alternates.write_text(f"{repository.objects.folder}\n", "utf-8")
    # Search for no new deltas: existing ones are reused, and the copy is kept only for minutes.
    packing = replace(trees(repository), objects=target)
    run(packing, "pack-objects", "-q", "--window=0", str(target / "pack/pack"), stdin=objects)
    alternates.unlink()
