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


@pytest.mark.parametrize(
    ("step", "code", "expected"),
    [
        ("{run: [sh, -c, 'exit 0']}", 0, "passed/"),
        ("{run: [sh, -c, 'exit 3']}", 1, "failed/failed"),
        ("{run: [sh, -c, 'sleep 60'], timeout: 1s}", 124, "failed/timeout"),
    ],
)
def test_finally_is_told_why_the_run_ends(tmp_path: Path, step: str, code: int, expected: str) -> None:
    text = f'steps:\n  work: {step}\nfinally:\n  tell: {{run: [echo, "${{{{ run.outcome }}}}/${{{{ run.reason }}}}"]}}\n'
    with closing(new(tmp_path, text)) as project:
        done = run(project)

        assert done.code == code, done.err
        assert expected in project.podium("logs", "latest", "finally/tell").out


@pytest.mark.parametrize("loop", ["", ", for_each: [1, 2]"], ids=["run", "for_each"])
def test_a_skipped_step_has_no_output(tmp_path: Path, loop: str) -> None:
    text = (
        f"steps:\n  maybe: {{run: [echo, x], when: 'false'{loop}}}\n"
        "  tell: {run: [echo, \"it is ${{ default(steps.maybe.output, 'absent') }}\"]}\n"
    )
    with closing(new(tmp_path, text)) as project:
        done = run(project)

        assert done.code == 0, done.err
        assert "it is absent" in project.podium("logs", "latest", "tell").out


def test_two_items_with_the_same_key_are_refused(tmp_path: Path) -> None:
    text = "steps:\n  each: {run: [echo, x], for_each: {in: [a, b, a], key: item}}\n"
    with closing(new(tmp_path, text)) as project:
        done = run(project)

        assert done.code == 1, done.err
        step = next(row for row in done.data()["steps"] if row["path"] == "each")
        assert (step["outcome"], step["reason"]) == ("error", "expression")
        assert 'items 1 and 3 have the same key "a"' in str(step)
