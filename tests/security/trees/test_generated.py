"""Random hostile folders against a second opinion: what is captured is what a plain walk finds, or it is refused.

500 in CI, 5,000 with FULL=1 (S2 of the facts). Nothing outside is written, and nothing outside is read into a tree.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podium.core.types import Tree
from podium.git.repository import trees
from podium.git.trees.listing import files, read_listing
from podium.git.trees.snapshot import Snapshot
from podium.git.workdir.capture import Captured
from podium.git.workdir.checkout import update
from podium.git.workdir.folder import remove
from tests.git.kit import Project, new_project
from tests.security.trees.oracle import look

pytestmark = pytest.mark.security

EXAMPLES = 5_000 if os.environ.get("PODIUM_FULL") else 500
BASE = {
    "README.md": "hello\n",
    "src/app.py": "app\n",
    "src/deep/x": "x\n",
    ".gitignore": "build/\n*.log\n",
    "odd\nname": "the user's own\n",
}
NAMES = st.sampled_from(
    "a b A c é E\u0301 e\u0301 README.md readme.md src SRC app.py deep x build x.log .git .GIT git~1 .g\u200cit HEAD objects "
    "refs back\\slash \u202ex \x1b[0m -rf $(id) .claude hooks current .gitignorex".split(" ")
) | st.just("odd\nname")
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
TARGETS = st.lists(
    st.sampled_from([*"ab.", "..", "..", "src", "deep", ".git", "current", ""]), min_size=1, max_size=5
).map("/".join)
Kind = Literal["file", "program", "link", "pipe", "hard", "folder", "gone"]
KINDS = st.sampled_from(["file", "file", "file", "program", "link", "link", "pipe", "hard", "folder", "gone"])
DEEDS = st.lists(st.tuples(KINDS, PATHS, TARGETS | st.just("/etc/passwd")), max_size=10)


def do(root: Path, secret: Path, kind: Kind, path: str, target: str) -> None:
    """One deed of an agent, which itself never goes through a link."""
    names = path.split("/")
    fd = os.open(root, os.O_RDONLY)
    try:
        for name in names[:-1]:
            if not _is_there(fd, name):
                os.mkdir(name, dir_fd=fd)
            below = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY, dir_fd=fd)
            os.close(fd)
            fd = below
        if _is_there(fd, names[-1]):
            remove(root, fd, names[-1])
        _make(fd, names[-1], kind, target, secret)
    except NotADirectoryError:
        pass  # A file stands on the way.
    except OSError as error:
        if error.errno != 40:  # ELOOP: a link does.
            raise
    finally:
        os.close(fd)


def _is_there(fd: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _make(fd: int, name: str, kind: Kind, target: str, secret: Path) -> None:
    match kind:
        case "file" | "program":
            mode = 0o755 if kind == "program" else 0o644
            with os.fdopen(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode, dir_fd=fd), "w") as file:
                file.write(target)
        case "link":
            os.symlink(target or ".", name, dir_fd=fd)
        case "pipe":
            os.mkfifo(name, dir_fd=fd)
        case "hard":
            os.link(secret, name, dst_dir_fd=fd)
        case "folder":
            os.mkdir(name, dir_fd=fd)
        case "gone":
            pass


class World:
    def __init__(self, folder: Path) -> None:
        self.project: Project = new_project(folder, BASE)
        self.project.link()
        self.secret = folder / "secret"
        self.secret.write_text("SECRET\n", "utf-8")
        self.tree: Tree = self.project.tree()
        self.folder, self.snapshot = self.project.checkout()
        self.base = self.listed(self.tree)
        self.seen = {"captured": 0, "refused": 0}

    def listed(self, tree: Tree) -> dict[str, tuple[str, str]]:
        listing = read_listing(trees(self.project.repository), tree)
        return {path: (entry.mode, entry.name) for path, entry in files(listing)}

    def again(self) -> Snapshot:
        """The folder as it was, whatever stands in it."""
        self.snapshot = update(self.project.repository, self.snapshot, self.folder, self.tree)
        return self.snapshot


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("trees"))


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(DEEDS)
def check_capture(world: World, deeds: list[tuple[Kind, str, str]]) -> None:
    snapshot = world.again()
    for kind, path, target in deeds:
        do(world.folder, world.secret, kind, path, target)
    opinion = look(world.folder, {path: mode for path, (mode, _) in world.base.items()})

    answer = world.project.capture(world.folder, snapshot)

    if isinstance(answer, Captured):
        world.seen["captured"] += 1
        assert opinion.faults == []
        assert world.listed(answer.tree) == opinion.files
    else:
        world.seen["refused"] += 1
        assert opinion.faults or opinion.doubts, answer.faults
    assert world.secret.read_text("utf-8") == "SECRET\n"
    world.again()
    assert look(world.folder, {}).files == world.base


@pytest.mark.timeout(3600)
def test_a_capture_is_what_a_plain_walk_finds_or_a_refusal(world: World) -> None:
    """A generator that only ever makes bad folders, or good ones, would prove little."""
    check_capture(world)

    assert min(world.seen.values()) > EXAMPLES // 20, world.seen
