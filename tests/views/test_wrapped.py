"""Words for people are broken between words, so that nothing of a question or a command is lost at a narrow terminal."""

from __future__ import annotations

import pytest

from podium.views.plain import wrapped
from podium.views.text.next_steps import Hint
from podium.views.text.terminal import hint_lines, no_paint, reason_lines


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("as it is", None, ["as it is"]),
        ("one\ntwo", 80, ["one", "two"]),
        ("gate tests: passes, 3 tests", 20, ["gate tests: passes,", "  3 tests"]),
        ("    the question is long", 18, ["    the question", "      is long"]),
        ("x /a/path/longer/than/it y", 10, ["x", "  /a/path/longer/than/it", "  y"]),
        ("  podium approve 2026-x step", 12, ["  podium approve 2026-x step"]),
        ("漢字 漢字 漢字", 10, ["漢字 漢字", "  漢字"]),
        ("\x1b[31mred words\x1b[0m and others", 16, ["\x1b[31mred words\x1b[0m and", "  others"]),
    ],
)
def test_a_line_is_broken_between_words(text: str, width: int | None, lines: list[str]) -> None:
    assert wrapped(text, width) == lines


def test_the_last_of_the_lines_that_are_allowed_is_cut() -> None:
    assert wrapped("one two three four five six", 9, most=2) == ["one two", "  thre..."]


def test_a_reason_takes_no_more_than_three_lines() -> None:
    lines = list(reason_lines("word " * 100, 40, "  "))

    assert len(lines) == 3
    assert lines[-1].endswith("...")
    assert all(len(line) <= 40 for line in lines)


@pytest.mark.parametrize("width", [None, 60, 80, 140])
def test_a_command_to_copy_is_never_broken(width: int | None) -> None:
    hints = (
        Hint("podium approve 20261118-200354-3zw5 'review#1/!no_verdict'", "to approve"),
        Hint("podium reject 20261118-200354-3zw5 'review#1/!no_verdict' --feedback TEXT", "to reject it"),
    )

    lines = list(hint_lines(hints, no_paint, indent="", width=width))

    assert [line for hint in hints for line in lines if line.startswith(hint.command)] == [
        line for line in lines if line.startswith("podium")
    ]
    assert sum("to reject it" in line for line in lines) == 1
