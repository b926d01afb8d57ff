"""A process of a step that types `podium`: it may look, and may not start, answer, steer or land anything."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from podium.files.project_paths import ProjectPaths
from podium.process.procfs import MARKER_VARIABLE
from tests.engine.kit import Project
from tests.frontends.test_running import ASK, call, newest

PODIUM = f"{sys.executable} -m podium"
REFUSED = "a process of a step cannot "


def shell(project: Project, script: str) -> subprocess.CompletedProcess[str]:
    """A script as a step runs one: with the marker of its run in the environment."""
    marker = ProjectPaths(project.root).marker(project.store.heads()[0].run)
    env = {**os.environ, MARKER_VARIABLE: marker}
    return subprocess.run(
        ["/bin/sh", "-c", script], cwd=project.root, env=env, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        "approve",
        "reject --feedback no",
        "answer yes",
        "resume",
        "apply",
        "run flow.yaml",
        "rerun ask",
        "guide stop",
        "serve --once",
    ],
)
def test_a_step_decides_nothing(project: Project, words: str) -> None:
    project.flow(ASK)
    call("run", "flow.yaml", "--sandbox", "none")

    done = shell(project, f"exec {PODIUM} {words} </dev/null")

    assert (done.returncode, REFUSED in done.stderr) == (2, True), done.stderr
    assert project.view(project.store.heads()[0].run).status == "parked"


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        "env -i PATH=$PATH HOME=$HOME {podium} approve; true",
        f"unset {MARKER_VARIABLE}; {{podium}} approve; true",
        f"(unset {MARKER_VARIABLE}; env -u {MARKER_VARIABLE} setsid {{podium}} approve); true",
    ],
)
def test_a_cleaned_environment_does_not_help(project: Project, script: str) -> None:
    """The shell around it has the marker still."""
    project.flow(ASK)
    call("run", "flow.yaml", "--sandbox", "none")

    done = shell(project, script.replace("{podium}", PODIUM))

    assert REFUSED in done.stderr
    assert project.view(project.store.heads()[0].run).status == "parked"


@pytest.mark.slow
def test_a_step_may_look_and_check(project: Project) -> None:
    project.flow(ASK)
    call("run", "flow.yaml", "--sandbox", "none")

    looks = [
        shell(project, f"{PODIUM} {words}")
        for words in (f"show {newest(project)}", "validate flow.yaml", "inbox")
    ]

    assert [done.returncode for done in looks] == [0, 0, 0]
