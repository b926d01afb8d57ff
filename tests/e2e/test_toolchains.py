"""Gates with a project's own tools judge the captured tree, or say why they cannot (issue 3, point 7)."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project

FILE = "workflows/w.yaml"
WORKFLOW = """\
podium: 1
name: toolchain
agents: {{writer: {{type: scripted, script: workflows/cast.yaml}}}}
steps:
  implement:
    agent: writer
    prompt: "Do it. {{{{ feedback }}}}"
    touches: ["{touches}"]
    retry: {{attempts: 2, on_exhausted: fail}}
    gates: [{{name: tests, run: {command}}}]
"""
GOOD, BROKEN = "good", "broken"


def cast(path: str, attempts: list[str]) -> str:
    rules = [
        {"match": {"step": "implement", "attempt": number}, "write": {path: text}}
        for number, text in enumerate(attempts, start=1)
    ]
    return json.dumps(rules)


def verdicts(project: Project) -> list[tuple[str, str]]:
    """How each judgement of the gate ended."""
    return [
        (event["kind"], event.get("reason", ""))
        for event in project.events(project.run_id())
        if event["type"] == "AttemptEnded" and "#" in event["path"]
    ]


PYTHON_TEST = "import thing; assert thing.answer() == 42, thing.__file__"
PYTHON_COMMAND = json.dumps([".venv/bin/python", "-c", PYTHON_TEST])
PYTHON = {GOOD: "def answer():\n    return 42\n", BROKEN: "def answer():\n    return 41\n"}


def python_project(folder: Path, attempts: list[str], *, own: str) -> Project:
    """A package in src/ and an environment without it, in which `own` is installed as editable."""
    files = {
        ".gitignore": ".podium/\n.venv/\n",
        FILE: WORKFLOW.format(touches="src/**", command=PYTHON_COMMAND),
        "workflows/cast.yaml": cast("src/thing.py", [PYTHON[text] for text in attempts]),
        # The user's own files are good, so a gate that looked at them would be green.
        "src/thing.py": PYTHON[GOOD] + "# before\n",
    }
    project = new_project(folder, files)
    venv = project.root / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    [packages] = venv.glob("lib/python*/site-packages")
    (packages / "thing.pth").write_text(f"{own}\n", "utf-8")
    return project


@pytest.mark.req("R011", "X4")
def test_a_gate_that_would_judge_the_users_own_files_is_refused_with_the_reason(tmp_path: Path) -> None:
    place = tmp_path / "place"
    with closing(python_project(place, [BROKEN, BROKEN], own=str(place / "project/src"))) as project:
        done = project.podium("run", FILE, "--json", "--sandbox", "limits")

        assert done.code == 1, done.err
        assert set(verdicts(project)) == {("error", "editable")}
        told = gate_messages(project)
        assert "installed as editable" in told
        assert "your own files" in told
        assert "hint: install bubblewrap" in told
        assert "(editable)" in project.podium("show").out


@pytest.mark.req("R011", "X4")
def test_a_gate_of_an_environment_without_the_project_judges_the_captured_tree(tmp_path: Path) -> None:
    """The package is found by a path relative to where the gate runs, and that is the checkout."""
    outside = tmp_path / "library"
    outside.mkdir()
    (outside / "other.py").write_text("", "ascii")
    with closing(python_project(tmp_path / "place", [BROKEN, GOOD], own=str(outside))) as project:
        command = [".venv/bin/python", "-c", f"import sys, other; sys.path.insert(0, 'src'); {PYTHON_TEST}"]
        project.commit({FILE: WORKFLOW.format(touches="src/**", command=json.dumps(command))}, "gate")

        done = project.podium("run", FILE, "--json", "--sandbox", "limits")

        assert done.code == 0, done.err
        assert [kind for kind, _ in verdicts(project)] == ["failed", "ok"]


NODE = {
    GOOD: "module.exports = (a, b) => require('adder')(a, b);\n",
    BROKEN: "module.exports = (a, b) => require('adder')(a, b) + 1;\n",
}
NODE_FILES = {
    ".gitignore": ".podium/\nnode_modules/\n",
    "package.json": json.dumps({"name": "small", "version": "1.0.0", "dependencies": {"adder": "1"}}),
    "sum.js": NODE[GOOD] + "// before\n",
    "test/sum.test.js": (
        "const test = require('node:test');\nconst assert = require('node:assert');\n"
        "test('adds', () => assert.strictEqual(require('../sum.js')(40, 2), 42));\n"
    ),
}


@pytest.mark.req("R011", "X4")
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize(
    ("attempts", "code", "kinds"),
    [
        ([GOOD], 0, ["ok"]),
        ([BROKEN, BROKEN + "!"], 1, ["failed", "failed"]),
        ([BROKEN, GOOD], 0, ["failed", "ok"]),
    ],
    ids=["good", "broken", "mended"],
)
def test_a_node_project_is_green_for_a_good_change_and_red_for_a_broken_one(
    attempts: list[str], code: int, kinds: list[str], tmp_path: Path
) -> None:
    texts = [NODE[text.rstrip("!")] + "// again\n" * text.count("!") for text in attempts]
    files = {
        **NODE_FILES,
        FILE: WORKFLOW.format(touches="*.js", command='[node, --test, "test/"]'),
        "workflows/cast.yaml": cast("sum.js", texts),
    }
    with closing(new_project(tmp_path, files)) as project:
        project.put(
            {
                "node_modules/adder/package.json": json.dumps({"name": "adder", "main": "index.js"}),
                "node_modules/adder/index.js": "module.exports = (a, b) => a + b;\n",
            }
        )

        done = project.podium("run", FILE, "--json", "--sandbox", "limits")

        assert done.code == code, done.err
        assert [kind for kind, _ in verdicts(project)] == kinds
        if code:
            assert "43 !== 42" in gate_messages(project)


def gate_messages(project: Project) -> str:
    """What the gate had to say, which is what the next attempt is told."""
    return "\n".join(
        event["result"]["message"]
        for event in project.events(project.run_id())
        if event["type"] == "AttemptEnded" and "#" in event["path"] and event["kind"] != "ok"
    )
