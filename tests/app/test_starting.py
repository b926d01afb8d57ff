"""`init` finds what proves a change in a project, and what it writes runs there (R077)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from podium.app.author.detect import Scan, Stack, scan
from podium.app.author.init import Proposal, make_targets, propose, template_names, write
from podium.app.author.load import check
from podium.app.author.try_gates import TriedGate, TriedGates
from podium.attempt.command.trial import Trial
from tests.engine.kit import Project, git
from tests.templates.kit import TASK, TEAM, path_of

PYTHON = {
    "pyproject.toml": "[project]\nname = 'x'\n",
    "add.py": "def add(a, b):\n    return a + b\n",
    "test_add.py": "import unittest\nfrom add import add\n\n\nclass T(unittest.TestCase):\n"
    "    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n",
}
TYPESCRIPT = {
    "package.json": '{"name": "x", "type": "module", "scripts": {"test": "node --test", "lint": "node lint.js"}}\n',
    "tsconfig.json": "{}\n",
    "lint.js": "process.exit(0)\n",
    "add.js": "export const add = (a, b) => a + b\n",
    "add.test.js": "import test from 'node:test'\nimport assert from 'node:assert'\nimport {add} from './add.js'\n"
    "test('add', () => assert.equal(add(1, 2), 3))\n",
}
GO = {
    "go.mod": "module example.org/x\n\ngo 1.19\n",
    "add.go": "package x\n\nfunc Add(a, b int) int { return a + b }\n",
    "add_test.go": 'package x\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n'
    '\tif Add(1, 2) != 3 {\n\t\tt.Fatal("wrong")\n\t}\n}\n',
}
BREAK = {
    "python3": ("add.py", "def add(a, b):\n    return a - b\n"),
    "npm": ("add.js", "export const add = (a, b) => a - b\n"),
    "go": ("add.go", "package x\n\nfunc Add(a, b int) int { return a - b }\n"),
}


def commands(files: Mapping[str, str], root: Path) -> dict[str, tuple[str, ...]]:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return {gate.name: gate.command.argv for gate in as_if_tried(scan(root)).gates}


def as_if_tried(scanned: Scan) -> TriedGates:
    """The best candidate of each purpose, as if it had passed."""
    several = len(scanned.stacks) > 1
    gates = (gate for stack in scanned.stacks for gate in best_of(stack, several=several))
    return TriedGates(tuple(gates))


def best_of(stack: Stack, *, several: bool) -> list[TriedGate]:
    purposes = dict.fromkeys(command.purpose for command in stack.commands)
    first = {
        purpose: next(command for command in stack.commands if command.purpose == purpose)
        for purpose in ("tests", "lint", "types")
        if purpose in purposes
    }
    return [
        TriedGate(f"{stack.language}_{purpose}" if several else purpose, command, "", Trial("passed", "", 1))
        for purpose, command in first.items()
    ]


def proposal(root: Path, env: Mapping[str, str], template: str | None = None) -> Proposal:
    scanned = scan(root)
    return propose(root, env, scanned, as_if_tried(scanned), template=template)


@pytest.mark.req("R077")
@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (PYTHON, {"tests": ("python3", "-m", "pytest", "-q")}),
        (
            {
                "pyproject.toml": "[tool.ruff]\n[tool.mypy]\n[tool.pytest.ini_options]\n",
                ".venv/bin/python": "",
            },
            {
                "tests": (".venv/bin/python", "-m", "pytest", "-q"),
                "lint": ("ruff", "check", "."),
                "types": (".venv/bin/python", "-m", "mypy", "."),
            },
        ),
        ({"setup.cfg": "[flake8]\n"}, {"lint": ("python3", "-m", "flake8")}),
        (
            TYPESCRIPT,
            {
                "tests": ("npm", "run", "--silent", "test"),
                "lint": ("npm", "run", "--silent", "lint"),
                "types": ("npx", "--no-install", "tsc", "--noEmit"),
            },
        ),
        (
            {
                "package.json": '{"scripts": {"test": "echo no test specified"}}',
                "yarn.lock": "",
                "eslint.config.js": "",
            },
            {"lint": ("npx", "--no-install", "eslint", ".")},
        ),
        (
            {"package.json": '{"scripts": {"test": "x"}}', "pnpm-lock.yaml": ""},
            {"tests": ("pnpm", "run", "--silent", "test")},
        ),
        ({"package.json": "no json"}, {}),
        ({"package.json": "[]", "Makefile": "test:\n"}, {"tests": ("make", "test")}),
        (GO, {"tests": ("go", "test", "./..."), "lint": ("go", "vet", "./...")}),
        (
            {"go.mod": "", ".golangci.yml": ""},
            {"tests": ("go", "test", "./..."), "lint": ("golangci-lint", "run")},
        ),
        ({"Cargo.toml": ""}, {"tests": ("cargo", "test", "--quiet"), "lint": ("cargo", "clippy", "--quiet")}),
        ({"pom.xml": ""}, {"tests": ("mvn", "--batch-mode", "test")}),
        ({"build.gradle": "", "gradlew": ""}, {"tests": ("./gradlew", "--quiet", "test")}),
        ({"Makefile": "X := 1\ntest: a\nlint:\n"}, {"tests": ("make", "test"), "lint": ("make", "lint")}),
        ({"README.md": ""}, {}),
    ],
)
def test_candidates_are_found_by_the_files_that_speak_for_them(
    tmp_path: Path, files: dict[str, str], expected: dict[str, tuple[str, ...]]
) -> None:
    assert commands(files, tmp_path) == expected


def test_a_project_in_two_languages_has_the_gates_of_both(tmp_path: Path) -> None:
    assert list(commands({**PYTHON, **GO}, tmp_path)) == ["python_tests", "go_tests", "go_lint"]


@pytest.mark.req("R077")
def test_roles_are_proposed_by_what_the_project_is_about(tmp_path: Path) -> None:
    files = {"package.json": '{"dependencies": {"react": "1"}}', "requirements.txt": "pandas\n", "a.sol": ""}
    commands({**files, "docker-compose.yml": "image: postgres\n"}, tmp_path)

    found = proposal(tmp_path, {})

    assert found.scan.fields == ("web", "data", "database", "contracts", "infrastructure")
    selected = {pack.name for pack in found.packs if pack.selected}
    assert selected == {"frontend", "data_pipeline", "backend_api", "smart_contracts", "infrastructure"}
    assert Path(".podium/roles/schema_guard.yaml") in found.files


@pytest.mark.parametrize(
    ("there", "reviewer"),
    [
        ((), "reviewer"),
        (("claude",), "reviewer"),
        (("claude", "codex"), "reviewer_codex"),
        (("codex", "gemini"), "reviewer_gemini"),
    ],
)
def test_the_reviewer_is_another_mind_than_the_author(
    tmp_path: Path, there: tuple[str, ...], reviewer: str
) -> None:
    for name in there:
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).write_text("#!/bin/sh\n")
        (tmp_path / "bin" / name).chmod(0o755)

    found = proposal(tmp_path, {"PATH": str(tmp_path / "bin")})

    assert f"review: {reviewer}\n" in found.files[Path("workflows/change.yaml")]
    assert [name for name, is_there in found.agents.items() if is_there] == list(there)


@pytest.mark.req("R077")
@pytest.mark.parametrize(
    ("program", "files"),
    [
        ("python3", PYTHON),
        pytest.param("npm", TYPESCRIPT, marks=pytest.mark.slow),
        pytest.param("go", GO, marks=pytest.mark.slow),
    ],
)
def test_the_gates_that_were_proposed_run_and_can_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, files: dict[str, str]
) -> None:
    """A wrong change is caught by the proposed tests, and the next attempt lands."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    monkeypatch.setenv("GOFLAGS", "-mod=mod")
    project = Project(tmp_path)
    for name, text in files.items():
        project.write(name, text)
    (project.root / ".gitignore").unlink()
    write(project.root, proposal(project.root, os.environ))
    name, wrong = BREAK[program]
    file = project.root / "workflows/change.yaml"
    flow = file.read_text("utf-8").replace("steps:\n", TEAM + "steps:\n", 1).replace(", types]", "]")
    file.write_text(flow, "utf-8")
    right = f"{name}: {files[name]!r}".replace("'", '"')
    project.write(
        "cast.yaml",
        f"- {{match: {{step: implement, attempt: 1}}, write: {{{name}: {wrong!r}}}}}\n".replace("'", '"')
        + f"- {{match: {{step: implement}}, write: {{{right}, NOTES.md: done}}}}\n",
    )
    project.commit()

    run, state = project.run(file, TASK)

    assert path_of(state) == ["plan", "implement", "review"]
    attempts = [event for event in project.events(run) if type(event).__name__ == "AttemptStarted"]
    assert sum(1 for event in attempts if getattr(event, "path", "") == "implement") == 2, "the first was red"
    assert git(project.root, "status", "--porcelain") == ""
    assert ".podium/roles/implementer.yaml" in git(project.root, "ls-files")


