"""The first failed test in the real output of test runners; the outputs in `printed/` were recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.attempt.command.failure_facts import telling_line
from podium.attempt.command.printed.failures import printed_failure
from podium.attempt.command.test_reports import read_tests
from podium.attempt.landing.messages import clash_text
from podium.git.trees.merge import Clash
from podium.views.run.why import failed_tests_text, first_sentence

FOLDER = Path(__file__).parent / "printed"
ADDS = "test_calc.py::TestAdd::test_adds[1-2-3]: AssertionError: the sum is wrong; assert -1 == 3"
JEST = "expect(received).toBe(expected) // Object.is equality; Expected: 3; Received: -1"
LINES = {
    "pytest": f"4 of 6 tests failed: {ADDS}",
    "pytest_quiet": "4 of 6 tests failed",
    "pytest_long_heading": "4 of 6 tests failed: ERROR at setup of test_fix: RuntimeError: no database",
    "pytest_collection": "no test ran: test_bad.py: ModuleNotFoundError: No module named 'nothing_here'",
    "unittest": "3 of 4 tests failed: ut_calc.AddTest.test_err: KeyError: 'x'",
    "unittest_module": "no test ran: nothing: ModuleNotFoundError: No module named 'nothing'",
    "go": "3 tests failed: TestAdd/small: calc_test.go:7: Add(1, 2) = -1, want 3",
    "go_verbose": "3 of 4 tests failed: TestAdd/small: calc_test.go:7: Add(1, 2) = -1, want 3",
    "go_json": "3 of 4 tests failed: TestAdd/small: calc_test.go:7: Add(1, 2) = -1, want 3",
    "go_build": "no test ran: example.com/calc/p: p/bad_test.go:3:30: undefined: undefinedThing",
    "go_panic": "1 test failed: TestPanic: panic: assignment to entry in nil map",
    "cargo": (
        "3 of 4 tests failed: tests::adds: "
        "assertion `left == right` failed: the sum of 1 and 2; left: -1; right: 3"
    ),
    "node_tap": "3 of 4 tests failed: add > adds: Expected values to be strictly equal: -1 !== 3",
    "node_spec": (
        "3 of 4 tests failed: adds: AssertionError [ERR_ASSERTION]: "
        "Expected values to be strictly equal: -1 !== 3"
    ),
    "node_syntax": "no test ran: /project/node/b.test.mjs: SyntaxError: Unexpected identifier 'error'",
    "jest": f"3 of 4 tests failed: add > adds small numbers: {JEST}",
    "jest_module": "no test ran: jest/bad.test.js: Cannot find module './nope' from 'jest/bad.test.js'",
    "vitest": (
        "3 of 4 tests failed: vi/calc.test.js > add > adds small numbers: "
        "AssertionError: expected -1 to be 3 // Object.is equality"
    ),
    "vitest_module": (
        "no test ran: vi/bad.test.js: "
        "Error: Cannot find module './nope' imported from /project/js/vi/bad.test.js"
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_a_recorded_output_gives_counts_and_the_first_failure(name: str) -> None:
    tests = printed_failure("other", (FOLDER / f"{name}.txt").read_text("utf-8"))

    assert tests is not None
    assert failed_tests_text(tests) == LINES[name]


def test_every_recorded_output_is_tested() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(LINES)


@pytest.mark.parametrize(
    "output",
    [
        "",
        "all good\n",
        "Tests: 4 passed, 4 total\n",
        "ok  \texample.com/calc\t0.003s\n",
        "Ran 3 tests in 1s\n\nOK\n",
    ],
)
def test_an_output_without_failures_gives_nothing(output: str) -> None:
    assert printed_failure(None, output) is None


@pytest.mark.parametrize(
    "line", ["--- FAIL: T/a (0.00s)", "FAILED a - b", "  ● x", "_" * 3_900 + " x", "E   x", "not ok 1 - a"]
)
def test_a_hostile_output_is_read_in_linear_time(line: str) -> None:
    """A quadratic parser would need minutes for this."""
    printed_failure("go", f"{line}\n" * 10_000 + "FAIL\n1 failed in 1s\n# tests 1\n# fail 1\n")


@pytest.mark.parametrize(
    ("stdout", "stderr", "line"),
    [
        ("a.py:3:1: F401 unused\nFound 1 error.\n", "", "a.py:3:1: F401 unused"),
        (
            "",
            "warning: old\nerror[E0308]: mismatched\n  --> src/lib.rs:1:2\n",
            "error[E0308]: mismatched (src/lib.rs:1:2)",
        ),
        ("a.ts(3,5): error TS2322: no\n", "", "a.ts(3,5): error TS2322: no"),
        (
            "/a.js\n  1:7  error  'x' is unused  no-unused-vars\n",
            "",
            "1:7 error 'x' is unused no-unused-vars",
        ),
        ("x\n", 'Traceback (most recent call last):\n  File "a.py"\nKeyError: 1\n', "KeyError: 1"),
        ("first\nlast\n", "", "last"),
        ("", "", ""),
    ],
)
def test_the_telling_line_names_the_error(stdout: str, stderr: str, line: str) -> None:
    assert telling_line(stdout, stderr) == line


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ('<failure message="assert 1 == 2&#10;where"/>', "assert 1 == 2; where"),
        ('<failure message="Failed">=== RUN T\n    a_test.go:7: bad\n--- FAIL</failure>', "a_test.go:7: bad"),
        ('<error message="collection failure">Traceback:\nE   ImportError: x</error>', "ImportError: x"),
        ("<failure/>", ""),
    ],
)
def test_a_report_gives_the_assertion_of_the_first_failure(fault: str, text: str) -> None:
    report = f'<testsuite><testcase name="a"/><testcase name="b">{fault}</testcase></testsuite>'

    assert read_tests(report.encode()).first_red == ("b", text)


def test_a_merge_conflict_names_its_files_first() -> None:
    clashes = (
        Clash("a.py", "CONTENT", "Merge conflict in a.py", "<<<<<<<"),
        Clash("b.py", "CONTENT", "again", ""),
    )

    assert first_sentence(clash_text(clashes)) == "merge conflict in a.py, b.py"
