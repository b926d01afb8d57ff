"""How many tests a command executed, as its output says, whatever runner it starts."""

from __future__ import annotations

import re
from typing import Final

from podium.workflow.test_gates.output import executed_tests

_COUNTED: Final = ("unittest", "node", "go", "cargo")
"""Runners whose output is read by `executed_tests`."""
_TOTALS: Final = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"(?:^|[\s=])(\d+) (?:passed|failed|xfailed|xpassed)\b(?=.* in [\d.]+s)",  # pytest
        r"^[ \t]*(\d+) (?:passing|failing)\b",  # mocha
        r"Tests run: (\d+), Failures: \d+, Errors: \d+, Skipped: \d+$",  # Maven
        r"^(\d+) examples?, \d+ failures?",  # rspec
        r"^(?:OK \((\d+) tests?|Tests: (\d+), Assertions:)",  # phpunit
        r"^\d+% tests passed, \d+ tests failed out of (\d+)$",  # ctest
        r"^Files=\d+, Tests=(\d+),",  # prove
        r"^(?:not )?ok \d+\b",  # TAP
        r"^[ \t]*(\d+) (?:pass|fail)$",  # bun
    )
)
_NONE: Final = re.compile(
    r"^(?:#|ℹ) tests 0$|^1\.\.0\b|^Ran 0 tests\b|\bno tests ran\b|\bcollected 0 items\b|^[ \t]*0 passing\b|^0 examples,"
    r"|\bNo tests? (?:files? )?found\b|\bNo tests were found\b|^Tests run: 0,|\bNo tests executed\b|^running 0 tests$",
    re.MULTILINE,
)
"""What runners print if there was nothing to execute."""
_SUMMARY: Final = re.compile(r"^[ \t]*Tests:?\s+(.*\b(?:passed|failed)\b.*)$", re.MULTILINE)
"""Of jest and vitest."""
_RESULT: Final = re.compile(r"(\d+) (?:passed|failed)\b")
_GO_FAILED: Final = re.compile(r"^[ \t]*--- FAIL: ", re.MULTILINE)


def executed_by_any(output: str, runner: str = "other") -> int | None:
    """None if nothing in the output looks like the summary of a test runner."""
    runners = (runner,) if runner in _COUNTED else _COUNTED
    counts = [count for each in runners if (count := executed_tests(each, output))]
    counts += [sum(map(_number, pattern.finditer(output))) for pattern in _TOTALS]
    counts.append(sum(int(number) for line in _SUMMARY.findall(output) for number in _RESULT.findall(line)))
    counts.append(len(_GO_FAILED.findall(output)))
    most = max(counts)
    if most == 0 and runner not in _COUNTED:
        return None
    return most


def _number(match: re.Match[str]) -> int:
    word = next((group for group in match.groups() if group), "1")
    return int(word)


def says_none(output: str) -> bool:
    """Whether the output of a command says that no test was executed, and nothing in it says otherwise."""
    return not executed_by_any(output) and _NONE.search(output) is not None
