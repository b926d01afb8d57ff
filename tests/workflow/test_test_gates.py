"""Which commands run tests, and which files decide what they prove."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from podium.workflow.test_gates.files import (
    has_inline_tests,
    is_shadow,
    is_snapshot,
    is_stub,
    is_test_file,
    may_have_inline_tests,
    steers_tests,
)
from podium.workflow.test_gates.listing import (
    list_suites,
)
from podium.workflow.test_gates.output import ended_early, executed_tests, listed_tests
from podium.workflow.test_gates.programs import files_of_setup, judge_programs, programs_behind
from tests.workflow.compiling import compile_text


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/deep/data.json", True),
        ("src/app_test.go", True),
        ("web/app.spec.ts", True),
        ("web/__snapshots__/a.snap", True),
        ("pkg/testdata/in.txt", True),
        ("src/snapshots/app__shown.snap", True),
        ("app/__snapshots__/test_shown.ambr", True),
        ("shown.approved.txt", True),
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
        ("src/json.py", True),
        ("pkg/json.py", False),
        ("pytest", True),
        ("src/pytest.pyc", True),
        ("unittest.cpython-311-x86_64-linux-gnu.so", True),
        ("platform", False),
        ("app.py", False),
        ("json.txt", False),
    ],
)
def test_a_file_may_take_the_place_of_a_module(path: str, expected: bool) -> None:
    assert is_shadow(path, {"src", "lib"}.__contains__) is expected


@pytest.mark.parametrize("path", ["json.py", "argparse/new.py", "src/pytest.py", "lib/_pytest/x.py"])
def test_a_module_that_was_there_before_is_the_projects_own(path: str) -> None:
    earlier = {"json.py", "argparse", "src/pytest.py", "lib/_pytest"}

    assert not is_shadow(path, earlier.__contains__)


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


def test_node_names_ended_early() -> None:
    output = "ok 1 - /p/tests/a.test.js\nok 2 - adds\n✔ tests/b.test.mjs (12.5ms)\n"

    assert ended_early("node", output) == {"/p/tests/a.test.js", "tests/b.test.mjs"}
    assert ended_early("pytest", output) == frozenset()


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        ("tools/check", ("tools/check",)),
        ("./check.sh -v", ("check.sh",)),
        ("sh tools/check.sh", ("tools/check.sh",)),
        ("python3 -u ./scripts/a.py", ("scripts/a.py",)),
        ("python3 app.py", ()),
        ("/usr/bin/python3 checks/all.py", ("checks/all.py",)),
        ("node verify.js", ("verify.js",)),
        ("node verify", ()),
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
        *(("a", "pytest", True), ("b", "tests", True), ("c", "junit", True)),
        *(("d", "tests", True), ("g", "tests", False)),
    ]


JUDGED = """
    agents: {w: {type: scripted}}
    steps:
