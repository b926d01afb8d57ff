"""A process that outlives its agent and changes the folder while it is captured: refused, or taken as it was."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from podium.git.repository import trees
from podium.git.trees.listing import files, read_listing
from podium.git.trees.objects import name_of
from podium.git.workdir.capture import Captured
from tests.git.kit import Project, new_project, put

pytestmark = pytest.mark.security

ROUNDS = 1_000 if os.environ.get("PODIUM_FULL") else 100


@contextmanager
def meanwhile(deed: Callable[[], None]) -> Iterator[None]:
    over = threading.Event()

    def go_on() -> None:
        while not over.is_set():
            deed()

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = new_project(tmp_path, {"src/app.py": "app\n", **{f"pad/{n}": "" for n in range(50)}})
    made.link()
    return made


@pytest.mark.parametrize("place", ["src/app.py", "src"])
def test_a_link_that_comes_and_goes_never_brings_in_what_it_points_to(
    project: Project, tmp_path: Path, place: str
) -> None:
    put(tmp_path, {"outside/app.py": "SECRET\n"})
    folder, snapshot = project.checkout()
    put(folder, {"src/app.py": "work\n"})
    true, false = folder / place, tmp_path / "kept"
    target = tmp_path / "outside" / ("app.py" if place.endswith("py") else ".")

    def swap() -> None:
        true.rename(false)
        true.symlink_to(target)
        true.unlink()
        false.rename(true)

    secret = name_of(project.repository.objects, "blob", b"SECRET\n")
    with meanwhile(swap):
        answers = [project.capture(folder, snapshot) for _ in range(ROUNDS)]

    captured = {answer.tree for answer in answers if isinstance(answer, Captured)}
    for tree in captured:
        listing = read_listing(trees(project.repository), tree)
        assert secret not in {entry.name for _, entry in files(listing)}
    assert (tmp_path / "outside/app.py").read_text("utf-8") == "SECRET\n"


def test_a_file_that_grows_is_refused_or_taken_whole(project: Project) -> None:
    folder, snapshot = project.checkout()
    versions = [b"%d\n" % number * 3_000 for number in range(10)]
    known = {name_of(project.repository.objects, "blob", content) for content in versions}
    app = folder / "src/app.py"
    app.write_bytes(versions[0])
    turns = iter(range(1 << 40))

    def rewrite() -> None:
        other = folder / "build.log"
        other.write_bytes(versions[next(turns) % len(versions)])
        other.rename(app)

    with meanwhile(rewrite):
        answers = [project.capture(folder, snapshot) for _ in range(ROUNDS)]

    for tree in {answer.tree for answer in answers if isinstance(answer, Captured)}:
        listing = read_listing(trees(project.repository), tree)
        entry = listing.get("src", {}).get("app.py")
        assert entry is None or entry.name in known
