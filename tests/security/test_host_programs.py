"""What Podium starts and imports outside of every sandbox is never the work of an agent (issue 16, A4)."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from podium.adapters.sandboxes import bubblewrap_probe
from podium.core.hash_chain import RunId
from podium.git.workdir.folder import give_ownership
from tests.e2e.kit import Project, closing, new_project
from tests.security.kit import ORDINARY, as_ordinary_user

pytestmark = pytest.mark.security

PROGRAMS: Final = (
    *("git", "gh", "glab", "ssh", "bwrap", "setpriv", "podman", "docker", "newuidmap", "nvidia-smi"),
    *("claude", "codex", "gemini", "env", "sh", "python3"),
)
MODULES: Final = (
    *("podium", "click", "anyio", "jinja2", "yaml", "httpx", "apsw", "sitecustomize", "usercustomize"),
    *sorted(sys.stdlib_module_names - set(sys.builtin_module_names)),
)
PLANT: Final = f"""import os
for folder in ("bin", ".venv/bin", "."):
    os.makedirs(folder, exist_ok=True)
for folder in ("bin", ".venv/bin"):
    for name in {PROGRAMS!r}:
        path = os.path.join(folder, name)
        with open(path, "w") as file:
            file.write("#!/bin/bash\\necho PLANTED program " + name + " >> MARKER\\nexit 1\\n")
        os.chmod(path, 0o755)
for name in {MODULES!r}:
    with open(name + ".py", "w") as file:
        file.write("open('MARKER', 'a').write('PLANTED module " + name + "\\\\n')\\n")
"""
LAND: Final = """\
  land: {git: {land: main, message: planted}}
  more: {run: {script: "echo more > more.txt"}}
  again: {git: {land: main, message: more}}
"""
PUBLISH: Final = "  open: {git: {branch: work, push: origin, pull_request: open}}\n"
CAST: Final = "- match: {step: late}\n  text: Ready.\n"
LATE: Final = "  late: {agent: hand, prompt: 'Look at {{ run.id }}.', no_change: pass}\n"
FLOW: Final = """\
podium: 1
name: host
agents: {hand: {type: scripted, script: cast.yaml}}
steps:
  plant: {run: [/usr/bin/python3, -I, plant.py], touches: ["**"]}
"""


@contextmanager
def planting(*, git: bool = True, files: dict[str, str] | None = None) -> Iterator[tuple[Project, Path]]:
    """A project whose PATH begins with folders of its own, and the file in which a planted program leaves a trace."""
    with tempfile.TemporaryDirectory(prefix="podium-host-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        marker = folder / "marker"
        marker.touch()
        marker.chmod(0o666)
        made = {"flow.yaml": FLOW + (LAND if git else ""), "plant.py": PLANT.replace("MARKER", str(marker))}
        with closing(
            new_project(folder / "place", {**made, "cast.yaml": CAST, **(files or {})}, git=git)
        ) as project:
            own = f"{project.root}/bin:{project.root}/.venv/bin"
            project.env["PATH"] = f"{own}:bin:.:{os.environ['PATH']}"
            yield project, marker


# Root in a folder without git is refused at bubblewrap.
CASES = [
    pytest.param(git, user, level, id=f"{'git' if git else 'no_git'}-{user}-{level}")
    for git in (True, False)
    for user in ("root", "ordinary")
    for level in ("bubblewrap", "limits")
    if git or (user, level) != ("root", "bubblewrap")
]


@pytest.mark.parametrize(("git", "user", "level"), CASES)
@pytest.mark.req("R182")
def test_no_command_starts_a_program_of_the_project(git: bool, user: str, level: str) -> None:
    if user == "root" and os.geteuid():
        pytest.skip("not root")
    if level == "bubblewrap" and bubblewrap_probe.probe() is not None:
        pytest.skip("bubblewrap does not hold here")
    commands = [("run", "flow.yaml", "--sandbox", level), ("doctor",), ("agents",), ("show",), ("diff",)]
    with planting(git=git) as (project, marker):
        if user == "ordinary":
            give_ownership(project.folder, None if os.geteuid() else (ORDINARY, ORDINARY))
        for command in (*commands, ("run", "flow.yaml", "--sandbox", level)):
            done = console(project, *command, user=user)

            assert marker.read_text() == "", command
            assert done.returncode == 0 or command[0] in ("doctor", "diff"), done.stderr


def console(project: Project, *args: str, user: str = "root") -> subprocess.CompletedProcess[str]:
    """As the installed script starts it; `python -m` alone puts the current folder first."""
    variables = [f"{name}={value}" for name, value in project.environment().items()]
    argv = ("/usr/bin/env", "-i", *variables, sys.executable, "-P", "-m", "podium", *args)
    return subprocess.run(
        as_ordinary_user(*argv) if user == "ordinary" else argv,
        cwd=project.root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.req("R182")
def test_a_run_in_the_background_imports_nothing_of_the_project() -> None:
    """`python -m podium` in the project's folder would prefer a `podium.py` that has landed there."""
    with planting() as (project, marker):
        assert console(project, "run", "flow.yaml").returncode == 0
        assert (project.root / "podium.py").exists()

        done = console(project, "run", "flow.yaml", "--detach")

        assert done.returncode == 0, done.stderr
        project.until_event(RunId(done.stdout.strip()), "RunEnded")
        assert marker.read_text() == ""


@pytest.mark.req("R182")
def test_what_lands_during_a_run_is_not_imported_by_it() -> None:
    """With PYTHONPATH=., a module that lands in the project would come before those of the standard library."""
    with planting() as (project, marker):
        project.python_path.append(str(project.root))
        project.commit({"flow.yaml": f"{FLOW}{LAND}{LATE}"}, "flow")

        done = console(project, "run", "flow.yaml")

        assert done.returncode == 0, done.stderr
        assert (project.root / "tomllib.py").exists()
        assert marker.read_text() == ""


@pytest.mark.req("R182")
def test_a_pull_request_is_opened_by_the_users_own_program() -> None:
    with planting(files={"flow.yaml": FLOW + PUBLISH}) as (project, marker):
        real, bare = project.folder / "programs", project.folder / "remote.git"
        called = project.folder / "called"
        project.git("init", "-q", "--bare", str(bare))
        project.git("remote", "add", "origin", str(bare))
        for folder, text in (
            (real, f"echo $@ >> {called}; echo https://example.com/pull/1"),
            (project.root / "bin", f"echo PLANTED >> {marker}"),
        ):
            folder.mkdir()
            for name in ("gh", "glab"):
                (folder / name).write_text(f"#!/bin/sh\n{text}\n")
                (folder / name).chmod(0o755)
        project.env["PATH"] = f"{project.root}/bin:{real}:{os.environ['PATH']}"

        done = project.podium("run", "flow.yaml")

        assert (done.code, marker.read_text()) == (0, ""), done.err
        assert called.read_text().startswith("pr view work")
