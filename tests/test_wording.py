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


def test_pages_examples_and_shipped_files_use_plain_words() -> None:
    root = SRC.parents[1]
    assert wording.page_faults((root / "docs", root / "examples", SRC / "data")) == ()


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


@pytest.mark.parametrize(
    "text",
    [
        '"""Walls of a step."""',
        'raise ValueError("the run stands")',
        'raise ValueError("it is no directory")',
    ],
)
def test_an_unclear_word_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / "module.py").write_text(text)
    assert len(wording.wording_faults(tmp_path)) == 1


def test_a_name_that_stands_for_a_value_is_plain(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text('"""`else` stands for all other outcomes."""')
    assert wording.wording_faults(tmp_path) == ()


@pytest.mark.parametrize(
    "text", ["there is no file", "there\n  is no file", "it is no longer there", "it is no more than that"]
)
def test_the_absence_of_a_thing_is_plain(tmp_path: Path, text: str) -> None:
    (tmp_path / "module.py").write_text(f'"""{text}."""')
    (tmp_path / "page.md").write_text(text)
    assert wording.wording_faults(tmp_path) == wording.page_faults((tmp_path,)) == ()


def test_an_unclear_word_on_a_page_is_reported_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("one\na value that is\nno duration\n")
    assert wording.page_faults((tmp_path,)) == (f"{tmp_path / 'page.md'}:2: is no",)
