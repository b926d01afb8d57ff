"""A home folder that is the project itself: workspaces stay outside of it (R011, decision 16)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

FLOW = """\
podium: 1
name: dotfiles
agents: {w: {type: scripted, script: cast.yaml}}
gates: {tests: {run: [grep, -q, good, a.txt]}}
steps:
  work: {agent: w, prompt: Do it., touches: [a.txt], gates: [tests]}
  check: {review: w, of: work}
  list: {run: [sh, -c, "ls -a"], output: lines}
outputs: {files: "${{ steps.list.output }}"}
"""
CAST = [
    {"match": {"step": "work"}, "write": {"a.txt": "good\n"}, "text": "done"},
    {
        "match": {"step": "check"},
        "text": '{"decision": "approve", "score": 9, "findings": [], "summary": "ok"}',
    },
]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    files = {
        "flow.yaml": FLOW,
        "cast.yaml": json.dumps(CAST),
        "a.txt": "start\n",
        ".gitignore": ".podium/\n.cache/\n",
    }
    with closing(new_project(tmp_path, files, HOME=str(tmp_path / "project"), XDG_CACHE_HOME="")) as project:
        yield project


@pytest.mark.parametrize("level", ["bubblewrap", "limits"])
def test_a_home_folder_under_git_is_a_project_like_any_other(project: Project, level: str) -> None:
    done = project.podium("run", "flow.yaml", "--sandbox", level, "--json")

    assert done.code == 0, done.err
    assert sorted(json.loads(done.out)["outputs"]["files"]) == [
        ".", "..", ".gitignore", "a.txt", "cast.yaml", "flow.yaml"
    ]  # fmt: skip
    assert not (project.root / ".cache/podium/work").exists()
    place = Path(f"/var/tmp/podium-{os.getuid()}")
    assert place.stat().st_mode & 0o777 == 0o700
    assert not list(place.rglob(f"{json.loads(done.out)['run']}*"))