@pytest.mark.req("R037")
@pytest.mark.parametrize("template", template_names())
def test_a_template_is_written_with_the_commands_of_the_project(tmp_path: Path, template: str) -> None:
    commands(GO, tmp_path)
    (tmp_path / ".git").mkdir()

    found = proposal(tmp_path, {}, template)
    write(tmp_path, found)

    text = found.files[Path(f"workflows/{template}.yaml")]
    assert [problem.render() for problem in check(tmp_path / found.workflow).problems] == []
    assert "make" not in text
    assert {line.split(":")[0] for line in found.open} <= {"steps.docs_check", "steps.scan"}


def test_a_template_keeps_the_targets_that_pass_and_replaces_the_others(tmp_path: Path) -> None:
    commands({"Makefile": "test:\nlint:\n", "go.mod": ""}, tmp_path)
    scanned = scan(tmp_path)
    assert make_targets("mvp", scanned) == ("test", "lint")
    assert make_targets(None, scanned) == ()

    tried = as_if_tried(scanned)
    texts = [
        propose(tmp_path, {}, scanned, each, template="mvp").files[Path("workflows/mvp.yaml")]
        for each in (tried, TriedGates(tried.gates, targets=frozenset({"test", "lint"})))
    ]

    assert '"go", "test"' in texts[0]
    assert "run" not in texts[1]


def test_what_is_there_stays(tmp_path: Path) -> None:
    commands({**GO, ".gitignore": "x", "workflows/change.yaml": "mine"}, tmp_path)
    (tmp_path / ".git").mkdir()

    first = proposal(tmp_path, {})
    write(tmp_path, first)
    again = proposal(tmp_path, {})

    assert first.existing == (Path("workflows/change.yaml"),)
    assert (tmp_path / "workflows/change.yaml").read_text("utf-8") == "mine"
    assert (tmp_path / ".gitignore").read_text("utf-8").splitlines()[0] == "x"
    assert again.files == {}


def test_a_project_without_tests_is_told_so(tmp_path: Path) -> None:
    assert proposal(tmp_path, {}).open == (
        "no command was found that tests this project; add a gate to the workflow",
    )
