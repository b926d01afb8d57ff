"""The results that a test runner prints, in an output of any length.

Of a long output only the lines that can be results are read into memory. What is still too much is not read at all: a
result that is missing would look like a test that is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from podium.attempt.command.report_xml import MAX_CASES
from podium.process.output import CapturedOutput
from podium.workflow.test_gates.output import Status, listed_tests

MAX_PRINTED: Final = 1 << 20
"""Bytes of an output that is read as a whole."""
MAX_LINES: Final = 1_000_000
MAX_RESULTS: Final = 150_000
MAX_RESULT_BYTES: Final = 8 << 20


class TooMuchOutput(Exception):
    """The output is too long for its results to be read; the message says in what way."""


def _is_node(line: str) -> bool:
    return line.lstrip(" \t").startswith(("ok ", "not ok ", "✔ ", "✖ ", "﹣ "))


def _is_go(line: str) -> bool:
    return line.startswith(("ok", "FAIL")) or "--- " in line or "=== RUN" in line


def _is_go_event(line: str) -> bool:
    return '"Action":"' in line and ('"Action":"output"' not in line or '"Output":"ok' in line)


def _is_cargo(line: str) -> bool:
    return line.startswith(("test ", "running "))


_UNITTEST_ENDS: Final = ("ok", "FAIL", "ERROR", "expected failure", "unexpected success")


def _is_unittest(line: str) -> bool:
    return " (" in line or line.endswith(_UNITTEST_ENDS) or "... skipped " in line or line.startswith(_RULES)


_RULES: Final = ("======", "------")
_IS_RESULT: Final[Mapping[str, Callable[[str], bool]]] = {
    "node": _is_node,
    "other": _is_node,
    "go": _is_go,
    "cargo": _is_cargo,
    "unittest": _is_unittest,
}
"""True for every line that `workflow.test_gates.output` reads of a runner, and for few others."""
_ENDS: Final = {"unittest": _RULES, "node": ("✖ failing tests:",)}
"""The first line after the results; what follows repeats them."""


def printed_results(runner: str, stream: CapturedOutput) -> Mapping[str, Status] | None:
    """The result of each test; None if the runner does not list its tests. Raises TooMuchOutput."""
    listed = listed_tests(runner, result_text(runner, stream))
    if listed is not None and len(listed) > MAX_CASES:
        raise TooMuchOutput(f"it lists more than {MAX_CASES} tests")
    return listed


def result_text(runner: str, stream: CapturedOutput) -> str:
    """The output, or of a long one the lines that can be results. Raises TooMuchOutput."""
    if runner not in _IS_RESULT:
        return ""
    if stream.dropped:
        raise TooMuchOutput(f"it printed more than {stream.size >> 20} MB")
    if stream.size <= MAX_PRINTED:
        return stream.text()
    return "\n".join(_result_lines(runner, stream))


def _result_lines(runner: str, stream: CapturedOutput) -> list[str]:
    results: list[str] = []
    lines = size = 0
    is_result = _IS_RESULT[runner]
    for number, piece in enumerate(stream.pieces()):
        if number == 0 and runner == "go" and piece.lstrip().startswith('{"'):
            is_result = _is_go_event
        lines += piece.count("\n")
        if lines > MAX_LINES:
            raise TooMuchOutput(f"it printed more than {MAX_LINES} lines")
        candidates = [line for line in piece.split("\n") if is_result(line)]
        last = _last_result(candidates, _ENDS.get(runner, ()))
        results += candidates[:last]
        size += sum(map(len, candidates))
        if len(results) > MAX_RESULTS or size > MAX_RESULT_BYTES:
            raise TooMuchOutput(
                f"it printed more than {MAX_RESULTS} results, or {MAX_RESULT_BYTES >> 20} MB of them"
            )
        if last is not None:
            break
    return results


def _last_result(lines: list[str], ends: tuple[str, ...]) -> int | None:
    """The place of the first line after the results; None if there is none."""
    return next((at for at, line in enumerate(lines) if line.startswith(ends)), None) if ends else None
