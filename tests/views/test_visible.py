"""Control characters and invisible characters are escaped."""

from __future__ import annotations

import json

import pytest

from podium.views.plain import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("one\n\ttwo\n", "one\n\ttwo\n"),
        ("naïve 漢字 a\u00a0b", "naïve 漢字 a\u00a0b"),
        ("\x1b[2J\x07\r\x00", "^[[2J^G^M^@"),
        ("\x1b[31mred\x1b[0m\x1b[8mhidden", "\x1b[31mred\x1b[0m^[[8mhidden"),
        ("\x9b2J\x7f\x85\u2028\u202e\U000e0041", r"\u009b2J\u007f\u0085\u2028\u202e\udb40\udc41"),
        ("\udcff", r"\udcff"),
    ],
)
def test_control_and_invisible_characters_are_escaped(text: str, shown: str) -> None:
    assert visible(text, but=("\x1b[31m", "\x1b[0m")) == shown


def test_escaped_json_keeps_its_value() -> None:
    value = {"said": "\x1b[2J\x7f\x9b\u202e\U000e0041 é"}

    assert json.loads(visible(json.dumps(value, ensure_ascii=False))) == value
