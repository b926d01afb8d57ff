"""Every pattern is valid, says what it shows, and is played by its own test."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.app.author.load import check
from podium.app.forecast.simulate import rehearse
from tests.docs.page_files import ROOT
from tests.e2e.kit import closing, new_project
from tools.pages.patterns import FOLDER, pattern_files, sentence_of

FILES = pattern_files()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_pattern_is_valid_short_and_says_what_it_shows(path: Path) -> None:
    checked = check(path)
    assert [problem.render() for problem in (*checked.errors, *checked.warnings)] == []
    assert checked.workflow is not None
    assert sentence_of(path).endswith(".")
    assert len(path.read_text("utf-8").splitlines()) <= 45
    assert path.with_suffix(".test.yaml").is_file()
    assert rehearse(checked.workflow, None, inputs={}).run.exit is not None


def test_there_is_a_pattern_for_each_well_known_kind() -> None:
    assert len(FILES) >= 30
    assert ROOT in FOLDER.parents


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_pattern_does_what_its_test_says(path: Path, tmp_path: Path) -> None:
    files = {each.name: each.read_text("utf-8") for each in FOLDER.glob(f"{path.stem}.*")}
    with closing(new_project(tmp_path / "p", files)) as project:
        done = project.podium("test", path.with_suffix(".test.yaml").name)

        assert done.code == 0, done.out + done.err