"""


@pytest.mark.parametrize(
    ("steps", "judged"),
    [
        ("a: {agent: w, prompt: x, gates: [{run: pytest}, {human: Good}]}", True),
        ("a: {agent: w, prompt: x, gates: [{run: pytest}, {review: w}]}", True),
        ("a: {agent: w, prompt: x, gates: [{run: pytest}]}", False),
        ("b: {human: Start}\n      a: {agent: w, prompt: x, gates: [{run: pytest}]}", False),
        ("a: {run: pytest}\n      b: {human: Good, level: notify}", False),
        ("a: {run: pytest}\n      b: {human: Which, output: text}", False),
        ("a: {run: pytest}\n      b: {parallel: true, steps: {c: {human: Good}}}", True),
        ("p: {parallel: true, steps: {a: {run: pytest}, b: {human: Good}}}", False),
        ("p: {steps: {a: {run: pytest}}, gates: [{human: Good}]}", True),
        ("a: {for_each: [1], run: pytest}\n      b: {human: Good}", True),
        ("a: {run: pytest, needs: []}\n      b: {human: Good, needs: [a]}", True),
        (
            "a: {run: pytest, needs: []}\n      c: {run: [x], needs: [a]}\n      b: {human: Good, needs: [c]}",
            True,
        ),
        ("a: {run: pytest, needs: []}\n      b: {human: Good, needs: []}", False),
    ],
)
def test_a_workflow_tells_whether_a_judge_follows_the_tests(steps: str, judged: bool, tmp_path: Path) -> None:
    workflow = compile_text(tmp_path, f"{JUDGED}      {steps}\n")

    assert [suite.judged for suite in list_suites(workflow)] == [judged]
    assert all(("no judge" in suite.described) is not judged for suite in list_suites(workflow))


def test_a_command_of_expressions_only_runs_no_tests_as_far_as_can_be_seen(tmp_path: Path) -> None:
    workflow = compile_text(
        tmp_path, '\n    inputs: {tool: string}\n    steps: {a: {run: ["${{ inputs.tool }}"]}}'
    )

    assert list_suites(workflow) == ()


@pytest.mark.parametrize(
    ("runner", "output", "tests"),
    [
        ("go", "--- PASS: TestA (0.00s)\n    --- SKIP: TestA/b (0.00s)\nok  \tapp\t0.1s\n--- FAIL: TestC (0.00s)\nFAIL\nFAIL\tapp/c\t0.1s\n",
         {"app.TestA": "passed", "app.TestA/b": "skipped", "app/c.TestC": "failed"}),
        ("go", '{"Action":"pass","Package":"p","Test":"T"}\n{"Action":"output"}\nnoise\n[]\n', {"p.T": "passed"}),
        ("cargo", "test a ... ok\ntest a ... FAILED\ntest b ... ignored, why\ntest src/lib.rs - f (line 3) ... ok\n",
         {"a": "passed", "a (2)": "failed", "b": "skipped", "src/lib.rs - f": "passed"}),
        ("unittest", "test_a (t.T.test_a)\nwords ... ok\ntest_b (t.T) ... noise\nFAIL\nt.z (unittest.loader._FailedTest.t.z) ... ERROR\ntest_s (t.T.test_s) ... skipped 'x'\nok\n\n======\nFAIL: test_b (t.T)\n",
         {"t.T.test_a": "passed", "t.T.test_b": "failed", "t.z": "error", "t.T.test_s": "skipped"}),
        ("node", "ok 1 - adds\nnot ok 2 - fails\nok 3 - later # SKIP\n", {"adds": "passed", "fails": "failed", "later": "skipped"}),
        ("node", "✔ adds (1.5ms)\n✖ fails (2ms)\n﹣ later (0.1ms) # SKIP\n✖ failing tests:\n✖ fails (2ms)\n",
         {"adds": "passed", "fails": "failed", "later": "skipped"}),
        ("jest", "", None),
    ],
)  # fmt: skip
def test_the_output_lists_the_tests(runner: str, output: str, tests: dict[str, str] | None) -> None:
    assert listed_tests(runner, output) == tests


@pytest.mark.parametrize(
    ("path", "content", "expected"),
    [
        ("src/lib.rs", b"#[cfg(test)]\nmod tests {}", True),
        ("src/lib.rs", b"#[tokio::test]\nasync fn f() {}", True),
        ("src/lib.rs", b"/// ```\n/// f();\n", True),
        ("src/lib.rs", b"fn f() {}", False),
        ("app.py", b'"""\n>>> 1\n1\n"""', True),
        ("lib/a.ts", b"if (import.meta.vitest) {}", True),
        ("sub/Cargo.toml", b"[lib]\ntest = false", True),
    ],
)
def test_tests_inside_code_are_noticed(path: str, content: bytes, expected: bool) -> None:
    assert may_have_inline_tests(path)
    assert has_inline_tests(path, content) is expected


def test_a_folder_of_pythonpath_may_hide_a_module_too() -> None:
    assert is_shadow("code/json.py", set[str]().__contains__, ("code",))
    assert not is_shadow("code/json.py", {"code/json.py"}.__contains__, ("code",))


def test_declarations_beside_code_hide_it_from_a_type_checker() -> None:
    assert is_stub("src/app.pyi", {"src/app.py"}.__contains__)
    assert not is_stub("src/new.pyi", {"src/app.py"}.__contains__)
    assert not is_stub("src/app.py", {"src/app.py"}.__contains__)


GO_LINES = "=== RUN   TestA\n--- PASS: TestA (0.00s)\n"


def test_a_test_of_go_that_did_not_end_took_its_process_along() -> None:
    output = f"{GO_LINES}=== RUN   TestB\nok  \tapp\t0.1s\n"

    assert listed_tests("go", output) == {"app.TestA": "passed", "app.TestB": "error"}
    events = [{"Action": "run", "Package": "app", "Test": "TestB"}, {"Action": "output", "Output": "x"}]
    assert listed_tests("go", "\n".join(map(json.dumps, events)) + "\n[1]\nno json") == {"app.TestB": "error"}


def test_a_result_after_unfinished_output_counts() -> None:
    assert listed_tests("go", "=== RUN   TestA\nabc--- PASS: TestA (0.00s)\nok  \tapp\t0.1s\n") == {
        "app.TestA": "passed"
    }
    assert listed_tests("go", "--- PASS: TestA (0.00s)\nok  \tapp\t0.1s\n") == {"app.TestA": "passed"}


@pytest.mark.parametrize(
    ("runner", "output", "early"),
    [
        ("go", f"{GO_LINES}ok  \tapp\t0.1s\nok  \tother\t0.1s\n", {"other"}),
        ("go", "ok  \tapp\t0.1s\n?   \tx\t[no test files]\nok  \ty\t0.1s [no tests to run]\n", {"app"}),
        ("go", '{"Action":"output","Package":"app","Output":"ok  \\tapp\\t0.1s\\n"}\n{"Action":"pass","Package":"app"}', {"app"}),
        ("other", "ok 1 - tests/a.test.js\n", {"tests/a.test.js"}),
        ("cargo", "ok", set()),
    ],
)  # fmt: skip
def test_packages_and_files_that_passed_without_a_test_are_named(
    runner: str, output: str, early: set[str]
) -> None:
    assert ended_early(runner, output) == early


def test_a_program_of_cargo_that_gives_no_result_ended_early() -> None:
    done = "running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed\n"

    assert listed_tests("cargo", done) == {"a": "passed"}
    assert listed_tests("cargo", f"running 2 tests\ntest a ... ok\n{done}") == {
        "a": "passed",
        "test program 1": "error",
        "a (2)": "passed",
    }
    assert listed_tests("cargo", f"{done}running 2 tests\n") == {"a": "passed", "test program 2": "error"}


@pytest.mark.parametrize(
    ("words", "files", "programs"),
    [
        (("make", "check"), {"Makefile": "check:\n\t@./tools/check.sh\n"}, {"tools/check.sh"}),
        (("make",), {"Makefile": "all:\n\tsh tools/check.sh\n"}, {"tools/check.sh"}),
        (("npm", "test"), {"package.json": '{"scripts": {"test": "sh tools/check.sh"}}'}, {"tools/check.sh"}),
        (("npm", "test"), {"package.json": "[1]"}, set()),
        (("npm", "test"), {"package.json": "not JSON"}, set()),
        (("cargo", "test"), {"Makefile": "all:\n\tsh tools/check.sh\n"}, set()),
    ],
)
def test_programs_behind_a_goal_or_script_are_found(
    words: tuple[str, ...], files: dict[str, str], programs: set[str]
) -> None:
    contents = {**files, "tools/check.sh": "#!/bin/sh\ntrue\n"}
    assert programs_behind(words, "", contents, lambda path: contents[path].encode()) == programs


def test_files_that_a_makefile_includes_are_found() -> None:
    """By name and by pattern, also those that are new: make would read them as well."""
    contents = {
        "Makefile": "include build/rules build/a.mk\n-include build/*.mk\nall:\n\ttrue\n",
        "build/rules": "check:\n\tsh tools/check.sh\n",
        "build/a.mk": "A = 1\n",
        "build/other": "",
        "tools/check.sh": "true\n",
    }
    found = programs_behind(
        ("make", "check"), "", contents, lambda path: contents[path].encode(), new=("build/new.mk",)
    )
    assert found == {"build/rules", "build/a.mk", "build/new.mk", "tools/check.sh"}


def test_scripts_that_a_script_behind_a_goal_starts_are_found() -> None:
    contents = {
        "Makefile": "check:\n\t./tools/check.sh\n",
        "tools/check.sh": "#!/bin/sh\n./tools/inner.sh\n./tools/check.sh\n",
        "tools/inner.sh": "#!/bin/sh\ntrue\n",
    }
    found = programs_behind(("make", "check"), "", contents, lambda path: contents[path].encode())
    assert found == {"tools/check.sh", "tools/inner.sh"}


def test_what_a_program_of_checks_imports_from_its_own_folder_is_found() -> None:
    contents = {
        "package.json": '{"scripts": {"test": "node checks/run.js"}}',
        "checks/run.js": "require('./one.js')\nimport('./two')\nrequire('../lib/app.js')\n",
        "checks/one.js": "",
        "checks/two.js": "",
        "lib/app.js": "require('./other.js')",
        "lib/other.js": "",
    }
    found = programs_behind(("npm", "test"), "", contents, lambda path: contents[path].encode())
    assert found == {"checks/run.js", "checks/one.js", "checks/two.js"}


@pytest.mark.parametrize(
    ("command", "found"),
    [
        (("npm", "ci"), {"package.json", "tools/prepare.sh"}),
        (("python", "./app/install.py"), {"app/install.py"}),
        (
            ("sh", "-c", "cat notes.txt && make -C deep all"),
            {"notes.txt", "deep/Makefile", "deep/tools/deep.sh"},
        ),
        (("cargo", "fetch"), set()),
    ],
)
def test_files_that_the_setup_names_or_starts_behind_a_goal_are_found(
    command: tuple[str, ...], found: set[str]
) -> None:
    contents = {
        "package.json": '{"scripts": {"prepare": "sh tools/prepare.sh"}}',
        "tools/prepare.sh": "#!/bin/sh\ntrue\n",
        "deep/Makefile": "all:\n\t./tools/deep.sh\n",
        "deep/tools/deep.sh": "#!/bin/sh\ntrue\n",
        "app/install.py": "",
        "notes.txt": "",
        "app/other.py": "",
    }
    assert files_of_setup([command], contents, lambda path: contents[path].encode()) == found


def test_snapshots_are_told_from_other_files() -> None:
    assert is_snapshot("src/__snapshots__/a.test.ts.snap")
    assert not is_snapshot("src/a.ts")
