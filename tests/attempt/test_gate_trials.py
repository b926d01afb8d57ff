"""What is known about a command before a run: what it needs, what it did not find, and how many tests it executed."""

from __future__ import annotations

import pytest

from podium.attempt.command.look_up import needs_of
from podium.attempt.command.printed.totals import executed_by_any, says_none


@pytest.mark.parametrize(
    ("command", "needs"),
    [
        ("pytest -q", ["program pytest"]),
        ("python3 -m pytest -q", ["program python3", "module pytest of python3"]),
        (".venv/bin/python -I -m a.b", ["program .venv/bin/python", "module a.b of .venv/bin/python"]),
        ("python3 -m", ["program python3"]),
        ("env A=1 ruff check .", ["program env", "program ruff"]),
        ("npx --no-install tsc --noEmit", ["program npx", "program tsc of npx"]),
        ("npx -p typescript tsc", ["program npx"]),
        ("npm test", ["program npm", 'script "test" in package.json']),
        ("npm run --silent lint", ["program npm", 'script "lint" in package.json']),
        ("npm ci", ["program npm"]),
        ("make test", ["program make", 'rule "test" in the Makefile']),
        ("make -j2 test", ["program make"]),
    ],
)
def test_a_command_names_what_it_needs(command: str, needs: list[str]) -> None:
    assert [need.what for need in needs_of(command.split(), None)] == needs


@pytest.mark.parametrize(
    ("script", "needs"),
    [
        ("ruff check .\nmypy .", ["program bash", "program ruff", "program mypy"]),
        (
            "cd x && make test # and more",
            ["program bash", "program cd", "program make", 'rule "test" in the Makefile'],
        ),
        ("a || b", ["program bash"]),
        ("if a; then b; fi", ["program bash"]),
        ("cat <<EOF\nwords of a text\nEOF", ["program bash"]),
        ("A=1 tool\n$TOOL x", ["program bash"]),
        ("echo 'open", ["program bash"]),
    ],
)
def test_a_script_is_looked_at_only_as_far_as_it_is_plain(script: str, needs: list[str]) -> None:
    assert [need.what for need in needs_of((), script)] == needs


@pytest.mark.parametrize(
    ("output", "tests"),
    [
        ("2 passed in 0.01s", 2),
        ("===== 1 failed, 2 passed, 1 skipped in 0.12s =====", 3),
        ("Tests:       1 failed, 4 passed, 5 total\n", 5),
        (" Test Files  1 passed (1)\n      Tests  3 passed (3)\n", 3),
        ("  4 passing (3ms)\n  1 failing\n", 5),
        ("[INFO] Tests run: 7, Failures: 0, Errors: 0, Skipped: 0\n", 7),
        ("OK (3 tests, 4 assertions)", 3),
        ("5 examples, 0 failures", 5),
        ("ok 1 - a\nnot ok 2 - b\n", 2),
        ("--- FAIL: TestAdd (0.00s)\nFAIL\n", 1),
        ("ok  \texample.org/x\t0.002s\n", 1),
        ("?   \texample.org/x\t[no test files]\n", None),
        ("everything is fine", None),
        ("", None),
    ],
)
def test_the_output_tells_how_many_tests_ran(output: str, tests: int | None) -> None:
    assert executed_by_any(output) == tests


def test_a_runner_that_counts_its_tests_can_say_none() -> None:
    assert executed_by_any("Ran 0 tests in 0.000s\n\nOK", "unittest") == 0
    assert executed_by_any("Ran 0 tests in 0.000s\n\nOK") is None


@pytest.mark.parametrize(
    "line", ["# tests 0", "ℹ tests 0", "1..0", "Ran 0 tests in 0.0s", "  0 passing (2ms)", "No tests found"]
)
def test_an_output_that_names_no_executed_test_says_so(line: str) -> None:
    assert says_none(f"before\n{line}\nafter")
    assert not says_none(f"{line}\n3 passed in 0.1s")
    assert not says_none("all is well")
