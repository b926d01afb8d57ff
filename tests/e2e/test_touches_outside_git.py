"""Outside of git the `touches` of a step are enforced at every level of the sandbox (issue 16, C6)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

AGENT = """\
podium: 1
name: plain
agents: {worker: {type: command, command: [sh, work.sh], price: {input: 0, output: 0}}}
steps:
  edit: {agent: worker, prompt: Edit., touches: ["docs/**"], retry: {attempts: 2, on_exhausted: fail}}
"""
COMMAND = """\
podium: 1
name: plain
steps:
  edit: {run: [sh, work.sh], touches: ["docs/**"]}
"""
GOOD = "mkdir -p docs __pycache__; echo x >> docs/a.txt; echo x > __pycache__/m.pyc; echo done\n"
BAD = GOOD + "echo x >> other.txt\n"
UNDONE = """\
cat > "$TMPDIR/prompt"
mkdir -p docs; echo x >> docs/a.txt; echo done
if grep -q 'goes beyond what this step may touch' "$TMPDIR/prompt"; then UNDO else echo x >> other.txt; fi
"""
LEVELS = ("none", "limits", *(("bubblewrap",) if os.geteuid() else ()))
"""The sandbox refuses to work in the project itself as root."""


def new(folder: Path, flow: str, work: str) -> Project:
    return new_project(folder, {"flow.yaml": flow, "work.sh": work, "other.txt": "mine\n"}, git=False)


@pytest.mark.parametrize("flow", [AGENT, COMMAND], ids=["agent", "command"])
@pytest.mark.parametrize("level", LEVELS)
def test_a_step_that_changes_other_files_fails(tmp_path: Path, level: str, flow: str) -> None:
    with closing(new(tmp_path, flow, BAD)) as project:
        done = project.podium("run", "flow.yaml", "--no-human", "--sandbox", level)

        assert done.code == 1, done.err
        assert "failed (touches)" in done.err
        assert "other.txt" in done.err


@pytest.mark.parametrize("flow", [AGENT, COMMAND], ids=["agent", "command"])
@pytest.mark.parametrize("level", LEVELS)
def test_a_step_that_keeps_to_its_files_passes(tmp_path: Path, level: str, flow: str) -> None:
    with closing(new(tmp_path, flow, GOOD)) as project:
        done = project.podium("run", "flow.yaml", "--no-human", "--sandbox", level)

        assert done.code == 0, done.err


@pytest.mark.parametrize(("undo", "code"), [("echo mine > other.txt;", 0), ("true;", 1)])
def test_the_next_attempt_has_to_undo_a_forbidden_change(tmp_path: Path, undo: str, code: int) -> None:
    with closing(new(tmp_path, AGENT, UNDONE.replace("UNDO", undo))) as project:
        done = project.podium("run", "flow.yaml", "--no-human", "--sandbox", "limits")

        assert done.code == code, done.err


def test_too_many_files_are_refused_with_the_remedy(tmp_path: Path) -> None:
    with closing(new(tmp_path, AGENT, GOOD)) as project:
        (project.root / "data").mkdir()
        for number in range(20_001):
            (project.root / "data" / str(number)).touch()
        done = project.podium("run", "flow.yaml", "--no-human", "--sandbox", "limits")

        assert done.code != 0
        assert "`touches` can be checked in up to 20000 files" in done.err
