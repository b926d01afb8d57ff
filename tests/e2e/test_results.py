"""What expressions read of a run and its steps, through the real command."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kit import Ended, Project, closing, new_project

pytestmark = pytest.mark.slow

FILE = "w.yaml"


def new(folder: Path, text: str) -> Project:
    return new_project(folder / "place", {FILE: f"podium: 1\nname: results\n{text}"})


def run(project: Project) -> Ended:
    return project.podium("run", FILE, "--sandbox", "limits", "--json")


def test_two_items_with_the_same_key_are_refused(tmp_path: Path) -> None:
    text = "steps:\n  each: {run: [echo, x], for_each: {in: [a, b, a], key: item}}\n"
    with closing(new(tmp_path, text)) as project:
        done = run(project)

        assert done.code == 1, done.err
        step = next(row for row in done.data()["steps"] if row["path"] == "each")
        assert (step["outcome"], step["reason"]) == ("error", "expression")
        assert 'items 1 and 3 have the same key "a"' in str(step)
