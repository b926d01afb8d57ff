"""Which commands run tests, and which files decide what they prove."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.workflow.test_gates import (
    executed_tests,
    files_without_tests,
    is_test_file,
    judge_programs,
    list_suites,
    runner_of,
    shadows_module,
    steers_tests,
)
from tests.workflow.compiling import compile_text


@pytest.mark.parametrize(
    ("command", "runner"),
    [
        ("pytest", "pytest"),
        ("python -m pytest -q", "pytest"),
        (".venv/bin/pytest tests", "pytest"),
        ("/usr/bin/python3.12 -P -m pytest", "pytest"),
        ("uv run pytest", "pytest"),
        ("poetry run pytest -x", "pytest"),
        ("env CI=1 pytest", "pytest"),
        ("timeout 60 pytest", "pytest"),
        ("py.test", "pytest"),
        ("python3 -m unittest -q", "unittest"),
        ("node --test test/", "node"),
        ("npx vitest run", "vitest"),
        ("npx jest", "jest"),
        ("go test ./...", "go"),
        ("cargo test", "cargo"),
        ("cargo nextest run", "cargo"),
        ("npm test", "other"),
        ("npm --silent test", "other"),
        ("pnpm run test", "other"),
        ("make -j4 check", "other"),
        ("tox", "other"),
        ("python -m mypy", None),
        ("echo pytest", None),
        ("go vet ./...", None),
        ("cargo build", None),
        ("make dist", None),
        ("npm run lint", None),
        ("node build.js", None),
        ("python tests/run.py", None),
    ],
)
def test_the_common_runners_are_recognised(command: str, runner: str | None) -> None:
    assert runner_of(command.split()) == runner


@pytest.mark.parametrize(
    ("script", "runner"),
    [
        ("set -e\ncd app && python -m pytest -q # all\n", "pytest"),
        ("A=1 python3 -m unittest", "unittest"),
        ("echo it's; pytest", "pytest"),
        ("make dist\necho done", None),
        ("", None),
    ],
)
def test_a_runner_is_recognised_in_a_script(script: str, runner: str | None) -> None:
    assert runner_of((), script) == runner


def test_a_runner_is_recognised_in_the_argument_of_a_shell() -> None:
    assert runner_of(("bash", "-ec", "cd app; pytest")) == "pytest"
    assert runner_of(("bash", "tools/x", "pytest")) is None


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/deep/data.json", True),
        ("src/app_test.go", True),
        ("web/app.spec.ts", True),
        ("web/__snapshots__/a.snap", True),
        ("pkg/testdata/in.txt", True),
        ("src/latest.py", False),
    ],
)
def test_files_in_the_usual_places_are_tests(path: str, expected: bool) -> None:
    assert is_test_file(path) is expected


def test_an_author_may_say_where_the_tests_are() -> None:
    assert is_test_file("checks/a.py", ["checks/**"])
    assert not is_test_file("tests/a.py", ["checks/**"])


@pytest.mark.parametrize(
    "path", ["pyproject.toml", ".pytest.toml", "a/pytest.toml", "web/package.json", "Makefile"]
)
def test_settings_of_runners_steer_tests(path: str) -> None:
    assert steers_tests(path)
    assert not steers_tests(f"{path}.md")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("json.py", True),
        ("argparse/__init__.py", True),
        ("src/pytest.py", True),
        ("lib/_pytest/x.py", True),
        ("src/json.py", False),
        ("app.py", False),
        ("json.txt", False),
    ],
)
def test_a_file_may_take_the_place_of_a_module(path: str, expected: bool) -> None:
    assert shadows_module(path) is expected


@pytest.mark.parametrize(
    ("runner", "output", "executed"),
    [
        ("unittest", "Ran 3 tests in 0.1s\n\nOK (skipped=1)", 2),
        ("unittest", "Ran 0 tests in 0.0s\n\nOK", 0),
        ("unittest", "", 0),
        ("node", "# tests 3\n# pass 2\n# fail 1\n", 3),
        ("node", "ℹ tests 0\nℹ pass 0\nℹ fail 0\n", 0),
        ("go", "ok  \tapp\t0.1s\n?   \tapp/x\t[no test files]\n", 1),
        ("go", "ok  \tapp\t0.1s [no tests to run]\n", 0),
        ("go", '{"Action":"pass","Package":"app","Test":"TestA"}\n', 1),
        ("cargo", "running 0 tests\n\nrunning 4 tests\n", 4),
        ("cargo", "     Summary [   0.1s] 7 tests run: 7 passed\n", 7),
        ("jest", "Tests: 1 passed", None),
    ],
)
def test_the_output_says_how_many_tests_were_executed(runner: str, output: str, executed: int | None) -> None:
    assert executed_tests(runner, output) == executed


def test_node_names_files_without_tests() -> None:
    output = "ok 1 - /p/tests/a.test.js\nok 2 - adds\n✔ tests/b.test.mjs (12.5ms)\n"

    assert files_without_tests("node", output) == {"/p/tests/a.test.js", "tests/b.test.mjs"}
    assert files_without_tests("pytest", output) == frozenset()


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        ("tools/check", ("tools/check",)),
        ("./check.sh -v", ("check.sh",)),
        ("sh tools/check.sh", ("tools/check.sh",)),
        ("python3 -u ./scripts/a.py", ("scripts/a.py",)),
        ("python3 app.py", ()),
        ("python3 -m app", ()),
        ("/usr/bin/true", ()),
        ("../other/tool", ()),
        ("sh /opt/tools/x", ()),
        ("make check", ()),
        ("", ()),
    ],
)
def test_programs_of_the_tree_are_named_by_a_command(command: str, programs: tuple[str, ...]) -> None:
    assert judge_programs(command.split()) == programs


def test_programs_of_the_tree_are_named_by_a_script() -> None:
    assert judge_programs((), "cd x && tools/a; tools/a\nbash ci/b.sh | tee log") == ("tools/a", "ci/b.sh")


def test_a_workflow_lists_its_commands_that_run_tests(tmp_path: Path) -> None:
    text = """
    steps:
      a: {run: [python, -m, pytest, "${{ run.id }}"]}
      b: {run: make test}
      c: {run: check, junit: report.xml}
      d: {run: check, tests: {files: ["checks/**"], may_change: ["checks/new/**"]}}
      e: {run: check}
      f: {human: "Go on?"}
      g: {run: check, tests: true}
      h: {run: pytest --version, tests: false}
    """
    workflow = compile_text(tmp_path, text)

    assert [tuple(suite) for suite in list_suites(workflow)] == [
        *(("a", "pytest"), ("b", "tests"), ("c", "junit")),
        *(("d", "tests"), ("g", "tests")),
    ]
