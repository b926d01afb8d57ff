"""`podium doctor FILE` finds gates that could not run, before anything is paid for (issue 16 D3, issue 17 4)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project
from tests.views.kit import conforms

pytestmark = pytest.mark.slow

FLOW = """\
podium: 1
name: flow
agents: {worker: {type: command, command: [sh, -c, "echo done"], price: {input: 0, output: 0}}}
inputs: {which: string}
steps:
  work:
    agent: worker
    prompt: go
    touches: ["src/**"]
    gates:
      - {name: program, run: [no-such-program, --all]}
      - {name: module, run: [python3, -m, no_such_module]}
      - {name: rule, run: make check-all}
      - {name: script, run: {script: "cd src && no-such-tool ."}}
      - {name: guarded, run: {script: "no-such-tool . || true"}}
      - {name: made, run: [src/made_by_the_work]}
      - {name: asked, run: ["${{ inputs.which }}"]}
      - {name: good, run: [python3, -m, unittest, -q]}
      - {name: red, run: [sh, -c, "echo fatal: it is red >&2; exit 3"]}
"""
TEST = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.assertTrue(True)\n"
FILES = {"flow.yaml": FLOW, "src/a.py": "", "test_a.py": TEST}


def gates(project: Project, *options: str) -> tuple[dict[str, tuple[str | None, str]], list[str], str]:
    """The status and message of each gate, the problems, and what was said about it."""
    done = project.podium("doctor", "flow.yaml", "--agent", "worker", "--json", *options)
    conforms(done.data(), "doctor")
    assert done.code == (1 if done.data()["problems"] else 0)
    found = {
        gate["gate"].rpartition("/")[2]: (gate["status"], gate["message"]) for gate in done.data()["gates"]
    }
    return found, done.data()["problems"], done.err


def test_what_a_gate_starts_is_looked_for_inside_the_sandbox(tmp_path: Path) -> None:
    with closing(new_project(tmp_path, FILES)) as project:
        found, problems, _ = gates(project)

        missing = {name: message for name, (status, message) in found.items() if status == "missing"}
        assert missing == {
            "program": "it does not find program no-such-program",
            "module": "it does not find module no_such_module of python3",
            "rule": 'it does not find rule "check-all" in the Makefile',
            "script": "it does not find program no-such-tool",
        }
        assert len(problems) == 4
        assert problems[0].startswith('gate "program" of "work" (line 11): no-such-program --all: ')
        assert not (project.root / ".podium").exists(), "nothing remains in the project"
        assert project.leftovers() == []


def test_with_gates_each_one_runs_on_the_base(tmp_path: Path) -> None:
    with closing(new_project(tmp_path, FILES)) as project:
        # The files of the user differ from the last commit, which is what a run starts from.
        project.put({"test_a.py": TEST.replace("True)", "False)")})
        found, problems, said = gates(project, "--gates")

        assert {name: status for name, (status, _) in found.items()} == {
            "program": "missing",
            "module": "missing",
            "rule": "missing",
            "script": "missing",
            "guarded": "passed",
            "made": "missing",
            "asked": "unknown",
            "good": "passed",
            "red": "red",
        }
        assert found["red"][1] == "sh ended with 3: fatal: it is red"
        assert not any("red" in line for line in problems), (
            "a gate that is red on the base can still judge work"
        )
        assert 'trying gate "good" of "work"' in said


def test_a_command_that_needs_the_users_home_is_tried_without_it(tmp_path: Path) -> None:
    """It is on the PATH of the user's shell only by a relative folder, and its data lies in the home."""
    flow = FLOW.partition("    gates:\n")[0] + "    gates: [{name: home, run: [sh, -c, 'test -e ~/data']}]\n"
    with closing(new_project(tmp_path, {**FILES, "flow.yaml": flow})) as project:
        (project.home / "data").touch()

        found, _, _ = gates(project, "--gates")

        assert found["home"][0] == "red"


def test_a_repository_without_commits_is_refused_before_the_run(tmp_path: Path) -> None:
    with closing(new_project(tmp_path, FILES)) as project:
        project.git("checkout", "-q", "--orphan", "empty")

        refused = project.podium("run", "flow.yaml", "-i", "which=true")
        checked = project.podium("doctor", "flow.yaml")

        assert refused.code == 2
        assert "the repository has no commits" in refused.err
        assert "git commit" in refused.err
        assert "the repository has no commits" in checked.out
        assert checked.code == 1


def test_gates_need_a_file(tmp_path: Path) -> None:
    with closing(new_project(tmp_path, FILES)) as project:
        assert project.podium("doctor", "--gates").code == 2
