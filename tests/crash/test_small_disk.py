"""No room for Podium's own files at some moment of a run: a clear error, and the run goes on with room (issue 6, point 2).

A file system in memory, which needs root, is filled but for so many bytes. PODIUM_LEVELS says how many amounts of room
are tried.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.crash.story import FILES, WORKFLOW_FILE, artifacts, assert_whole
from tests.e2e.kit import Ended, Project, closing, new_project

LEVELS = int(os.environ.get("PODIUM_LEVELS", "3"))
SIZE = 64 << 20
WORDS = ("the disk is full", "No space left on device")


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    folder.mkdir()
    made = subprocess.run(
        ("mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=700", "podium-test", str(folder)),
        capture_output=True,
        check=False,
    )
    if made.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {made.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(("umount", "--lazy", str(folder)), check=True)


def free(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.req("R146", "R149")
def test_a_run_that_finds_no_room_says_so_and_goes_on_when_there_is_some(tmp_path: Path) -> None:
    needed = room_of_a_run(tmp_path / "undisturbed")
    counts = Counter[str]()
    for number in range(LEVELS):
        room = needed * number // LEVELS
        with closing(new_project(tmp_path / str(number), FILES)) as project:
            state_dir = project.root / ".podium"
            with small_disk(state_dir):
                ballast = state_dir / "ballast"
                ballast.write_bytes(bytes(free(state_dir) - room))
                done = project.podium("run", WORKFLOW_FILE)
                counts["short of room" if done.code else "enough"] += 1
                if done.code:
                    assert_clear(done, room)
                ballast.unlink()
                if done.code:
                    assert_goes_on(project, room)
                assert_whole(project, project.run_id())
                assert sorted(artifacts(project, project.run_id())) == [
                    "report/report.txt",
                    "whole/whole.txt",
                ]
    sys.stdout.write(f"\n{LEVELS} amounts of room up to {needed} bytes: {dict(counts)}\n")
    assert counts["short of room"]


def room_of_a_run(folder: Path) -> int:
    with closing(new_project(folder, FILES)) as project:
        state_dir = project.root / ".podium"
        with small_disk(state_dir):
            before = free(state_dir)
            done = project.podium("run", WORKFLOW_FILE)
            assert done.code == 0, done.err
            return before - free(state_dir)


def assert_clear(done: Ended, room: int) -> None:
    assert done.code == 1, f"{room}: {done.err}"
    assert "Traceback" not in done.err, f"{room}: {done.err}"
    assert any(word in done.err for word in WORDS), f"{room}: {done.err}"


def assert_goes_on(project: Project, room: int) -> None:
    with project.store() as store:
        exists = store is not None and store.heads()
    done = project.podium(*(("resume",) if exists else ("run", WORKFLOW_FILE)))
    assert done.code == 0, f"{room}: {done.err}"
