"""R142: a cancel and a time limit reach every process of a step as SIGTERM, as the reference says."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = [pytest.mark.slow, pytest.mark.req("R142")]

CHILD = """\
import signal, sys, time
name = sys.argv[1]
def end(*_):
    print(f"{name} cleaned up", flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
print(f"{name} is ready", flush=True)
time.sleep(300)
"""
PARENT = """\
import subprocess, sys
subprocess.Popen([sys.executable, "child.py", "grandchild"], start_new_session=True)
subprocess.run([sys.executable, "child.py", "child"])
"""
FLOW = "podium: 1\nLIMITS\nsteps: {work: {run: [python3, parent.py]}}\n"
BOTH = {"child", "grandchild"}
LEVELS = [
    "none",
    "limits",
    pytest.param(
        "bubblewrap", marks=pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
    ),
]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    files = {
        "child.py": CHILD,
        "parent.py": PARENT,
        "cancelled.yaml": FLOW.replace("LIMITS", ""),
        "limited.yaml": FLOW.replace("LIMITS", "limits: {time: 4s}"),
    }
    with closing(new_project(tmp_path, files)) as made:
        yield made


def printed(project: Project, words: str) -> set[str]:
    """The processes that have printed these words."""
    logs = [path.read_text() for path in project.root.glob(".podium/runs/*/agent_logs/work/1/output.log")]
    lines = [line for text in logs for line in text.splitlines()]
    return {line.removesuffix(f" {words}") for line in lines if line.endswith(f" {words}")}


@pytest.mark.parametrize("level", LEVELS)
def test_a_cancel_lets_every_process_clean_up(project: Project, level: str) -> None:
    child = project.start("run", "cancelled.yaml", "--sandbox", level)
    project.while_running(child, lambda: printed(project, "is ready") == BOTH or None, "both processes")

    done = project.podium("cancel", project.run_id())

    assert done.code == 0, done.err
    assert child.wait(60) == 130
    assert printed(project, "cleaned up") == BOTH
    assert project.marked() == []


def test_the_time_limit_of_the_run_lets_every_process_clean_up(project: Project) -> None:
    done = project.podium("run", "limited.yaml", "--sandbox", "none")

    assert done.code == 5, done.err
    assert printed(project, "cleaned up") == BOTH
    assert project.marked() == []
