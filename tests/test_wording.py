"""Names say what a value is, and texts use plain words (STYLE.md)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import wording

SRC = Path(__file__).parents[1] / "src/podium"


def test_names_say_what_a_value_is() -> None:
    assert wording.name_faults(SRC) == ()


def test_texts_use_plain_words() -> None:
    assert wording.wording_faults(SRC) == ()


@pytest.mark.parametrize(
    "text",
    [
        "found = 1",
        "def told(): ...",
        "def send(asked): ...",
        "class Office: ...",
        "for kept in (): ...",
        "class Step:\n    held: bool",
        "_AGAIN = 1",
    ],
)
def test_an_unclear_name_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / "module.py").write_text(text)
    assert len(wording.name_faults(tmp_path)) == 1


def test_an_unclear_module_is_reported(tmp_path: Path) -> None:
    (tmp_path / "letter.py").touch()
    assert wording.name_faults(tmp_path) == (f"{tmp_path / 'letter.py'}: unclear name",)


@pytest.mark.parametrize("text", ['"""Walls of a step."""', 'raise ValueError("the run stands")'])
def test_an_unclear_word_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / "module.py").write_text(text)
    assert len(wording.wording_faults(tmp_path)) == 1


def test_a_name_that_stands_for_a_value_is_plain(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text('"""`else` stands for all other outcomes."""')
    assert wording.wording_faults(tmp_path) == ()
