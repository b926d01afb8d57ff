"""What capturing a folder costs beside `git status` on it: both know nothing, or both know what was checked out.

Figures are processor time, ours and that of all children. The two are measured in turns and the best of each is
taken, so that a busy moment does not decide the ratio.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from bench.engine import Cost
from bench.sandboxes import spent
from podium.git.repository import find, read_head
from podium.git.workdir.capture import Captured, capture
from podium.git.workdir.clone import clone

FILES: Final = 5_000
ROUNDS: Final = 15
WHOLE: Final = 4.0
SOME: Final = 1.5


def captures() -> tuple[Cost, ...]:
    with tempfile.TemporaryDirectory() as folder:
        root, work = Path(folder) / "project", Path(folder) / "work"
        _project(root)
        repository = find(root, Path(folder) / "store")
        assert repository is not None
        head = read_head(repository).commit
        assert head is not None
        known = clone(repository, head, work)
        unknown = replace(known, stats={})
        _git(work, "read-tree", "HEAD", index="cold")

        def captured(**what: bool) -> None:
            found = capture(repository.objects, work, unknown if what.get("cold") else known)
            assert isinstance(found, Captured)

        whole = _both(lambda: captured(cold=True), lambda: _git(work, "status", "--porcelain", index="cold"))
        for number in range(3):
            (work / f"pkg{number}/mod{number}/f{number}.py").write_text("changed\n", "utf-8")
        some = _both(captured, lambda: _git(work, "status", "--porcelain"))
    return (
        _cost(f"capture of {FILES:,} files, all read", *whole, WHOLE),
        _cost(f"capture of {FILES:,} files, three changed", *some, SOME),
    )


def _cost(name: str, ours: float, git: float, bound: float) -> Cost:
    return Cost(name, ours / git, "x", bound, detail=f"{ours * 1e3:.0f} ms, git status {git * 1e3:.0f} ms")


def _both(ours: Callable[[], None], theirs: Callable[[], None]) -> tuple[float, float]:
    pairs = [(_seconds(ours), _seconds(theirs)) for _ in range(ROUNDS)]
    return min(own for own, _ in pairs), min(git for _, git in pairs)


def _seconds(deed: Callable[[], None]) -> float:
    began = spent()
    deed()
    return spent() - began


def _project(root: Path) -> None:
    for number in range(FILES):
        path = root / f"pkg{number % 50}/mod{number % 250}/f{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"x = {number}\n" * 60, "utf-8")
    _git(root, "init", "-q")
    _git(root, "add", "-A")
    _git(root, "-c", "user.name=a", "-c", "user.email=a@b.invalid", "commit", "-q", "-m", "all")


def _git(folder: Path, *args: str, index: str = "index") -> None:
    # Without optional locks: git would store what it has learnt, and know more the next time.
    env = {"PATH": os.environ["PATH"], "GIT_OPTIONAL_LOCKS": "0", "GIT_INDEX_FILE": f".git/{index}"}
    subprocess.run(("git", *args), cwd=folder, env=env, check=True, stdout=subprocess.DEVNULL)
