"""Named malicious trees through the whole engine: clone, an attacking program as the agent, capture, policy, join, land.

Nothing that was planted ever runs: it would make a canary. Nothing outside is written. What lands is what was taken
(R175, R183, C13, C14, T4, T8 of the threat model).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.core.messages import Approve
from podium.core.types import Address
from tests.engine.kit import HEAD, Project, git, outcome
from tests.git.kit import put
from tests.security.trees.more_plants import ALL

pytestmark = pytest.mark.security

ROOT = Path(__file__).parents[3]
STEPS = """
  both:
    parallel: 2
    steps:
      attack: {agent: attacker, prompt: work, touches: ["**"], retry: {attempts: 1, on_exhausted: fail}}
      honest: {agent: w, prompt: work, touches: ["honest/**"]}
  land: {git: {land: main, message: work}}
"""
CAST = '[{match: {step: honest}, write: {"honest/a.txt": "x\\n"}}]\n'


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    put(
        tmp_path, {"evil/run.sh": f"#!/bin/sh\ntouch {tmp_path}/canary\ncat\n", "evil/secret.txt": "SECRET\n"}
    )
    program = tmp_path / "evil/run.sh"
    program.chmod(0o755)
    return program


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    made = Project(tmp_path / "project")
    put(
        made.root,
        {
            "src/app.py": "print('app')\n",
            "src/deep/er/thing.py": "x = 1\n",
            "run.sh": "#!/bin/sh\n",
            ".gitignore": "build/\n*.log\n.podium/\n",
            ".gitattributes": "*.psd filter=lfs\n",
        },
    )
    (made.root / "current").symlink_to("README.md")
    yield made
    made.facade.close()


def attackers(name: str, evil: Path) -> str:
    command = [sys.executable, "-m", "tests.security.trees.attack", name, str(evil)]
    agent = {"type": "command", "command": command, "env": [f"PYTHONPATH={ROOT}:{ROOT / 'src'}"]}
    return HEAD + f"agents:\n  attacker: {json.dumps(agent)}\n  w: {{type: scripted, script: cast.yaml}}\n"


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.relative_to(folder).parts[0] not in (".git", ".podium")
    }


def test_there_are_enough_of_them() -> None:
    """Issue 5 asks for sixty."""
    assert len(ALL) >= 60


@pytest.mark.parametrize("name", ALL)
def test_nothing_runs_and_nothing_outside_is_touched(
    project: Project, tmp_path: Path, evil: Path, name: str
) -> None:
    flow = project.flow(STEPS, head=attackers(name, evil), cast=CAST)
    before, outside = contents(project.root), contents(evil.parent)
    tip = git(project.root, "rev-parse", "main")

    run, state = project.run(flow, accepts=("*",))
    asked = Address("both/attack#1/!protected")
    if state.ended is None and asked in state.instances:
        project.say(run, Approve(asked, "approve", "ann"))
        state = project.resume(run)

    assert not (tmp_path / "canary").exists()
    assert contents(evil.parent) == outside
    assert not (tmp_path / "cache/podium/work").exists() or not list(
        (tmp_path / "cache/podium/work").glob("*/*/*")
    )
    if ALL[name][1]:
        assert outcome(state, "land") == "passed", project.events(run)[-4:]
        assert git(project.root, "show", "main:src/app.py") == "work"
        assert git(project.root, "show", "main:honest/a.txt") == "x"
        names = git(project.root, "ls-tree", "-r", "-z", "--name-only", "main").split("\0")
        assert not [path for path in names if ".git" in path.split("/")]
    else:
        assert outcome(state, "both/attack") in ("failed", "error")
        assert git(project.root, "rev-parse", "main") == tip
        assert contents(project.root) == before
    git(project.root, "fsck", "--no-dangling", "--connectivity-only")
