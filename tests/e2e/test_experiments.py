"""The seven experiments of the document on gates, as examples: rehearsed by `podium test` and run for real where people take part."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.e2e.kit import closing, new_project, until

pytestmark = [pytest.mark.slow, pytest.mark.req("R241")]

EXAMPLE = Path(__file__).parents[2] / "examples/from_hand_to_agents"


def test_each_experiment_does_what_its_test_says(tmp_path: Path) -> None:
    with closing(new_project(tmp_path, {"README.md": "experiments\n"})) as project:
        shutil.copytree(EXAMPLE, project.root / "example")
        done = project.podium("test", "example")
        assert done.code == 0, done.out + done.err
        for number in range(1, 8):
            assert f"ok    example/{number}_" in done.out
        assert "0 failed" in done.out


def test_work_that_needs_no_person_continues_while_one_is_asked(tmp_path: Path) -> None:
    """R192: the human checkpoint of experiment 5 does not block the rest of the pipeline."""
    files = {path.name: path.read_text("utf-8") for path in EXAMPLE.glob("*.yaml")}
    with closing(new_project(tmp_path, files)) as project:
        parked = [project.podium("run", "5_levels.yaml", "--sandbox", "limits").code]

        def is_asked() -> bool:
            """While the window for a veto is open, a run without a terminal parks."""
            if project.podium("inbox", "--json").data()[0]["path"].endswith("/signed"):
                return True
            parked.append(project.podium("resume").code)
            return False

        until(is_asked, "the question about the module")
        assert set(parked) == {6}
        rows = {row["path"]: row["outcome"] for row in project.podium("show", "--json").data()["steps"]}
        assert (rows["notes"], rows["module"]) == ("passed", None)
        [question] = project.podium("inbox", "--json").data()
        assert question["path"].endswith("/signed")
        done = project.podium("approve")
        assert done.code == 0, done.err
        assert "module: passed" in done.err
