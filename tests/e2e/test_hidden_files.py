"""`workspace.hide` through the real command: what a worker cannot read, create or learn, and what gates and trees keep."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

SECRET = "the_answer_is_forty_two"
CORE = f'''def public_api(value: int) -> int:
    """Adds the secret offset."""
    offset_of_the_core = "{SECRET}"
    if value < 0:
        raise ValueError("negative values are refused here")
    return value + len(offset_of_the_core)


def _helper_nobody_sees() -> None:
    print("{SECRET}")
'''
FLOW = """\
podium: 1
name: blind
inputs: {target: {type: path, default: src/core.py}}
agents:
  spy: {type: command, command: [sh, spy.sh], price: {input: 0, output: 0}}
gates:
  whole: {run: [sh, -c, "grep -c forty_two src/core.py >/dev/null || exit 1; python3 -c 'from src.core import public_api; public_api(-1)' || test -e tests/seen"]}
steps:
  write_tests:
    agent: spy
    prompt: Write tests for public_api
    touches: ["tests/**", "src/**"]
    protect: []
    retry: 2
    gates: [whole]
    context: {include: [$INTERFACES, $PUBLIC_API], diff: true}
    workspace: {hide: HIDE}
"""
SPY = """\
#!/bin/sh
cat > prompt.txt
mark() { printf '%s%s %s\\n' @ @ "$1"; }
mkdir -p tests
{
  mark files; find . -type f -not -path './.git/*' | sort
  mark objects; git cat-file --batch-all-objects --batch-check
  mark contents; git cat-file --batch-all-objects --batch --buffer | strings
  mark log; git log --all --format='%H %P'
  mark show; git show HEAD~1 2>&1; git show HEAD:src/core.py 2>&1
  mark alternates; cat .git/objects/info/alternates 2>&1; ls -a .git/objects/info 2>&1
  mark search; grep -rl forty_two / --include='*.py' --include='*.pack' --include='*.db' 2>/dev/null | head
  mark above; cat ../src/core.py ../*/src/core.py PROJECT/src/core.py 2>&1
} > tests/report.txt
cp prompt.txt tests/prompt-$(ls tests | wc -l).txt
rm prompt.txt
ATTACK
echo done
"""


def project_with(folder: Path, attack: str = "", hide: str = "[$INTERNALS]") -> Project:
    spy = SPY.replace("ATTACK", attack)
    files = {
        "flow.yaml": FLOW.replace("HIDE", hide),
        "spy.sh": spy,
        "src/__init__.py": "",
        "src/core.py": CORE.replace("return value", "return 1 + value"),
    }
    project = new_project(folder, files)
    # The hidden content is in two commits, so that history would show it.
    (project.root / "spy.sh").write_text(spy.replace("PROJECT", str(project.root)))
    (project.root / "src/core.py").write_text(CORE)
    project.git("commit", "-q", "-a", "-m", "the core")
    return project


def kept(project: Project, path: str) -> str:
    """A file of the last tree that the run captured."""
    refs = project.git("for-each-ref", "--format=%(refname)", "refs/podium").splitlines()
    attempts = [ref for ref in refs if "write_tests" in ref]
    return str(project.git("show", f"{attempts[-1]}:{path}"))


@pytest.mark.security
@pytest.mark.req("R125", "C37")
@pytest.mark.parametrize("hide", ["[$INTERNALS]", "[src/core.py]", '["src/co*.py"]'])
def test_a_worker_cannot_read_hidden_files_and_gates_see_them(tmp_path: Path, hide: str) -> None:
    project = project_with(tmp_path, hide=hide)
    with closing(project):
        done = project.podium("run", "flow.yaml", "--yes", "--sandbox", "bubblewrap")
        report = kept(project, "tests/report.txt")

        assert SECRET not in report, done
        sections = dict(part.split("\n", 1) for part in report.split("@@ ")[1:])
        assert "./src/core.py" not in sections["files"] and "./src/__init__.py" in sections["files"]
        assert "above" in sections
        assert sections["objects"].count(" commit ") == 1
        assert len(sections["log"].split()) == 1, "the only commit has no parent"
        assert not sections["search"].strip()
        assert kept(project, "src/core.py").strip() == CORE.strip()
        assert not project.git("status", "--porcelain", "src")


@pytest.mark.req("C37")
def test_what_a_gate_prints_of_a_hidden_file_does_not_reach_the_worker(tmp_path: Path) -> None:
    project = project_with(tmp_path)
    with closing(project):
        project.podium("run", "flow.yaml", "--yes", "--sandbox", "bubblewrap")
        feedback = project.podium("prompt", "latest", "write_tests", "--attempt", "2").out
        first = project.podium("prompt", "latest", "write_tests", "--attempt", "1").out

    assert "def public_api(value: int) -> int:" in first and SECRET not in first
    assert "_helper_nobody_sees" not in first and "negative values" not in first
    assert "ValueError" in feedback
    assert 'raise ValueError("negative values' not in feedback and SECRET not in feedback
    assert "[a line of a hidden file]" in feedback


@pytest.mark.req("C37")
@pytest.mark.parametrize(
    "attack",
    [
        "mkdir -p src; echo mine > src/core.py",
        "mkdir -p src/core.py; echo mine > src/core.py/x.py",
        "ln -s ../tests/report.txt src/core.py",
        "rm -rf src; echo mine > src",
    ],
)
def test_a_file_in_the_place_of_a_hidden_one_fails_and_changes_nothing(tmp_path: Path, attack: str) -> None:
    project = project_with(tmp_path, attack)
    with closing(project):
        done = project.podium("run", "flow.yaml", "--yes", "--sandbox", "bubblewrap")
        state = json.loads(project.podium("show", "--json").out)

        assert done.code != 0
        # A link is refused before anything is captured.
        assert (
            attack.endswith("report.txt src/core.py") or kept(project, "src/core.py").strip() == CORE.strip()
        )
    reasons = json.dumps(state)
    assert "may not see already exist there" in reasons or "symbolic link" in reasons


@pytest.mark.parametrize("level", ["none", "limits"])
def test_a_sandbox_that_shows_the_project_is_refused(tmp_path: Path, level: str) -> None:
    project = project_with(tmp_path)
    with closing(project):
        done = project.podium("run", "flow.yaml", "--yes", "--sandbox", level)
        text = project.podium("show").out + done.out + done.err

    assert done.code != 0
    assert f"at {level} the agent can read the project itself" in text


def test_outside_of_git_it_is_refused(tmp_path: Path) -> None:
    project = new_project(
        tmp_path, {"flow.yaml": FLOW.replace("HIDE", "[src/**]"), "spy.sh": "exit 0\n"}, git=False
    )
    with closing(project):
        done = project.podium("run", "flow.yaml", "--yes", "--sandbox", "bubblewrap")
        text = project.podium("show").out + done.out + done.err

    assert done.code != 0 and ("needs a git repository" in text or "works in the project" in text), text
