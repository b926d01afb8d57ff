"""`podium init` proposes only what works in the project, and names the rest; `doctor --gates` agrees (issue 17, 4)."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.kit import Project, closing, new_project
from tests.views.kit import conforms

pytestmark = pytest.mark.slow

TRY_S = 400.0
CASE = "import unittest\nfrom pkg import {name}\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.assertTrue({name})\n"
TEST = CASE.format(name="version")
PACKAGE = "from pkg._version import version\n"
VCS = "pkg/_version.py\nnode_modules/\ntarget/\n.podium/\n"
NODE_TEST = "import test from 'node:test'\ntest('a', () => {})\n"
PACKAGE_JSON = '{"name": "x", "type": "module", "scripts": {"test": "node --test"}}\n'
WRITTEN = {"pkg/_version.py": "version = 1\n"}
"""Files that are there and that git ignores."""


def python(settings: str, **more: str) -> dict[str, str]:
    return {
        "pyproject.toml": settings,
        "pkg/__init__.py": PACKAGE,
        "tests/__init__.py": "",
        "tests/test_pkg.py": TEST,
        ".gitignore": VCS,
        **more,
    }


HATCH = '[tool.hatch.build.hooks.vcs]\nversion-file = "pkg/_version.py"\n'
SCM = '[tool.setuptools_scm]\nversion_file = "pkg/_version.py"\n'
PLAIN = {"pkg/__init__.py": "version = 1\n"}
GO = {
    "go.mod": "module example.org/x\n\ngo 1.19\n",
    "add.go": "package x\n\nfunc Add(a, b int) int { return a + b }\n",
    "add_test.go": 'package x\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n'
    '\tif Add(1, 2) != 3 {\n\t\tt.Fatal("wrong")\n\t}\n}\n',
}
RUST = {
    "Cargo.toml": '[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": "#[cfg(test)]\nmod tests {\n    #[test]\n    fn it() {}\n}\n",
    ".gitignore": VCS,
}
MAVEN = "<project><modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>x</artifactId><version>1</version></project>\n"

Case = tuple[dict[str, str], dict[str, str], list[str], list[str]]
"""The files, those that git ignores, the gates that are proposed, and what is named as missing."""
PROJECTS: dict[str, Case] = {
    "hatch-vcs": (python(HATCH), WRITTEN, ["tests"], []),
    "setuptools-scm": (python(SCM), WRITTEN, ["tests"], []),
    "setuptools-scm, not built": (python(SCM), {}, [], ["_version", "setuptools-scm and is not there"]),
    "uv": (
        python("[dependency-groups]\ndev = ['nosuchlint']\n[tool.ruff]\n[tool.mypy]\n", **PLAIN, **{"uv.lock": "", "setup.cfg": "[flake8]\n"}),
        {},
        ["tests"],
        ["lint: ruff check .: it does not find program ruff", "types: python3 -m mypy .: it does not find module mypy of python3"],
    ),
    "poetry": (
        python("[tool.poetry]\nname = 'x'\n", **{"pkg/__init__.py": "import nosuchdependency\nversion = 1\n"}),
        {},
        [],
        ["No module named 'nosuchdependency'"],
    ),
    "poetry, installed": (python("[tool.poetry]\nname = 'x'\n", **PLAIN), {}, ["tests"], []),
    "typescript without its compiler": (
        {"package.json": PACKAGE_JSON, "tsconfig.json": "{}\n", "a.test.js": NODE_TEST, ".gitignore": VCS},
        {},
        ["tests"],
        ["types: npx --no-install tsc --noEmit: it does not find program tsc of npx"],
    ),
    "typescript": (
        {"package.json": PACKAGE_JSON, "tsconfig.json": "{}\n", "a.test.js": NODE_TEST, ".gitignore": VCS},
        {"node_modules/.bin/tsc": "#!/bin/sh\nexit 0\n"},
        ["tests", "types"],
        [],
    ),
    "go": (GO, {}, ["tests", "lint"], []),
    "java": ({"pom.xml": MAVEN}, {}, [], ["tests: mvn --batch-mode test: "]),
    "monorepo": (
        {
            "services/api/pyproject.toml": "",
            "services/api/test_api.py": "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        pass\n",
            "packages/web/package.json": PACKAGE_JSON,
            "packages/web/a.test.js": NODE_TEST,
        },
        {},
        ["packages_web_tests", "services_api_tests"],
        [],
    ),
    "no tests": ({"README.md": "x\n", "package.json": '{"scripts": {"test": "echo ok"}}\n'}, {}, [], ["tests: npm run --silent test: ", "no command was found that tests this project"]),
    "pytest functions only": (
        {"test_a.py": "def test_it():\n    assert True\n", "pytest.py": "import sys\nsys.exit('no pytest here')\n"},
        {},
        [],
        ["python3 -m unittest -q: python3 executed no tests"],
    ),
}  # fmt: skip


def project_of(folder: Path, files: Mapping[str, str], ignored: Mapping[str, str]) -> Project:
    project = new_project(folder, files)
    project.put(ignored)
    for path in (project.root / "node_modules/.bin").glob("*"):
        path.chmod(0o755)
    return project


def init(project: Project, *options: str) -> dict[str, Any]:
    done = project.podium("init", "--json", *options, timeout_s=TRY_S)
    assert done.code == 0, done.err
    conforms(done.data(), "init")
    data: dict[str, Any] = done.data()
    return data


@pytest.mark.req("R077")
@pytest.mark.parametrize("name", PROJECTS)
def test_what_is_proposed_passes_and_what_is_missing_is_named(tmp_path: Path, name: str) -> None:
    files, ignored, gates, missing = PROJECTS[name]
    with closing(project_of(tmp_path, files, ignored)) as project:
        proposed = init(project, "--yes")

        assert [gate["name"] for gate in proposed["gates"]] == gates, proposed
        said = "\n".join((*proposed["refused"], *proposed["open"]))
        assert [text for text in missing if text not in said] == [], said
        if not gates:
            return
        project.git("add", "-A")
        project.git("commit", "-q", "-m", "with a workflow")
        checked = project.podium("doctor", proposed["workflow"], "--gates", "--json", timeout_s=TRY_S)
        statuses = {gate["gate"].rpartition("/")[2]: gate["status"] for gate in checked.data()["gates"]}
        assert statuses == dict.fromkeys(gates, "passed"), checked.out
        assert project.leftovers() == []


def test_rust_is_proposed_if_cargo_works_in_the_sandbox_and_else_named(tmp_path: Path) -> None:
    with closing(project_of(tmp_path, RUST, {})) as project:
        proposed = init(project, "--yes")

        works = [gate["name"] for gate in proposed["gates"]]
        assert "tests" in works or any(
            line.startswith("tests: cargo test --quiet: ") for line in proposed["refused"]
        )
        checked = project.podium("doctor", proposed["workflow"], "--gates", "--json", timeout_s=TRY_S).data()
        assert {gate["status"] for gate in checked["gates"]} <= {"passed"}, checked


def test_a_project_without_commits_is_tried_as_it_is_and_its_run_refused(tmp_path: Path) -> None:
    with closing(project_of(tmp_path, python("", **PLAIN), {})) as project:
        shutil.rmtree(project.root / ".git")
        project.git("init", "-q", "-b", "main")

        proposed = init(project, "--yes")
        checked = project.podium("doctor", proposed["workflow"], "--gates", "--json", timeout_s=TRY_S)

        assert [gate["name"] for gate in proposed["gates"]] == ["tests"], proposed
        assert any("the repository has no commits" in line for line in checked.data()["problems"])
        assert [gate["status"] for gate in checked.data()["gates"]] == ["passed"]


@pytest.mark.req("R077")
def test_a_change_that_mends_nothing_does_not_pass_what_init_wrote(tmp_path: Path) -> None:
    """It proposed unittest for pytest functions: no test ran, and the gate was green (issue 16, D2)."""
    bug = {"pkg/__init__.py": "version = 0\n"}
    with closing(project_of(tmp_path, python("", **bug), {})) as project:
        proposed = init(project)

        (gate,) = proposed["gates"]
        assert (gate["name"], gate["status"], gate["tests"]) == ("tests", "red", 1)


def test_the_summary_is_short(tmp_path: Path) -> None:
    ignored = "".join(f"folder{number}/\n" for number in range(160))
    with closing(project_of(tmp_path, {**python("", **PLAIN), ".gitignore": ignored}, {})) as project:
        said = project.podium("init", timeout_s=TRY_S).err

        assert len(said.splitlines()) < 20, said
        assert "will add to .gitignore (5 lines)" in said
        assert "folder1/" not in said
