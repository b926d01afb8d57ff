"""Every pattern of examples/patterns is valid, says what it shows, and passes its tests."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.e2e.kit import closing, new_project

PATTERNS = Path(__file__).parents[2] / "examples" / "patterns"
FILES = sorted(path for path in PATTERNS.glob("*.yaml") if "." not in path.stem)
"""Without the tests, and without the parts that other files call."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_pattern_says_what_it_shows_and_has_tests(path: Path) -> None:
    first = path.read_text("utf-8").splitlines()[0]
    assert first.startswith("# ") and first.endswith(".")
    assert path.with_name(f"{path.stem}.test.yaml").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_pattern_is_valid_and_passes_its_tests(path: Path, tmp_path: Path) -> None:
    project = new_project(tmp_path, {"README.md": "Patterns.\n"})
    with closing(project):
        folder = project.root / "patterns"
        folder.mkdir()
        for part in PATTERNS.glob(f"{path.stem}.*"):
            shutil.copy(part, folder / part.name)
        valid = project.podium("validate", f"patterns/{path.name}")
        assert valid.code == 0, valid.out + valid.err
        played = project.podium("test", f"patterns/{path.stem}.test.yaml")
        assert played.code == 0, played.out + played.err
