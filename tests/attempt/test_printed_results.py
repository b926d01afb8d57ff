"""Of a long output only the lines with results are read, and they give the same results as the whole output."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from podium.attempt.command.printed import results as printed_results
from podium.attempt.command.printed.results import TooMuchOutput, result_text
from podium.process.output import CapturedOutput
from podium.workflow.test_gates.output import ended_early, listed_tests

LINES = {
    "go": ["=== RUN   TestA", "x--- PASS: TestA (0.00s)", "    --- FAIL: TestA/b (0.1s)", "ok  \tpkg\t0.1s", "FAIL\tp\t1s"],
    "cargo": ["running 2 tests", "test a::b ... ok", "test c ... FAILED", "test src/lib.rs - x (line 3) ... ok", "test result: ok."],
    "unittest": ["test_a (m.T.test_a) ... ok", "test_b (m.T)", "A docstring ... FAIL", "noise ok", "t (m.T.t) ... skipped 'why'"],
    "node": ["ok 1 - a", "    not ok 2 - b # TODO x", "✔ c (1.2ms)", "✖ d", "# tests 4", "ok 3 - /w/a.js", "﹣ e # SKIP"],
}  # fmt: skip
GO_EVENTS = [
    '{"Time":"t","Action":"run","Package":"p","Test":"A"}',
    '{"Time":"t","Action":"pass","Package":"p","Test":"A"}',
    '{"Action":"output","Package":"p","Output":"ok  \\tp\\t0.1s\\n"}',
    '{"Action":"pass","Package":"p"}',
    '{"Action":"output","Package":"p","Test":"A","Output":"text\\n"}',
]
NOISE = ["", "x" * 300, "a text (in brackets)", "ok", "\tFAIL", "not a result", "{}", "- - -"]


@pytest.mark.parametrize("runner", [*LINES, "go json"])
def test_the_lines_that_are_read_of_a_long_output_give_the_same_results(
    tmp_path: Path, runner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(printed_results, "MAX_PRINTED", 0)
    choice = random.Random(7)
    for number in range(200):
        results = GO_EVENTS if runner == "go json" else LINES[runner]
        lines = choice.choices(results + NOISE, k=choice.randint(1, 40))
        text = "\n".join([results[0], *lines]) + "\n"
        name = runner.partition(" ")[0]

        read = result_text(name, _stored(tmp_path / str(number), text))

        assert listed_tests(name, read) == listed_tests(name, text)
        assert ended_early(name, read) == ended_early(name, text)


def test_what_is_too_much_to_read_is_refused(tmp_path: Path) -> None:
    short = "x\n" * (printed_results.MAX_LINES + 1)
    many = "ok 1 - a\n" * (printed_results.MAX_RESULTS + 1)

    with pytest.raises(TooMuchOutput, match="1000000 lines"):
        result_text("node", _stored(tmp_path / "short", short))
    with pytest.raises(TooMuchOutput, match="150000 results"):
        result_text("node", _stored(tmp_path / "many", many))
    with pytest.raises(TooMuchOutput, match="more than 0 MB"):
        result_text("node", CapturedOutput(b"", 5, b"ok 1\n", None, dropped=1))


def _stored(path: Path, text: str) -> CapturedOutput:
    path.write_text(text, "utf-8")
    return CapturedOutput(b"", path.stat().st_size, None, path)
