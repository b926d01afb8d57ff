"""A project and the user's cache on different file systems, where nothing can be moved by renaming."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.kit import closing, new_project

FLOW = """\
podium: 1
name: flow
agents:
  w: {type: scripted, script: cast.yaml}
steps:
  write:
    agent: w
    prompt: Write.
    touches: ["*.txt"]
    gates: [{run: test -s a.txt}]
  parts:
    parallel: true
    steps:
      left: {agent: w, prompt: Left., touches: [left.txt]}
      right: {agent: w, prompt: Right., touches: [right.txt]}
  land: {git: {land: main, message: Land it}}
"""
CAST = """\
- {match: {step: write}, write: {a.txt: one}}
- {match: {step: left}, write: {left.txt: two}}
- {match: {step: right}, write: {right.txt: three}}
"""


@pytest.fixture
def other_file_system(tmp_path: Path) -> Iterator[Path]:
    device = tmp_path.stat().st_dev
    for place in ("/var/tmp", "/tmp", "/dev/shm"):
        if Path(place).is_dir() and Path(place).stat().st_dev != device:
            with tempfile.TemporaryDirectory(prefix="podium-", dir=place) as folder:
                yield Path(folder)
            return
    pytest.skip("this machine has one file system for all temporary folders")


@pytest.mark.parametrize("sandbox", ["auto", "limits"])
def test_agents_work_and_land_with_the_cache_on_another_file_system(
    tmp_path: Path, other_file_system: Path, sandbox: str
) -> None:
    files = {"flow.yaml": FLOW, "cast.yaml": CAST}
    with closing(new_project(tmp_path, files, XDG_CACHE_HOME=str(other_file_system))) as project:
        ended = project.podium("run", "flow.yaml", "--sandbox", sandbox, "--json")

        assert ended.code == 0, ended.err
        assert project.git("show", "--format=%s", "--name-only", "main").splitlines() == [
            "Land it",
            "",
            "a.txt",
            "left.txt",
            "right.txt",
        ]
